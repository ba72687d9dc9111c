/* Weights that stay in the model's file: the same numbers as those in memory, and no more memory
 * than planning and running need. */
#include "base/file.h"
#include "exec/engine/engine.h"
#include "import/import.h"
#include "ir/weight.h"
#include "support/model_builder.h"
#include "support/plan_fixture.h"
#include "support/random_graph.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

/* --- the same numbers --- */

static void batchnorm(struct mb *mb, const char *in, const char *out, int64_t channels)
{
    char inputs[64];
    float ones[64], spread[64];
    for (int i = 0; i < channels; i++) {
        ones[i] = 0.5f + (float)i / 8;
        spread[i] = 1 + (float)(i % 5);
    }
    snprintf(inputs, sizeof inputs, "%s,%s.s,%s.b,%s.m,%s.v", in, out, out, out, out);
    for (int k = 0; k < 4; k++) {
        char name[16];
        snprintf(name, sizeof name, "%s.%c", out, "sbmv"[k]);
        mb_weights(mb, name, MB_DIMS(channels), k == 3 ? spread : k == 0 ? ones : NULL);
    }
    mb_node(mb, "BatchNormalization", inputs, out);
}

/* Every way in which weights are rearranged: filters, with factors and without, depthwise; matrices
 * in both orders, after a feature map and after a vector; a constant operand; other types. */
static void build_all(struct mb *mb)
{
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 24, 6, 5));
    mb_weights(mb, "w1", MB_DIMS(48, 24, 3, 3), NULL);
    mb_ints(mb, mb_node(mb, "Conv", "x,w1", "a1"), "pads", MB_DIMS(1, 1, 1, 1));
    batchnorm(mb, "a1", "a2", 48);
    mb_node(mb, "Relu", "a2", "a3");
    mb_weights(mb, "w2", MB_DIMS(64, 48, 1, 1), NULL);
    mb_node(mb, "Conv", "a3,w2", "a4");
    mb_weights(mb, "w3", MB_DIMS(64, 1, 5, 5), NULL);
    Onnx__NodeProto *depthwise = mb_node(mb, "Conv", "a4,w3", "a5");
    mb_int(mb, depthwise, "group", 64);
    mb_ints(mb, depthwise, "pads", MB_DIMS(2, 2, 2, 2));
    Onnx__NodeProto *constant = mb_node(mb, "Constant", "", "k");
    mb_attr_tensor(mb, constant, "value", mb_floats(mb, "k", MB_DIMS(1, 64, 6, 5), NULL));
    mb_node(mb, "Add", "a5,k", "a6");
    mb_node(mb, "Flatten", "a6", "a7");
    mb_weights(mb, "w4", MB_DIMS(40, 1920), NULL);
    Onnx__NodeProto *gemm = mb_node(mb, "Gemm", "a7,w4", "a8");
    mb_int(mb, gemm, "transB", 1);
    mb_float(mb, gemm, "alpha", 0.37f);
    mb_weights(mb, "w5", MB_DIMS(1920, 37), NULL);
    mb_node(mb, "MatMul", "a7,w5", "a9");
    mb_weights(mb, "w6", MB_DIMS(40, 50), NULL);
    mb_node(mb, "MatMul", "a8,w6", "b1");
    constant = mb_node(mb, "Constant", "", "w7");
    mb_attr_tensor(mb, constant, "value", mb_floats(mb, "w7", MB_DIMS(70, 37), NULL));
    mb_int(mb, mb_node(mb, "Gemm", "a9,w7", "b2"), "transB", 1);
    Onnx__TensorProto *half = mb_weights(mb, "w8", MB_DIMS(70, 30), NULL);
    half->data_type = ONNX__TENSOR_PROTO__DATA_TYPE__DOUBLE; /* half as many, odd ones */
    half->dims[0] = 35;
    for (size_t i = 7; i < half->raw_data.len; i += 8)
        half->raw_data.data[i] = 0x3f;
    mb_node(mb, "Gemm", "b3d,w8", "b4");
    mb_int(mb, mb_node(mb, "Cast", "b3", "b3d"), "to", 11);
    mb_int(mb, mb_node(mb, "Reshape", "b2,s", "b3"), "allowzero", 0);
    mb_shape(mb, "s", MB_DIMS(2, 35));
    mb_output(mb, "b1");
    mb_output(mb, "b4");
}

static struct ad_graph *import(struct ad_onnx_model *model)
{
    struct ad_graph *graph = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_ir_import(model, NULL, &graph, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_graph_verify(graph, true, &err) == ADAPS_OK, "%s", err.message);
    return graph;
}

static struct ad_graph *import_bytes(const void *bytes, size_t size)
{
    struct ad_onnx_model *model = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_onnx_parse(bytes, size, "m.onnx", &model, &err) == ADAPS_OK, "%s",
                  err.message);
    struct ad_graph *graph = import(model);
    ad_onnx_free(model); /* the graph does without it */
    return graph;
}

START_TEST(the_same_numbers)
{
    struct mb mb;
    size_t size;
    struct ad_rng rng = {5};
    int stored = 0;
    build_all(&mb);
    struct ad_graph *held = import(&mb.model);
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_graph *graph = import_bytes(bytes, size);
    memset(bytes, 0, size);
    ad_free(bytes);
    ck_assert_int_eq(graph->nweights, held->nweights);
    for (int i = 0; i < graph->nweights; i++) {
        const struct ad_weight *w = &graph->weights[i], *h = &held->weights[i];
        struct ad_digest digest;
        ck_assert_ptr_null(h->recipe);
        ck_assert(ad_digest_equal(&w->digest, &h->digest));
        stored += w->recipe != NULL;
        ck_assert((w->recipe == NULL) == (w->data != NULL));
        for (int round = 0; round < 20; round++) {
            int64_t r0 = ad_rng_below(&rng, (uint32_t)w->rows);
            int64_t r1 = r0 + 1 + ad_rng_below(&rng, (uint32_t)(w->rows - r0));
            if (round == 0) {
                r0 = 0;
                r1 = w->rows;
            }
            size_t n = (size_t)((r1 - r0) * w->row_elements);
            float *rows = malloc(n * sizeof *rows); /* a sanitizer sees what is beyond */
            ck_assert_ptr_nonnull(rows);
            ck_assert_int_eq(ad_weight_read(w, r0, r1, rows, NULL), ADAPS_OK);
            ck_assert_mem_eq(rows, h->data + r0 * w->row_elements, n * sizeof *rows);
            ck_assert_int_eq(ad_weight_digest(w, r0, r1, &digest, NULL), ADAPS_OK);
            struct ad_digest want = ad_digest_of(rows, n * sizeof *rows);
            ck_assert(ad_digest_equal(&digest, &want));
            free(rows);
        }
    }
    ck_assert_int_eq(stored, 8); /* w1 to w8; the operand of Add is in memory */
    ad_graph_free(graph);
    ad_graph_free(held);
    mb_fini(&mb);
}
END_TEST

/* Each op that can be in the most blocks; takes the graph over. */
static struct ad_graph *in_blocks(struct ad_graph *graph)
{
    struct ad_graph *copy = NULL;
    struct adaps_error err = {0};
    ck_assert_msg(ad_random_graph_in_blocks(graph, 8, false, &copy, &err) == ADAPS_OK, "%s",
                  err.message);
    return copy;
}

/* Rows of blocks of input channels, from the file and from memory; and those of one block. */
START_TEST(the_same_blocks)
{
    struct mb mb;
    size_t size;
    struct ad_rng rng = {5};
    int stored = 0;
    build_all(&mb);
    struct ad_graph *plain = import(&mb.model), *held = in_blocks(import(&mb.model));
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_graph *graph = in_blocks(import_bytes(bytes, size));
    ad_free(bytes);
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        if (op->partial <= 1)
            continue;
        const struct ad_weight *w = &graph->weights[op->weight], *h = &held->weights[op->weight];
        const struct ad_weight *p = &plain->weights[op->weight];
        int64_t taps = (int64_t)op->window.kh * op->window.kw, part = w->row_elements / taps;
        float *rows = malloc((size_t)(w->rows * w->row_elements) * sizeof *rows);
        ck_assert_ptr_nonnull(rows);
        stored += w->recipe != NULL;
        ck_assert_ptr_nonnull(h->data);
        ck_assert(ad_digest_equal(&w->digest, &h->digest));
        for (int round = 0; round < 20; round++) {
            int64_t r0 = ad_rng_below(&rng, (uint32_t)w->rows);
            int64_t r1 = r0 + 1 + ad_rng_below(&rng, (uint32_t)(w->rows - r0));
            size_t n = (size_t)((r1 - r0) * w->row_elements);
            ck_assert_int_eq(ad_weight_read(w, r0, r1, rows, NULL), ADAPS_OK);
            ck_assert_mem_eq(rows, h->data + r0 * w->row_elements, n * sizeof *rows);
        }
        for (int64_t r = 0; r < h->rows; r++)
            for (int64_t k = 0; k < h->row_elements; k++) {
                int64_t o = r % p->rows, block = r / p->rows;
                int64_t at = o * p->row_elements + k / part * part * op->partial + block * part;
                ck_assert(h->data[r * h->row_elements + k] == p->data[at + k % part]);
            }
        free(rows);
    }
    ck_assert_int_ge(stored, 5);
    ad_graph_free(plain);
    ad_graph_free(graph);
    ad_graph_free(held);
    mb_fini(&mb);
}
END_TEST

START_TEST(moved_and_dropped)
{
    struct mb mb;
    size_t size;
    struct adaps_error err = {0};
    build_all(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    struct ad_graph *graph = import_bytes(bytes, size), *other = import_bytes(bytes, size);
    float *row = ad_alloc_aligned((size_t)graph->weights[0].row_elements * sizeof *row);
    ck_assert(ad_weights_attached(graph));
    ad_weight_move(&graph->weights[0], &other->weights[0]);
    ck_assert(!ad_weight_attached(&graph->weights[0]));
    ck_assert(!ad_weights_attached(graph));
    ck_assert_int_eq(ad_weight_read(&graph->weights[0], 0, 1, row, &err), ADAPS_EINTERNAL);
    ck_assert_msg(strstr(err.message, "is not attached") != NULL, "%s", err.message);
    ad_graph_free(graph);
    ck_assert_int_eq(ad_weight_read(&other->weights[0], 0, 1, row, &err), ADAPS_OK);
    ad_graph_drop_weights(other);
    ck_assert_int_eq(ad_weight_read(&other->weights[1], 0, 1, row, &err), ADAPS_EINTERNAL);
    ck_assert_int_eq(ad_graph_verify(other, true, &err), ADAPS_EINPUT);
    ck_assert_int_eq(ad_graph_verify(other, false, &err), ADAPS_OK);
    ad_graph_free(other);
    ad_free(row);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

START_TEST(every_allocation_fails)
{
    struct mb mb;
    size_t size;
    build_all(&mb);
    uint8_t *bytes = mb_pack(&mb, &size);
    long n = 1;
    for (bool done = false; !done; n++) {
        struct adaps_error err = {0};
        struct ad_onnx_model *model = NULL;
        struct ad_graph *graph = NULL;
        ad_mem_fail_after(n);
        enum adaps_status status = ad_onnx_parse(bytes, size, "m.onnx", &model, &err);
        if (status == ADAPS_OK)
            status = ad_ir_import(model, NULL, &graph, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "%ld: %s", n, err.message);
        done = status == ADAPS_OK;
        ad_onnx_free(model);
        ad_graph_free(graph);
    }
    ck_assert_int_gt(n, 100);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

/* Written to, cut, or taken away since it was opened. */
START_TEST(files_that_change)
{
    for (int how = 0; how < 4; how++) {
        struct mb mb;
        size_t size;
        struct adaps_error err = {0};
        struct ad_onnx_model *model = NULL;
        struct ad_graph *graph = NULL;
        char path[] = "test_weights_XXXXXX";
        int fd = mkstemp(path);
        ck_assert_int_ge(fd, 0);
        build_all(&mb);
        uint8_t *bytes = mb_pack(&mb, &size);
        ck_assert(ad_file_write_all(fd, bytes, size));
        ck_assert_int_eq(ad_onnx_load(path, &model, &err), ADAPS_OK);
        if (how == 0) { /* before the import */
            ck_assert_int_eq(ftruncate(fd, 1000), 0);
            ck_assert_int_eq(ad_ir_import(model, NULL, &graph, &err), ADAPS_EINPUT);
            ck_assert_ptr_null(graph);
        } else {
            graph = import(model);
            const struct ad_weight *w = &graph->weights[0];
            float *rows = ad_alloc_aligned((size_t)(w->rows * w->row_elements) * sizeof *rows);
            struct timespec old[2] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1}};
            ck_assert_ptr_nonnull(w->recipe);
            if (how == 1)
                ck_assert_int_eq(ftruncate(fd, 1000), 0);
            else if (how == 2) /* as many bytes, other times */
                ck_assert_int_eq(futimens(fd, old), 0);
            else
                unlink(path); /* the file is still open */
            ck_assert_int_eq(ad_weight_read(w, 0, w->rows, rows, &err),
                             how == 3 ? ADAPS_OK : ADAPS_EINPUT);
            ad_free(rows);
        }
        if (how < 3)
            ck_assert_msg(strncmp(err.message, path, strlen(path)) == 0 &&
                              strstr(err.message, "has changed while it was read"),
                          "%s", err.message);
        close(fd);
        unlink(path);
        ad_graph_free(graph);
        ad_onnx_free(model);
        ad_free(bytes);
        mb_fini(&mb);
    }
}
END_TEST

/* --- memory --- */

#define COLUMNS 25088 /* VGG16's largest layer, halved: 196 MiB */
#define ROWS 2048
#define WEIGHT_BYTES ((size_t)ROWS * COLUMNS * sizeof(float))
#define MORE_BYTES ((size_t)96 << 20)

static size_t put_varint(uint8_t *to, uint64_t value)
{
    size_t n = 0;
    for (; value > 0x7f; value >>= 7)
        to[n++] = (uint8_t)(value | 0x80);
    to[n++] = (uint8_t)value;
    return n;
}

/* x of 1 x COLUMNS times a matrix whose numbers are a hole in a file, but for what put_weight()
 * writes. Returns where they begin. */
static off_t write_large(int fd)
{
    struct mb mb;
    size_t sizes[3];
    uint8_t head[3][4096], raw[16], tensor[16], graph[16];
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, COLUMNS));
    mb_int(&mb, mb_node(&mb, "Gemm", "x,w", "y"), "transB", 1);
    mb_output(&mb, "y");
    Onnx__TensorProto *w = mb_floats(&mb, "w", MB_DIMS(1), NULL);
    int64_t dims[] = {ROWS, COLUMNS};
    w->has_raw_data = 0;
    w->dims = dims;
    w->n_dims = 2;
    sizes[2] = onnx__tensor_proto__pack(w, head[2]);
    sizes[1] = onnx__graph_proto__pack(mb.proto->graph, head[1]);
    mb.proto->graph = NULL;
    sizes[0] = onnx__model_proto__pack(mb.proto, head[0]);
    /* the graph's last field is the tensor, whose last field are the numbers */
    size_t nraw = 1 + put_varint(raw + 1, WEIGHT_BYTES);
    size_t ntensor = 1 + put_varint(tensor + 1, sizes[2] + nraw + WEIGHT_BYTES);
    size_t rest = ntensor + sizes[2] + nraw + WEIGHT_BYTES;
    size_t ngraph = 1 + put_varint(graph + 1, sizes[1] + rest);
    raw[0] = 9 << 3 | 2;
    tensor[0] = 5 << 3 | 2;
    graph[0] = 7 << 3 | 2;
    ck_assert(ad_file_write_all(fd, head[0], sizes[0]) && ad_file_write_all(fd, graph, ngraph) &&
              ad_file_write_all(fd, head[1], sizes[1]) && ad_file_write_all(fd, tensor, ntensor) &&
              ad_file_write_all(fd, head[2], sizes[2]) && ad_file_write_all(fd, raw, nraw));
    off_t begin = lseek(fd, 0, SEEK_CUR);
    ck_assert_int_eq(ftruncate(fd, begin + (off_t)WEIGHT_BYTES), 0);
    mb_fini(&mb);
    return begin;
}

static void put_weight(int fd, off_t begin, int row, int column, float value)
{
    off_t at = begin + ((off_t)row * COLUMNS + column) * (off_t)sizeof value;
    ck_assert_int_eq(pwrite(fd, &value, sizeof value, at), sizeof value);
}

/* From now on this process has `more` bytes of memory beside those that it has, at most. */
static void limit_memory(size_t more)
{
    long pages = 0;
    FILE *f = fopen("/proc/self/statm", "r");
    struct rlimit limit;
    ck_assert_ptr_nonnull(f);
    ck_assert_int_eq(fscanf(f, "%ld", &pages), 1);
    fclose(f);
    ck_assert_int_eq(getrlimit(RLIMIT_AS, &limit), 0);
    if (!SANITIZED)
        limit.rlim_cur = (size_t)pages * (size_t)sysconf(_SC_PAGESIZE) + more;
    ck_assert_int_eq(setrlimit(RLIMIT_AS, &limit), 0);
}

static struct adaps_plan *plan_file(const char *path, int ndevices, const char *strategy)
{
    struct ad_onnx_model *model = NULL;
    struct ad_cluster cluster;
    struct adaps_error err = {0};
    ck_assert_msg(ad_onnx_load(path, &model, &err) == ADAPS_OK, "%s", err.message);
    struct ad_graph *graph = import(model);
    ad_onnx_free(model);
    ad_fixture_cluster(&cluster, ndevices);
    return ad_fixture_make(graph, &cluster, strategy);
}

/* The limits are such that the weights fit once into memory when they are packed, and not at all
 * before. */
START_TEST(large_weights)
{
    char name[] = "test_weights_XXXXXX", path[32];
    int fd = mkstemp(name);
    ck_assert_int_ge(fd, 0);
    unlink(name); /* a failure leaves nothing behind */
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    off_t begin = write_large(fd);
    for (int row = 0; row < ROWS; row++)
        put_weight(fd, begin, row, (row * 37) % COLUMNS, (float)(1 + row));
    limit_memory(MORE_BYTES);
    struct adaps_plan *two = plan_file(path, 2, "auto");
    adaps_plan_free(two);
    struct adaps_plan *plan = plan_file(path, 1, "single");

    limit_memory(MORE_BYTES + WEIGHT_BYTES);
    struct adaps_error err = {0};
    struct ad_tensor x, y;
    ck_assert_int_eq(ad_tensor_init(&x, 2, (const int64_t[]){1, COLUMNS}, &err), ADAPS_OK);
    for (int i = 0; i < COLUMNS; i++)
        x.data[i] = (float)(i % 1000);
    ck_assert_msg(ad_fixture_infer(plan, plan->graph, 1, &x, &y, &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_uint_eq(y.count, ROWS);
    for (int row = 0; row < ROWS; row++)
        ck_assert(y.data[row] == (float)(1 + row) * x.data[(row * 37) % COLUMNS]);
    ad_tensor_fini(&x);
    ad_tensor_fini(&y);
    adaps_plan_free(plan);
    close(fd);
}
END_TEST

/* The limit itself: what planning once took does not fit. */
START_TEST(limits_limit)
{
    if (SANITIZED || is_emulated())
        return;
    limit_memory(MORE_BYTES);
    void *weights = ad_alloc_aligned(WEIGHT_BYTES);
    ck_assert_ptr_null(weights);
    ad_free(weights);
}
END_TEST

/* Weights of one byte each that are used as floats take more than a file may in general. */
START_TEST(bytes_as_floats)
{
    enum { SIDE = 3584 };
    static const float scale = 0.5f;
    struct adaps_error err = {0};
    struct ad_onnx_model *model = NULL;
    int64_t *numbers = ad_calloc((size_t)SIDE * SIDE, sizeof *numbers);
    struct mb mb;
    size_t size;
    for (int i = 0; i < SIDE; i++)
        numbers[i] = i % 100;
    mb_init(&mb, 13);
    mb_input(&mb, "x", MB_DIMS(1, SIDE));
    mb_typed(&mb, "q", MB_DIMS(SIDE, SIDE), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, numbers);
    mb_weights(&mb, "s", MB_SCALAR, &scale);
    mb_node(&mb, "DequantizeLinear", "q,s", "w");
    mb_node(&mb, "MatMul", "x,w", "y");
    mb_output(&mb, "y");
    ad_free(numbers);
    uint8_t *bytes = mb_pack(&mb, &size);
    ck_assert_msg(ad_onnx_parse(bytes, size, "bytes.onnx", &model, &err) == ADAPS_OK, "%s",
                  err.message);
    struct ad_graph *graph = import(model);
    float row[SIDE];
    ck_assert_int_eq(ad_weight_read(&graph->weights[graph->ops[0].weight], 7, 8, row, &err),
                     ADAPS_OK);
    ck_assert(row[0] == 3.5f && row[1] == 0);
    ad_graph_free(graph);
    ad_onnx_free(model);
    ad_free(bytes);
    mb_fini(&mb);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("weights");
    TCase *numbers = tcase_create("numbers"), *memory = tcase_create("memory");
    tcase_add_test(numbers, the_same_numbers);
    tcase_add_test(numbers, the_same_blocks);
    tcase_add_test(numbers, moved_and_dropped);
    tcase_add_test(numbers, every_allocation_fails);
    tcase_add_test(numbers, files_that_change);
    tcase_set_timeout(memory, 60);
    tcase_add_test(memory, limits_limit);
    tcase_add_test(memory, large_weights);
    tcase_add_test(memory, bytes_as_floats);
    suite_add_tcase(suite, numbers);
    suite_add_tcase(suite, memory);
    return run_suite(suite);
}
