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

/* Of a range of at most 16 numbers. */
static void fill_range(struct ad_random_whole *w, struct ad_rng *rng)
{
    for (int i = 0; i < 3; i++) {
        int64_t number = (int64_t)ad_rng_below(rng, 16) - 5;
        if (i == 2)
            number = ad_rng_below(rng, 2) ? -1 - number * number : 1 + number * number;
        if (w->in[i].type == ADAPS_INT32)
            *(int32_t *)w->in[i].data = (int32_t)number;
        else
            *(int64_t *)w->in[i].data = number;
    }
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
    if (kind == AD_WHOLE_RANGE)
        fill_range(w, rng);
    else if (w->n > 1)
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

static void check_case(struct ad_random_whole *w, struct ad_array *out, int *done)
{
    struct ad_array got = *out, want = *out;
    struct adaps_error err = {0};
    want.data = room_for(&want);
    bool known = !has_bad_index(w) && ad_naive_whole(&w->op, w->in, w->n, &want);
    enum adaps_status status =
        ad_whole_run(&w->op, w->in, w->n, ad_array_elements(&got), &got, &err);
    bool same = has_bad_index(w) || status == ADAPS_OK;
    *done += status == ADAPS_OK;
    if (known)
        same = status == ADAPS_OK && !got.open && got.rank == want.rank &&
               memcmp(got.dims, want.dims, sizeof got.dims) == 0 &&
               memcmp(got.data, want.data, bytes_of(&want)) == 0;
    if (!same) {
        print_case(w);
        for (int i = 0; i < w->n; i++)
            print_elements("input", &w->in[i]);
        print_elements("got", &got);
        print_elements("want", &want);
        fflush(stdout);
        ck_abort_msg("%s: %s", ad_whole_name(w->op.kind), err.message);
    }
    free(want.data);
}

START_TEST(as_defined)
{
    struct ad_rng rng = {(uint64_t)_i + 100};
    int rounds = sampled(500), done = 0;
    for (int round = 0; round < rounds; round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, _i, &out, &rng))
            continue;
        check_case(&w, &out, &done);
        free(out.data);
        free_inputs(&w);
    }
    ck_assert_int_gt(done, rounds / 3);
}
END_TEST

static const enum ad_whole_kind with_lists[] = {AD_WHOLE_RESHAPE, AD_WHOLE_TILE,
                                                AD_WHOLE_EXPAND,  AD_WHOLE_PAD,
                                                AD_WHOLE_SLICE,   AD_WHOLE_TOPK_INDICES};

/* The same attributes as operands; the most that they may be takes their places. */
static void make_lists(struct ad_random_whole *w, const struct ad_array *out, struct ad_rng *rng)
{
    int at, count, parts = w->op.nints / 4;
    if (w->op.kind == AD_WHOLE_PAD && w->n == 1) {
        w->in[1] = (struct ad_array){.type = w->in[0].type};
        fill(&w->in[w->n++], rng);
        memset(w->in[1].data, 0, bytes_of(&w->in[1]));
    }
    while (w->n < AD_RANDOM_WHOLE_INPUTS && ad_whole_list(&w->op, w->n, &at, &count)) {
        struct ad_array *list = &w->in[w->n];
        *list = (struct ad_array){.type = ADAPS_INT64, .rank = 1, .dims = {count}};
        list->data = room_for(list);
        memcpy(list->data, w->ints + at, (size_t)count * sizeof *w->ints);
        for (int k = 0; k < count; k++) {
            bool back = w->op.kind == AD_WHOLE_SLICE && w->ints[3 * parts + k] < 0;
            if (w->op.kind != AD_WHOLE_SLICE)
                w->ints[at + k] =
                    (w->op.kind == AD_WHOLE_RESHAPE ? out->dims[k] : w->ints[at + k]) +
                    (int64_t)ad_rng_below(rng, 3);
            else if (w->n == 1)
                w->ints[at + k] = back ? INT64_MAX : 0;
            else
                w->ints[at + k] = back ? INT64_MIN : INT64_MAX;
        }
        w->n++;
    }
}

/* Of a result that may have elements: with 1 less along a dim that has some, there is an error. */
static void check_most(struct ad_random_whole *w, const struct ad_array *truth)
{
    struct ad_array small = {.type = truth->type, .rank = truth->rank};
    struct adaps_error err = {0};
    bool sums = w->op.kind == AD_WHOLE_RESHAPE || w->op.kind == AD_WHOLE_TOPK_INDICES;
    int64_t *most = &w->ints[w->op.kind == AD_WHOLE_TOPK_INDICES];
    int d = w->op.kind == AD_WHOLE_TOPK_INDICES ? (int)w->ints[0] : 0;
    if (!sums || w->op.nints == 0 || truth->dims[d] == 0)
        return;
    *most = truth->dims[d] - 1;
    ck_assert_int_eq(ad_whole_infer(&w->op, w->in, w->n, &small, &err), ADAPS_OK);
    small.data = room_for(&small);
    ck_assert_int_eq(ad_whole_run(&w->op, w->in, w->n, ad_array_elements(&small), &small, &err),
                     ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, "of at most") != NULL, "%s", err.message);
    free(small.data);
}

/* What the run computes has the same result as an attribute has, within what is the most. */
START_TEST(lists_that_are_computed)
{
    struct ad_rng rng = {(uint64_t)_i + 4000};
    int rounds = sampled(500), done = 0;
    for (int round = 0; round < rounds; round++) {
        struct ad_random_whole w;
        struct ad_array want, got = {0}, naive;
        struct adaps_error err = {0};
        if (!make(&w, with_lists[_i], &want, &rng))
            continue;
        ck_assert_int_eq(ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&want), &want, &err),
                         ADAPS_OK);
        make_lists(&w, &want, &rng);
        enum adaps_status status = ad_whole_infer(&w.op, w.in, w.n, &got, &err);
        if (status != ADAPS_OK)
            print_case(&w);
        ck_assert_msg(status == ADAPS_OK, "%s", err.message);
        ck_assert(got.open == (got.rank > 0));
        got.data = room_for(&got);
        naive = got;
        naive.data = room_for(&got);
        status = ad_whole_run(&w.op, w.in, w.n, ad_array_elements(&got), &got, &err);
        ck_assert(ad_naive_whole(&w.op, w.in, w.n, &naive));
        bool same = status == ADAPS_OK && !got.open && got.rank == want.rank &&
                    memcmp(got.dims, want.dims, sizeof got.dims) == 0 &&
                    memcmp(naive.dims, want.dims, sizeof naive.dims) == 0 &&
                    (bytes_of(&want) == 0 || (memcmp(got.data, want.data, bytes_of(&want)) == 0 &&
                                              memcmp(naive.data, want.data, bytes_of(&want)) == 0));
        if (!same) {
            print_case(&w);
            print_elements("got", &got);
            print_elements("naive", &naive);
            print_elements("want", &want);
            fflush(stdout);
            ck_abort_msg("%s: %s", ad_whole_name(w.op.kind), err.message);
        }
        check_most(&w, &want);
        done++;
        free(want.data);
        free(got.data);
        free(naive.data);
        free_inputs(&w);
    }
    ck_assert_int_gt(done, rounds / 3);
}
END_TEST

/* A range of more numbers than its most, or in steps of 0, is refused. */
START_TEST(ranges_too_long)
{
    int64_t numbers[3] = {INT64_MIN, INT64_MAX, 1}, most = 7, out_data[7];
    struct ad_whole op = {.kind = AD_WHOLE_RANGE, .ints = &most, .nints = 1};
    struct ad_array in[3], out = {0};
    struct adaps_error err;
    for (int i = 0; i < 3; i++)
        in[i] = (struct ad_array){.type = ADAPS_INT64, .data = &numbers[i]};
    ck_assert_int_eq(ad_whole_infer(&op, in, 3, &out, &err), ADAPS_OK);
    out.data = out_data;
    ck_assert_int_eq(ad_whole_run(&op, in, 3, 7, &out, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, "a range of 9223372036854775807 numbers, of at most 7");
    numbers[2] = 0;
    ck_assert_int_eq(ad_whole_run(&op, in, 3, 7, &out, &err), ADAPS_EINPUT);
    ck_assert_str_eq(err.message, "a range in steps of 0");
    numbers[2] = INT64_MAX;
    ck_assert_int_eq(ad_whole_run(&op, in, 3, 7, &out, &err), ADAPS_OK);
    ck_assert_int_eq(out.dims[0], 3);
    ck_assert_int_eq(out_data[0], INT64_MIN);
    ck_assert_int_eq(out_data[2], INT64_MAX - 1);
}
END_TEST

/* Beyond the tiles and vectors that kernels work in. */
static const struct larger {
    enum ad_whole_kind kind;
    enum adaps_type type, to;
    int nints;
    int64_t ints[9];
    int rank[2]; /* of two inputs, or of one where the second is -1 */
    int64_t dims[2][4];
} larger[] = {
    {AD_WHOLE_TRANSPOSE, ADAPS_UINT8, 0, 3, {0, 2, 1}, {3, -1}, {{3, 70, 45}}},
    {AD_WHOLE_TRANSPOSE, ADAPS_FLOAT32, 0, 3, {2, 1, 0}, {3, -1}, {{33, 7, 65}}},
    {AD_WHOLE_TRANSPOSE, ADAPS_INT64, 0, 4, {3, 1, 0, 2}, {4, -1}, {{5, 4, 40, 34}}},
    {AD_WHOLE_TRANSPOSE, ADAPS_INT32, 0, 4, {1, 0, 2, 3}, {4, -1}, {{9, 8, 7, 6}}},
    {AD_WHOLE_SLICE, ADAPS_FLOAT32, 0, 8, {0, 1, -1, 3, INT64_MIN, 90, -2, 3}, {2, -1}, {{40, 99}}},
    {AD_WHOLE_TILE, ADAPS_INT8, 0, 3, {2, 3, 5}, {3, -1}, {{4, 33, 9}}},
    {AD_WHOLE_ADD, ADAPS_FLOAT32, 0, 0, {0}, {3, 2}, {{7, 1, 67}, {35, 1}}},
    {AD_WHOLE_LESS, ADAPS_INT32, 0, 0, {0}, {2, 1}, {{40, 67}, {67}}},
    {AD_WHOLE_DIV, ADAPS_INT8, 0, 0, {0}, {1, 1}, {{300}, {300}}},
    {AD_WHOLE_CAST, ADAPS_FLOAT32, ADAPS_UINT8, 0, {0}, {1, -1}, {{333}}},
    {AD_WHOLE_REDUCE, ADAPS_FLOAT32, 0, 3, {AD_REDUCE_SUM, 0, 0}, {3, -1}, {{20, 13, 50}}},
    {AD_WHOLE_REDUCE, ADAPS_FLOAT32, 0, 3, {AD_REDUCE_MEAN, 1, 1}, {3, -1}, {{9, 33, 50}}},
    {AD_WHOLE_REDUCE, ADAPS_INT8, 0, 4, {AD_REDUCE_MAX, 0, 0, 2}, {3, -1}, {{9, 13, 70}}},
    {AD_WHOLE_REDUCE, ADAPS_UINT8, 0, 3, {AD_REDUCE_MEAN, 0, 2}, {3, -1}, {{9, 3, 70}}},
    {AD_WHOLE_ARG_MAX, ADAPS_FLOAT32, 0, 3, {1, 0, 0}, {3, -1}, {{3, 80, 67}}},
    {AD_WHOLE_ARG_MIN, ADAPS_INT8, 0, 3, {2, 0, 1}, {3, -1}, {{3, 4, 300}}},
    {AD_WHOLE_TOPK_INDICES, ADAPS_FLOAT32, 0, 3, {1, 100, 1}, {2, -1}, {{2, 700}}},
    {AD_WHOLE_TOPK_INDICES, ADAPS_INT8, 0, 3, {0, 700, 0}, {2, -1}, {{700, 2}}},
    {AD_WHOLE_CUM_SUM, ADAPS_FLOAT32, 0, 3, {1, 0, 0}, {3, -1}, {{3, 20, 67}}},
    {AD_WHOLE_MATMUL, ADAPS_FLOAT32, 0, 0, {0}, {4, 3}, {{2, 1, 5, 9}, {3, 9, 67}}},
    {AD_WHOLE_MATMUL, ADAPS_INT32, 0, 0, {0}, {2, 2}, {{7, 35}, {35, 67}}},
    {AD_WHOLE_MATMUL_INTEGER, ADAPS_INT8, 0, 0, {0}, {2, 2}, {{7, 35}, {35, 67}}},
    {AD_WHOLE_CONV_INTEGER,
     ADAPS_UINT8,
     0,
     9,
     {2, 2, 1, 1, 2, 1, 3, 0, 2},
     {4, 4},
     {{2, 4, 17, 67}, {6, 2, 3, 3}}},
    {AD_WHOLE_QUANTIZE, ADAPS_FLOAT32, ADAPS_INT8, 2, {1, 0}, {2, 1}, {{7, 67}, {67}}},
    {AD_WHOLE_QUANTIZE, ADAPS_FLOAT32, ADAPS_UINT8, 2, {0, 3}, {2, 2}, {{7, 67}, {3, 67}}},
    {AD_WHOLE_UNIQUE, ADAPS_INT8, 0, 2, {0, 1}, {1, -1}, {{60}}},
};

START_TEST(larger_ones)
{
    const struct larger *l = &larger[_i];
    struct ad_rng rng = {(uint64_t)_i};
    struct ad_random_whole w = {.op = {.kind = l->kind, .to = l->to, .nints = l->nints}};
    struct ad_array out = {0};
    int done = 0;
    w.op.ints = l->ints;
    memcpy(w.ints, l->ints, sizeof l->ints);
    for (int i = 0; i < 2 && l->rank[i] >= 0; i++) {
        bool scale = i == 1 && l->kind == AD_WHOLE_QUANTIZE;
        w.in[i] = (struct ad_array){.type = scale ? ADAPS_FLOAT32 : l->type, .rank = l->rank[i]};
        memcpy(w.in[i].dims, l->dims[i], sizeof l->dims[i]);
        fill(&w.in[i], &rng);
        w.n++;
    }
    ck_assert_int_eq(ad_whole_infer(&w.op, w.in, w.n, &out, NULL), ADAPS_OK);
    out.data = room_for(&out);
    check_case(&w, &out, &done);
    free(out.data);
    free_inputs(&w);
    ck_assert_int_eq(done, 1);
}
END_TEST

/* With one element too few there is an error, and nothing is written beyond the room. */
static void check_too_little_room(enum ad_whole_kind kind)
{
    struct ad_rng rng = {(uint64_t)kind + 7};
    for (int round = 0; round < sampled(100); round++) {
        struct ad_random_whole w;
        struct ad_array out, small;
        struct adaps_error err = {0};
        if (!make(&w, kind, &out, &rng))
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

START_TEST(too_little_room)
{
    for (int kind = 0; kind < AD_WHOLE_COUNT; kind++)
        check_too_little_room(kind);
}
END_TEST

/* Each allocation fails in turn: an error, and all that was taken is given back. Returns how many
 * failed. */
static int check_no_memory(enum ad_whole_kind kind)
{
    int failed = 0;
    struct ad_rng rng = {(uint64_t)kind + 55};
    for (int round = 0; round < sampled(40); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, kind, &out, &rng))
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
            failed += status == ADAPS_EINTERNAL;
        }
        free(out.data);
        free_inputs(&w);
    }
    return failed;
}

/* Those that need room of their own take it, the others take none. */
START_TEST(no_memory)
{
    for (int kind = 0; kind < AD_WHOLE_COUNT; kind++)
        check_no_memory((enum ad_whole_kind)kind);
    ck_assert_int_gt(check_no_memory(AD_WHOLE_TOPK_INDICES), 0);
    ck_assert_int_gt(check_no_memory(AD_WHOLE_NMS), 0);
    ck_assert_int_eq(check_no_memory(AD_WHOLE_TRANSPOSE), 0);
    ck_assert_int_eq(check_no_memory(AD_WHOLE_ADD), 0);
}
END_TEST

/* Random bytes as attributes: whatever is accepted is computed within its room. */
static void check_strange_attributes(enum ad_whole_kind kind)
{
    static const int64_t odd[] = {INT64_MIN, INT64_MAX, INT32_MAX, INT32_MIN, -1, 0,
                                  1,         2,         3,         8,         31};
    struct ad_rng rng = {(uint64_t)kind + 900};
    for (int round = 0; round < sampled(500); round++) {
        struct ad_random_whole w;
        struct ad_array out;
        if (!make(&w, kind, &out, &rng))
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

START_TEST(strange_attributes)
{
    for (int kind = 0; kind < AD_WHOLE_COUNT; kind++)
        check_strange_attributes(kind);
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
    tcase_add_loop_test(tc, larger_ones, 0, sizeof larger / sizeof *larger);
    tcase_add_loop_test(tc, lists_that_are_computed, 0, sizeof with_lists / sizeof *with_lists);
    tcase_add_test(tc, ranges_too_long);
    tcase_add_test(tc, too_little_room);
    tcase_add_test(tc, no_memory);
    tcase_add_test(tc, strange_attributes);
    tcase_add_test(tc, softmax_along_axes);
    tcase_add_test(tc, functions_as_in_the_engine);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
