/* split/: the sub-models of a mapping, each a file that is imported on its own, compute together
 * what the whole does. They are run by the reference interpreter one after another, again and again
 * with what sender.json says that they sent one another, until nothing changes. */
#include "support/model_builder.h"
#include "support/reference.h"
#include "support/run_suite.h"
#include "split/split.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* --- models --- */

static void weights(struct mb *mb, const char *name, const int64_t *dims)
{
    mb_weights(mb, name, dims, NULL);
}

static Onnx__NodeProto *conv(struct mb *mb, const char *inputs, const char *output)
{
    return mb_node(mb, "Conv", inputs, output);
}

/* Windows of all kinds, one after the other. */
static void build_windows(struct mb *mb)
{
    Onnx__NodeProto *node;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3, 29, 17));
    weights(mb, "w1", MB_DIMS(6, 3, 3, 3));
    node = conv(mb, "x,w1", "c1");
    mb_ints(mb, node, "pads", MB_DIMS(1, 0, 2, 1));
    weights(mb, "w2", MB_DIMS(6, 3, 3, 2));
    weights(mb, "b2", MB_DIMS(6));
    node = conv(mb, "c1,w2,b2", "c2"); /* grouped, dilated, strided, SAME */
    mb_int(mb, node, "group", 2);
    mb_string(mb, node, "auto_pad", "SAME_UPPER");
    node = mb_node(mb, "MaxPool", "c2", "p1");
    mb_ints(mb, node, "kernel_shape", MB_DIMS(3, 3));
    mb_ints(mb, node, "strides", MB_DIMS(2, 2));
    mb_int(mb, node, "ceil_mode", 1);
    node = mb_node(mb, "AveragePool", "p1", "p2");
    mb_ints(mb, node, "kernel_shape", MB_DIMS(3, 2));
    mb_ints(mb, node, "pads", MB_DIMS(1, 1, 1, 1));
    node = mb_node(mb, "AveragePool", "p2", "p3");
    mb_ints(mb, node, "kernel_shape", MB_DIMS(2, 2));
    mb_ints(mb, node, "pads", MB_DIMS(1, 0, 0, 1));
    mb_int(mb, node, "count_include_pad", 1);
    weights(mb, "w3", MB_DIMS(4, 6, 3, 3));
    node = conv(mb, "p3,w3", "y");
    mb_ints(mb, node, "dilations", MB_DIMS(2, 2));
    mb_ints(mb, node, "strides", MB_DIMS(2, 1));
    mb_string(mb, node, "auto_pad", "SAME_LOWER");
    mb_output(mb, "y");
}

/* Elementwise operators with operands of all shapes, normalisations, a gate, a concatenation. */
static void build_elements(struct mb *mb)
{
    Onnx__NodeProto *node;
    const float two = 2;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 4, 11, 7));
    weights(mb, "w", MB_DIMS(4, 4, 3, 3));
    node = conv(mb, "x,w", "c");
    mb_ints(mb, node, "pads", MB_DIMS(1, 1, 1, 1));
    weights(mb, "scale", MB_DIMS(4));
    weights(mb, "bias", MB_DIMS(4));
    weights(mb, "mean", MB_DIMS(4));
    mb_weights(mb, "var", MB_DIMS(4), (const float[]){1, 2, 3, 4});
    mb_node(mb, "BatchNormalization", "c,scale,bias,mean,var", "b");
    weights(mb, "slope", MB_DIMS(4, 1, 1));
    mb_node(mb, "PRelu", "b,slope", "r");
    weights(mb, "rows", MB_DIMS(11, 1));
    mb_node(mb, "Mul", "r,rows", "m");
    mb_node(mb, "Add", "m,x", "s");
    mb_weights(mb, "two", MB_SCALAR, &two);
    mb_node(mb, "Clip", "s,,two", "k");
    node = mb_node(mb, "LRN", "k", "l");
    mb_int(mb, node, "size", 3);
    mb_node(mb, "GlobalAveragePool", "l", "g");
    mb_node(mb, "Sigmoid", "g", "gate");
    mb_node(mb, "Mul", "l,gate", "gated");
    node = mb_node(mb, "Concat", "gated,s", "cat");
    mb_int(mb, node, "axis", 1);
    node = mb_node(mb, "Softmax", "cat", "soft");
    mb_int(mb, node, "axis", 1);
    mb_node(mb, "Max", "soft,cat,cat", "y");
    mb_output(mb, "y");
    mb_output(mb, "gate");
}

/* Dense layers, by channels; views; operators that are not divided; constants that nodes make. */
static void build_dense(struct mb *mb)
{
    Onnx__NodeProto *node;
    mb_init(mb, 13);
    mb_input(mb, "x", MB_DIMS(1, 3, 8, 6));
    weights(mb, "w", MB_DIMS(3, 5, 2, 2));
    node = mb_node(mb, "ConvTranspose", "x,w", "up");
    mb_ints(mb, node, "strides", MB_DIMS(2, 2));
    mb_node(mb, "Relu", "up", "r");
    weights(mb, "one", MB_DIMS(7, 5, 16, 12));
    weights(mb, "b", MB_DIMS(7));
    conv(mb, "r,one,b", "point"); /* of one pixel */
    weights(mb, "scale", MB_DIMS(7));
    weights(mb, "shift", MB_DIMS(7));
    weights(mb, "mean", MB_DIMS(7));
    mb_weights(mb, "var", MB_DIMS(7), (const float[]){1, 2, 3, 4, 5, 6, 7});
    mb_node(mb, "BatchNormalization", "point,scale,shift,mean,var", "norm");
    mb_node(mb, "Tanh", "norm", "t");
    mb_node(mb, "Shape", "t", "shape");
    mb_weights(mb, "unused", MB_DIMS(2), NULL);
    mb_node(mb, "GlobalMaxPool", "t", "g");
    mb_shape(mb, "flat", MB_DIMS(0, -1));
    mb_node(mb, "Reshape", "g,flat", "f");
    weights(mb, "m1", MB_DIMS(9, 7));
    weights(mb, "b1", MB_DIMS(9));
    node = mb_node(mb, "Gemm", "f,m1,b1", "d1");
    mb_int(mb, node, "transB", 1);
    mb_node(mb, "Relu", "d1", "d2");
    weights(mb, "m2", MB_DIMS(9, 5));
    weights(mb, "b2", MB_DIMS(1, 5));
    mb_node(mb, "Gemm", "d2,m2,b2", "d3");
    weights(mb, "m3", MB_DIMS(5, 4));
    mb_node(mb, "MatMul", "d3,m3", "d4");
    weights(mb, "half", MB_DIMS(4));
    mb_node(mb, "Exp", "half", "folded");
    mb_node(mb, "Neg", "half", "alone");
    mb_node(mb, "Mul", "d4,folded", "d5");
    mb_node(mb, "Reshape", "t,shape", "again");
    node = mb_node(mb, "Softmax", "d5", "y");
    mb_int(mb, node, "axis", 1);
    mb_output(mb, "y");
    mb_output(mb, "again");
    mb_output(mb, "folded"); /* constants as outputs: one that a node makes, */
    mb_output(mb, "half");   /* one of the file, */
    mb_output(mb, "alone");  /* and one that nobody reads */
}

/* Slices by attributes, as they were before opset 10. */
static void build_old(struct mb *mb)
{
    Onnx__NodeProto *node;
    mb_init(mb, 9);
    mb_input(mb, "x", MB_DIMS(2, 3, 13, 9));
    weights(mb, "w1", MB_DIMS(4, 3, 5, 5));
    node = conv(mb, "x,w1", "c1");
    mb_ints(mb, node, "pads", MB_DIMS(2, 2, 2, 2));
    mb_node(mb, "Relu", "c1", "r1");
    weights(mb, "w2", MB_DIMS(4, 4, 3, 3));
    node = conv(mb, "r1,w2", "c2");
    mb_ints(mb, node, "pads", MB_DIMS(1, 1, 1, 1));
    mb_node(mb, "Add", "c2,r1", "y");
    mb_output(mb, "y");
}

static void (*const builders[])(struct mb *) = {build_windows, build_elements, build_dense,
                                                build_old};
#define NBUILDERS ((int)(sizeof builders / sizeof *builders))

/* --- mappings --- */

#define KEYS 3
static const char *const keys[KEYS] = {"a_arm0", "b_cpu12", "c_x86012"};
static const double speeds[KEYS] = {1, 2, 3};

/* The layers of each key: by a number of three bits for each node, which keys have it. */
static void write_mapping(const char *path, const Onnx__GraphProto *graph, struct ad_rng *rng,
                          int how)
{
    FILE *out = fopen(path, "w");
    unsigned set[64];
    ck_assert_ptr_nonnull(out);
    ck_assert_uint_le(graph->n_node, 64);
    for (size_t i = 0; i < graph->n_node; i++)
        set[i] = how == 0   ? 7                                     /* all share all */
                 : how == 1 ? 1u << i * KEYS / graph->n_node        /* a chain */
                 : how == 2 ? 1u << i % KEYS                        /* in turns */
                            : 1 + (unsigned)(ad_rng_next(rng) % 7); /* any */
    for (int k = 0; k < KEYS; k++) {
        const char *comma = "";
        fprintf(out, "%s\"%s\": [", k ? ", " : "{", keys[k]);
        for (size_t i = 0; i < graph->n_node; i++)
            if (set[i] >> k & 1) {
                fprintf(out, "%s\"%s\"", comma, graph->node[i]->output[0]);
                comma = ", ";
            }
        fputs("]", out);
    }
    fputs("}\n", out);
    ck_assert_int_eq(fclose(out), 0);
}

/* --- running --- */

/* A tensor by its name, between sub-models. */
struct known {
    const char *name;
    struct ad_tensor tensor;
};

struct runner {
    struct ad_graph *graphs[KEYS];
    struct ad_onnx_model *files[KEYS];
    json_t *sender, *receiver;
    struct known known[KEYS][256]; /* by key: what it was sent or fed */
    size_t nknown[KEYS];
    struct known results[16];
    size_t nresults;
    const Onnx__GraphProto *whole;
};

static struct known *find(struct known *list, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return &list[i];
    return NULL;
}

static bool put(struct known *list, size_t *count, const char *name, const struct ad_tensor *from)
{
    struct known *k = find(list, *count, name);
    if (k && memcmp(k->tensor.data, from->data, from->count * sizeof *from->data) == 0)
        return false;
    if (!k) {
        k = &list[(*count)++];
        k->name = name;
        ck_assert_int_eq(ad_tensor_init(&k->tensor, from->rank, from->dims, NULL), ADAPS_OK);
    }
    ck_assert_uint_eq(k->tensor.count, from->count);
    memcpy(k->tensor.data, from->data, from->count * sizeof *from->data);
    return true;
}

static bool is_output(const Onnx__GraphProto *graph, const char *name)
{
    for (size_t i = 0; i < graph->n_output; i++)
        if (strcmp(graph->output[i]->name, name) == 0)
            return true;
    return false;
}

/* What a key made goes where sender.json says; receiver.json says the same. */
static bool deliver(struct runner *r, int from, const char *name, const struct ad_tensor *tensor)
{
    bool changed = false;
    const json_t *ranks = json_object_get(json_object_get(r->sender, keys[from]), name);
    for (size_t i = 0; i < json_array_size(ranks); i++) {
        int to = (int)json_integer_value(json_array_get(ranks, i));
        const json_t *senders = json_object_get(json_object_get(r->receiver, keys[to]), name);
        ck_assert_uint_eq(json_array_size(senders), 1);
        ck_assert_int_eq(json_integer_value(json_array_get(senders, 0)), from);
        changed |= put(r->known[to], &r->nknown[to], name, tensor);
    }
    if (is_output(r->whole, name))
        changed |= put(r->results, &r->nresults, name, tensor);
    ck_assert_msg(ranks || is_output(r->whole, name), "'%s' of %s goes nowhere", name, keys[from]);
    return changed;
}

/* Runs one sub-model; unknown inputs are zeros. Whether something changed. */
static bool run_key(struct runner *r, int k)
{
    struct ad_graph *graph = r->graphs[k];
    struct ad_tensor in[64], out[64];
    struct adaps_error err = {0};
    bool changed = false;
    if (!graph)
        return false;
    ck_assert_int_le(graph->ninputs, 64);
    ck_assert_int_le(graph->noutputs, 64);
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *v = &graph->values[graph->inputs[i]];
        const char *name = r->files[k]->proto->graph->input[i]->name;
        const struct known *known = find(r->known[k], r->nknown[k], name);
        ck_assert_int_eq(ad_tensor_init(&in[i], v->rank, v->dims, NULL), ADAPS_OK);
        if (known)
            ck_assert_uint_eq(known->tensor.count, in[i].count);
        for (size_t e = 0; e < in[i].count; e++)
            in[i].data[e] = known ? known->tensor.data[e] : 0;
    }
    ck_assert_msg(ad_reference_run(graph, in, out, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < graph->noutputs; i++) {
        changed |= deliver(r, k, r->files[k]->proto->graph->output[i]->name, &out[i]);
        ad_tensor_fini(&out[i]);
    }
    for (int i = 0; i < graph->ninputs; i++)
        ad_tensor_fini(&in[i]);
    return changed;
}

static void compare(struct runner *r, const struct ad_tensor *want)
{
    for (size_t i = 0; i < r->whole->n_output; i++) {
        const char *name = r->whole->output[i]->name;
        const struct known *got = find(r->results, r->nresults, name);
        ck_assert_msg(got, "no sub-model has the output '%s'", name);
        ck_assert_uint_eq(got->tensor.count, want[i].count);
        for (size_t e = 0; e < want[i].count; e++)
            ck_assert_msg(fabsf(got->tensor.data[e] - want[i].data[e]) <=
                              1e-5f * (1 + fabsf(want[i].data[e])),
                          "%s[%zu]: %g, not %g", name, e, (double)got->tensor.data[e],
                          (double)want[i].data[e]);
    }
}

static json_t *load_json(const char *folder, const char *name)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    json_t *json = json_load_file(path, 0, NULL);
    ck_assert_ptr_nonnull(json);
    ck_assert_int_eq(unlink(path), 0);
    return json;
}

static void load_key(struct runner *r, const char *folder, int k, bool empty)
{
    char path[256];
    struct adaps_error err = {0};
    snprintf(path, sizeof path, "%s/%s.onnx", folder, keys[k]);
    ck_assert_msg(ad_onnx_load(path, &r->files[k], &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(unlink(path), 0);
    if (empty)
        return;
    ck_assert_msg(ad_ir_import(r->files[k], NULL, &r->graphs[k], &err) == ADAPS_OK, "%s",
                  err.message);
    ck_assert_uint_eq((size_t)r->graphs[k]->ninputs, r->files[k]->proto->graph->n_input);
    ck_assert_uint_eq((size_t)r->graphs[k]->noutputs, r->files[k]->proto->graph->n_output);
}

/* The sub-models of a model that is built and mapped. */
static void check_split(const struct ad_onnx_model *model, const struct ad_split *split,
                        const char *folder, const struct ad_graph *whole)
{
    struct runner r = {.whole = model->proto->graph};
    struct ad_tensor in, want[16];
    struct adaps_error err = {0};
    struct ad_rng rng = {.state = 99};
    const struct ad_value *v = &whole->values[whole->inputs[0]];
    ck_assert_msg(ad_split_write(split, folder, &err) == ADAPS_OK, "%s", err.message);
    r.sender = load_json(folder, "sender.json");
    r.receiver = load_json(folder, "receiver.json");
    ck_assert_uint_eq(json_object_size(r.sender), KEYS);
    ck_assert_int_eq(ad_tensor_init(&in, v->rank, v->dims, NULL), ADAPS_OK);
    for (size_t e = 0; e < in.count; e++)
        in.data[e] = (float)(ad_rng_next(&rng) % 2000) / 1000 - 1;
    ck_assert_msg(ad_reference_run(whole, &in, want, &err) == ADAPS_OK, "%s", err.message);
    for (int k = 0; k < KEYS; k++) {
        load_key(&r, folder, k, split->models[k].nnodes == 0);
        put(r.known[k], &r.nknown[k], model->proto->graph->input[0]->name, &in);
    }
    size_t rounds = 0;
    for (bool changed = true; changed; rounds++) {
        changed = false;
        for (int k = 0; k < KEYS; k++)
            changed |= run_key(&r, k);
        ck_assert_uint_le(rounds, split->nmessages + 2);
    }
    compare(&r, want);
    for (int i = 0; i < whole->noutputs; i++)
        ad_tensor_fini(&want[i]);
    for (int k = 0; k < KEYS; k++) {
        for (size_t i = 0; i < r.nknown[k]; i++)
            ad_tensor_fini(&r.known[k][i].tensor);
        ad_graph_free(r.graphs[k]);
        ad_onnx_free(r.files[k]);
    }
    for (size_t i = 0; i < r.nresults; i++)
        ad_tensor_fini(&r.results[i].tensor);
    json_decref(r.sender);
    json_decref(r.receiver);
    ad_tensor_fini(&in);
}

static size_t undivided; /* of the last split */

static void split_and_check(int which, int how, uint64_t seed)
{
    char folder[] = "/tmp/adaps-split.XXXXXX", path[64];
    struct mb mb;
    struct ad_onnx_model *model;
    struct ad_layer_mapping mapping;
    struct ad_import_facts facts;
    struct ad_graph *apart, *whole;
    struct ad_split split;
    struct adaps_error err = {0};
    struct ad_rng rng = {.state = seed};
    ck_assert_ptr_nonnull(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/mapping.json", folder);
    builders[which](&mb);
    size_t size;
    uint8_t *bytes = mb_pack(&mb, &size);
    ck_assert_msg(ad_onnx_parse(bytes, size, "test.onnx", &model, &err) == ADAPS_OK, "%s",
                  err.message);
    ad_free(bytes);
    write_mapping(path, model->proto->graph, &rng, how);
    ck_assert_msg(ad_mapping_read(path, &mapping, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_mapping_resolve(&mapping, model, &err) == ADAPS_OK, "%s", err.message);
    const struct ad_import_options options = {.places = mapping.places, .facts = &facts};
    ck_assert_msg(ad_ir_import(model, &options, &apart, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_mapping_check(&mapping, model, &facts, &err) == ADAPS_OK, "%s", err.message);
    ck_assert_int_eq(ad_ir_import(model, NULL, &whole, &err), ADAPS_OK);
    ck_assert_msg(ad_split_model(model, &facts, &mapping, speeds, &split, &err) == ADAPS_OK, "%s",
                  err.message);
    undivided = split.nundivided;
    check_split(model, &split, folder, whole);
    ad_split_fini(&split);
    ad_import_facts_fini(&facts);
    ad_mapping_fini(&mapping);
    ad_graph_free(apart);
    ad_graph_free(whole);
    ad_onnx_free(model);
    mb_fini(&mb);
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(rmdir(folder), 0);
}

/* How many nodes are whole though all keys have them. */
static const size_t whole_nodes[NBUILDERS] = {0, 0, 4, 0};

START_TEST(shared)
{
    split_and_check(_i, 0, 1);
    ck_assert_uint_eq(undivided, whole_nodes[_i]);
}
END_TEST

START_TEST(chain)
{
    split_and_check(_i, 1, 1);
}
END_TEST

START_TEST(turns)
{
    split_and_check(_i, 2, 1);
}
END_TEST

START_TEST(any)
{
    for (uint64_t seed = 1; seed <= 12; seed++)
        split_and_check(_i, 3, seed);
}
END_TEST

/* Every allocation fails in turn: an error each time, nothing lost. */
static enum adaps_status attempt(const struct ad_onnx_model *model, const char *path,
                                 struct adaps_error *err)
{
    struct ad_layer_mapping mapping;
    struct ad_import_facts facts;
    struct ad_graph *graph;
    struct ad_split split;
    enum adaps_status status = ad_mapping_read(path, &mapping, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_mapping_resolve(&mapping, model, err);
    if (status == ADAPS_OK) {
        const struct ad_import_options options = {.places = mapping.places, .facts = &facts};
        status = ad_ir_import((struct ad_onnx_model *)(uintptr_t)model, &options, &graph, err);
    }
    if (status == ADAPS_OK) {
        status = ad_split_model(model, &facts, &mapping, speeds, &split, err);
        if (status == ADAPS_OK)
            ad_split_fini(&split);
        ad_import_facts_fini(&facts);
        ad_graph_free(graph);
    }
    ad_mapping_fini(&mapping);
    return status;
}

START_TEST(no_memory)
{
    char path[] = "/tmp/adaps-split.XXXXXX";
    struct mb mb;
    struct adaps_error err = {0};
    struct ad_rng rng = {.state = 5};
    int file = mkstemp(path);
    ck_assert_int_ge(file, 0);
    build_elements(&mb);
    for (size_t i = 0; i < mb.proto->graph->n_node; i++)
        mb.proto->graph->node[i]->name = mb.proto->graph->node[i]->output[0];
    write_mapping(path, mb.proto->graph, &rng, 3);
    enum adaps_status status = ADAPS_EINTERNAL;
    long n = 0;
    for (; status != ADAPS_OK; n++) {
        ad_mem_fail_after(n + 1);
        status = attempt(&mb.model, path, &err);
        ad_mem_fail_after(0);
        ck_assert_msg(status == ADAPS_OK || status == ADAPS_EINTERNAL, "allocation %ld: %s", n,
                      err.message);
        ck_assert_int_lt(n, 100000);
    }
    ck_assert_int_gt(n, 50);
    mb_fini(&mb);
    close(file);
    ck_assert_int_eq(unlink(path), 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("split");
    TCase *tc = tcase_create("all");
    tcase_add_loop_test(tc, shared, 0, NBUILDERS);
    tcase_add_loop_test(tc, chain, 0, NBUILDERS);
    tcase_add_loop_test(tc, turns, 0, NBUILDERS);
    tcase_add_loop_test(tc, any, 0, NBUILDERS);
    tcase_add_test(tc, no_memory);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
