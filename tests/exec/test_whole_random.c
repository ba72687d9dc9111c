/* Operators that run whole on random inputs: against their definition, within their room, without
 * memory, and against what was inferred of them when their inputs were open. */
#include "exec/kernels/softmax.h"
#include "exec/kernels/whole.h"
#include "ir/graph.h"
#include "support/naive_whole.h"
#include "support/random_whole.h"
#include "support/run_suite.h"
#include "support/sanitized.h"

#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t bytes_of(const struct ad_array *array)
{
    return (size_t)ad_array_elements(array) * ad_type_bytes(array->type);
}

/* Just as much memory as there are elements, so that sanitizers see what is beyond. */
static void *room_for(const struct ad_array *array)
{
    void *room = malloc(bytes_of(array));
    ck_assert(room || bytes_of(array) == 0);
    if (room)
        memset(room, 0x5a, bytes_of(array));
    return room;
}

static void fill(struct ad_array *array, struct ad_rng *rng)
{
    static const float rare[] = {NAN, -NAN, INFINITY, -INFINITY, -0.0f, 3e9f, -1e20f, 0.5f};
    static const int64_t far[] = {INT64_MAX, INT64_MIN, INT32_MAX, INT32_MIN, 127, -128, 255};
    array->data = room_for(array);
    for (int64_t i = 0; i < ad_array_elements(array); i++) {
        bool is_rare = ad_rng_below(rng, 16) == 0;
        int64_t number = is_rare ? far[ad_rng_below(rng, 7)] : (int64_t)ad_rng_below(rng, 9) - 3;
        switch (array->type) {
        case ADAPS_FLOAT32:
            ((float *)array->data)[i] =
                is_rare ? rare[ad_rng_below(rng, 8)] : (float)((int)ad_rng_below(rng, 33) - 16) / 4;
            break;
        case ADAPS_INT32:
            ((int32_t *)array->data)[i] = (int32_t)number;
            break;
        case ADAPS_INT64:
            ((int64_t *)array->data)[i] = number;
            break;
        case ADAPS_INT8:
        case ADAPS_UINT8:
            ((uint8_t *)array->data)[i] = (uint8_t)number;
            break;
        case ADAPS_BOOL:
            ((uint8_t *)array->data)[i] = (uint8_t)ad_rng_below(rng, 2);
            break;
        }
    }
}

static void put_index(struct ad_array *array, int64_t i, int64_t n, struct ad_rng *rng)
{
    int64_t index = n > 0 ? (int64_t)ad_rng_below(rng, (uint32_t)(2 * n)) - n : 0;
    if (array->type == ADAPS_INT32)
        ((int32_t *)array->data)[i] = (int32_t)index;
    else
        ((int64_t *)array->data)[i] = index;
}

/* Indices that are there; lengths of sequences. */
static void fill_indices(struct ad_random_whole *w, struct ad_rng *rng)
{
    struct ad_array *indices = &w->in[1];
    int64_t n, batch = w->op.kind == AD_WHOLE_GATHER_ND ? w->ints[0] : 0;
    for (int64_t i = 0; i < ad_array_elements(indices); i++) {
        switch (w->op.kind) {
        case AD_WHOLE_GATHER:
        case AD_WHOLE_GATHER_ELEMENTS:
        case AD_WHOLE_SCATTER_ELEMENTS:
            put_index(indices, i, w->in[0].dims[w->ints[0]], rng);
            break;
        case AD_WHOLE_GATHER_ND:
        case AD_WHOLE_SCATTER_ND:
            n = indices->dims[indices->rank - 1];
            put_index(indices, i, w->in[0].dims[batch + i % n], rng);
            break;
        case AD_WHOLE_REVERSE_SEQUENCE:
            n = w->in[0].dims[w->ints[1]];
            ((int64_t *)indices->data)[i] = ad_rng_below(rng, (uint32_t)n + 1);
            break;
        default:
            return;
        }
    }
}

/* With data, of which indices into empty dimensions may be outside. */
static bool make(struct ad_random_whole *w, enum ad_whole_kind kind, struct ad_array *out,
                 struct ad_rng *rng)
{
    ad_random_whole(w, kind, rng);
    *out = (struct ad_array){0};
    if (ad_whole_infer(&w->op, w->in, w->n, out, NULL) != ADAPS_OK)
        return false;
    for (int i = 0; i < w->n; i++)
        fill(&w->in[i], rng);
    if (w->n > 1)
        fill_indices(w, rng);
    out->data = room_for(out);
    return true;
}

static void free_inputs(struct ad_random_whole *w)
{
    for (int i = 0; i < w->n; i++)
        free(w->in[i].data);
}

static void print_case(const struct ad_random_whole *w)
{
    char dims[200];
    printf("%s (kind %d), attributes", ad_whole_name(w->op.kind), (int)w->op.kind);
    for (int i = 0; i < w->op.nints; i++)
        printf(" %lld", (long long)w->ints[i]);
    for (int i = 0; i < w->n; i++)
        printf("; %s %s", ad_type_name(w->in[i].type),
               ad_dims_format(w->in[i].rank, w->in[i].dims, dims, sizeof dims));
    printf("\n");
}

static void print_elements(const char *what, const struct ad_array *array)
{
    char dims[200];
    printf("%s: %s:", what, ad_dims_format(array->rank, array->dims, dims, sizeof dims));
    for (size_t i = 0; i < bytes_of(array) && i < 200; i++)
        printf("%s%02x", i % ad_type_bytes(array->type) ? "" : " ",
               ((unsigned char *)array->data)[i]);
    printf("\n");
}

/* Whether there is an index into a dimension that is empty. */
static bool has_bad_index(const struct ad_random_whole *w)
{
    if (w->op.kind < AD_WHOLE_GATHER || w->op.kind > AD_WHOLE_SCATTER_ELEMENTS)
        return false;
    return ad_array_elements(&w->in[0]) == 0 && ad_array_elements(&w->in[1]) > 0;
}

START_TEST(as_defined)
{
    struct ad_rng rng = {(uint64_t)_i + 100};
    int rounds = sampled(500), done = 0;
    for (int round = 0; round < rounds; round++) {
        struct ad_random_whole w;
        struct ad_array got, want;
        struct adaps_error err = {0};
        if (!make(&w, _i, &got, &rng))
            continue;
        want = got;
        want.data = room_for(&want);
        bool known = !has_bad_index(&w) && ad_naive_whole(&w.op, w.in, w.n, &want);
        enum adaps_status status =
            ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&got), &got, &err);
        done += status == ADAPS_OK;
        bool same = has_bad_index(&w) || status == ADAPS_OK;
        if (known)
            same = status == ADAPS_OK && !got.open && got.rank == want.rank &&
                   memcmp(got.dims, want.dims, sizeof got.dims) == 0 &&
                   memcmp(got.data, want.data, bytes_of(&want)) == 0;
        if (!same) {
            print_case(&w);
            for (int i = 0; i < w.n; i++)
                print_elements("input", &w.in[i]);
            print_elements("got", &got);
            print_elements("want", &want);
            ck_abort_msg("round %d: %s", round, err.message);
        }
        free(got.data);
        free(want.data);
        free_inputs(&w);
    }
    ck_assert_int_gt(done, rounds / 3);
}
END_TEST

/* With one element too few there is an error, and nothing is written beyond the room. */
START_TEST(too_little_room)
{
    struct ad_rng rng = {(uint64_t)_i + 7};
    for (int round = 0; round < sampled(100); round++) {
        struct ad_random_whole w;
        struct ad_array out, small;
        struct adaps_error err = {0};
        if (!make(&w, _i, &out, &rng))
            continue;
        if (ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&out), &out, &err) == ADAPS_OK &&
            ad_array_elements(&out) > 0) {
            struct ad_array line = {.type = out.type, .rank = 1};
            line.dims[0] = ad_array_elements(&out) - 1;
            small = out;
            small.data = room_for(&line);
            ck_assert_int_eq(ad_whole_run(&w.op, w.in, w.n, line.dims[0], &small, &err),
                             ADAPS_EINTERNAL);
            ck_assert_ptr_nonnull(strstr(err.message, "room for"));
            free(small.data);
        }
        out.type = out.type == ADAPS_INT8 ? ADAPS_INT64 : ADAPS_INT8;
        ck_assert_int_ne(ad_whole_run(&w.op, w.in, w.n, 1000, &out, &err), ADAPS_OK);
        free(out.data);
        free_inputs(&w);
    }
}
END_TEST

/* Each allocation fails in turn: an error, and all that was taken is given back. */
START_TEST(no_memory)
{
    struct ad_rng rng = {(uint64_t)_i + 55};
    for (int round = 0; round < sampled(40); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, _i, &out, &rng))
            continue;
        enum adaps_status status = ADAPS_EINTERNAL;
        for (long n = 1; status == ADAPS_EINTERNAL && !has_bad_index(&w); n++) {
            struct ad_array result = out;
            struct adaps_error err = {0};
            size_t taken = 1;
            ad_mem_limit(SIZE_MAX / 4);
            ad_mem_fail_after(n);
            status = ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&out), &result, &err);
            ad_mem_fail_after(0);
            ad_mem_limit_end(&taken);
            ck_assert_uint_eq(taken, 0);
            ck_assert(status == ADAPS_OK || status == ADAPS_EINTERNAL);
            ck_assert(status == ADAPS_OK || strstr(err.message, "out of memory"));
            ck_assert(n > 1 || status == ADAPS_EINTERNAL);
        }
        free(out.data);
        free_inputs(&w);
    }
}
END_TEST

/* Random bytes as attributes: whatever is accepted is computed within its room. */
START_TEST(strange_attributes)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, -1, 0,
                                  1,         2,         3,         8,         31};
    struct ad_rng rng = {(uint64_t)_i + 900};
    for (int round = 0; round < sampled(500); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, _i, &out, &rng))
            continue;
        free(out.data);
        int changed = w.op.nints > 0 ? (int)ad_rng_below(&rng, (uint32_t)w.op.nints) : 0;
        w.ints[changed] = odd[ad_rng_below(&rng, sizeof odd / sizeof *odd)];
        out.data = NULL;
        if (ad_whole_infer(&w.op, w.in, w.n, &out, NULL) == ADAPS_OK &&
            ad_array_elements(&out) < 1 << 20) {
            out.data = room_for(&out);
            enum adaps_status status =
                ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&out), &out, NULL);
            ck_assert(status == ADAPS_OK || status == ADAPS_EINPUT);
            free(out.data);
        }
        free_inputs(&w);
    }
}
END_TEST

/* The same bits as the engine's softmax, along any axis. */
START_TEST(softmax_along_axes)
{
    struct ad_rng rng = {1};
    for (int round = 0; round < sampled(300); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, AD_WHOLE_SOFTMAX, &out, &rng))
            continue;
        ck_assert_int_eq(ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&out), &out, NULL),
                         ADAPS_OK);
        int64_t n = out.dims[w.ints[0]], inner = 1;
        for (int d = (int)w.ints[0] + 1; d < out.rank; d++)
            inner *= out.dims[d];
        for (int64_t i = 0; i < ad_array_elements(&out); i++) {
            float row[8], want[8];
            int64_t first = i / (n * inner) * n * inner + i % inner;
            for (int64_t k = 0; k < n; k++)
                row[k] = ((float *)w.in[0].data)[first + k * inner];
            struct ad_softmax s = {.in = {row, 1, 1, 1, n, n, n, n},
                                   .out = {want, 1, 1, 1, n, n, n, n}};
            ad_softmax_run(&s, NULL);
            ck_assert_mem_eq(&want[i / inner % n], (float *)out.data + i, sizeof *want);
        }
        free(out.data);
        free_inputs(&w);
    }
}
END_TEST

/* Functions and powers of floats have the bits of the engine's elementwise kernels. */
START_TEST(functions_as_in_the_engine)
{
    struct ad_rng rng = {2};
    for (int round = 0; round < sampled(600); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, AD_WHOLE_FUNCTION, &out, &rng))
            continue;
        float want;
        ck_assert_int_eq(ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&out), &out, NULL),
                         ADAPS_OK);
        for (int64_t i = 0; i < ad_array_elements(&out); i++) {
            struct ad_elementwise e = {.kind = ad_elementwise_kind_of(w.ints[0]),
                                       .rank = 1,
                                       .count = {1},
                                       .stride = {{1}, {1}},
                                       .out = &want,
                                       .a = (float *)w.in[0].data + i,
                                       .clamp_min = -INFINITY,
                                       .clamp_max = 2,
                                       .function = w.ints[0],
                                       .alpha = 0.5f,
                                       .beta = 0.25f};
            ad_elementwise_run(&e, NULL);
            ck_assert_msg(memcmp(&want, (float *)out.data + i, sizeof want) == 0,
                          "function %d of %a: %a, not %a", (int)w.ints[0],
                          (double)((float *)w.in[0].data)[i], (double)((float *)out.data)[i],
                          (double)want);
        }
        free(out.data);
        free_inputs(&w);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("whole, random");
    TCase *tc = tcase_create("whole, random");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, as_defined, 0, AD_WHOLE_COUNT);
    tcase_add_loop_test(tc, too_little_room, 0, AD_WHOLE_COUNT);
    tcase_add_loop_test(tc, no_memory, 0, AD_WHOLE_COUNT);
    tcase_add_loop_test(tc, strange_attributes, 0, AD_WHOLE_COUNT);
    tcase_add_test(tc, softmax_along_axes);
    tcase_add_test(tc, functions_as_in_the_engine);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
