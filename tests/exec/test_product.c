/* Products of computed matrices against one multiply-add after the other: the same bits, by however
 * many threads and in vectors of any width. */
#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/product.h"
#include "support/run_suite.h"
#include "support/sanitized.h"
#include "support/views.h"

#include <math.h>
#include <string.h>

static const int limits[] = {16, 8, 4, 1}; /* of ad_processor_limit_lanes() */
#define LIMITS ((int)(sizeof limits / sizeof *limits))

static void check(const struct ad_product *p)
{
    for (int64_t i = 0; i < p->count * p->rows * p->columns; i++) {
        int64_t c = i % p->columns, row = i / p->columns % p->rows;
        int64_t matrix = i / p->columns / p->rows;
        const float *a = p->a + ((p->one_a ? 0 : matrix) * p->rows + row) * p->depth;
        const float *b = p->b + (p->one_b ? 0 : matrix) * p->depth * p->columns + c;
        float sum = 0;
        for (int64_t k = 0; k < p->depth; k++)
            sum = fmaf(a[k], b[k * p->columns], sum);
        ck_assert_msg(memcmp(&sum, &p->out[i], sizeof sum) == 0,
                      "%d x %d x %d, element %d: %a, not %a", (int)p->rows, (int)p->depth,
                      (int)p->columns, (int)i, p->out[i], sum);
    }
}

START_TEST(the_same_bits)
{
    struct ad_rng rng = {(uint64_t)limits[_i]};
    ad_processor_limit_lanes(limits[_i]);
    for (int round = 0; round < sampled(80); round++) {
        struct pthreadpool *pool;
        struct ad_product p = {.count = ad_up_to(&rng, 1, 4),
                               .rows = ad_up_to(&rng, 1, round % 8 ? 40 : 300),
                               .depth = ad_up_to(&rng, 1, 50),
                               .columns = ad_up_to(&rng, 1, 80),
                               .one_a = ad_up_to(&rng, 0, 3) == 0,
                               .one_b = ad_up_to(&rng, 0, 3) == 0};
        size_t floats;
        float *a = ad_random_floats(&rng, (size_t)(p.count * p.rows * p.depth));
        float *b = ad_random_floats(&rng, (size_t)(p.count * p.depth * p.columns));
        p.out = ad_random_floats(&rng, (size_t)(p.count * p.rows * p.columns));
        ck_assert(ad_product_scratch(&p, &floats));
        p.a = a;
        p.b = b;
        p.scratch = ad_random_floats(&rng, floats);
        ck_assert_int_eq(ad_pool_new(1 + round % 3, &pool, NULL), ADAPS_OK);
        ad_product_run(&p, pool);
        check(&p);
        ad_pool_free(pool);
        free(a);
        free(b);
        free(p.out);
        free(p.scratch);
    }
    ad_processor_limit_lanes(16);
}
END_TEST

START_TEST(sizes)
{
    struct ad_product p = {.count = 3, .rows = 1, .depth = INT64_MAX / 8, .columns = INT64_MAX / 8};
    size_t one, three;
    ck_assert(!ad_product_scratch(&p, &one));
    p.depth = p.columns = 10;
    ck_assert(ad_product_scratch(&p, &three));
    p.one_b = true;
    ck_assert(ad_product_scratch(&p, &one));
    ck_assert_uint_eq(three, 3 * one);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("product");
    TCase *tc = tcase_create("product");
    tcase_set_timeout(tc, 120);
    tcase_add_loop_test(tc, the_same_bits, 0, LIMITS);
    tcase_add_test(tc, sizes);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
