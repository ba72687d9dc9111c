/* ir/partial and ir/quantised: graphs whose ops add bytes in blocks, and what is refused of them.
 */
#include "ir/check.h"
#include "ir/operators.h"
#include "ir/partial.h"
#include "ir/quantised.h"
#include "support/random_graph.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

/* The first ops that make sums, add sums, and make bytes of the last sum. */
struct found {
    struct ad_graph *graph;
    struct ad_op *conv, *add, *last;
};

static struct ad_value *output_of(const struct found *f, const struct ad_op *op)
{
    return &f->graph->values[op->output];
}

static bool find(struct found *f)
{
    f->conv = f->add = f->last = NULL;
    for (int i = f->graph->nops - 1; i >= 0; i--) {
        struct ad_op *op = &f->graph->ops[i];
        if (op->partial > 2 && ad_op_is_quantised(f->graph, op))
            f->conv = op;
        if (op->kind == AD_OP_FOLD && op->weight < 0 && ad_op_is_quantised(f->graph, op))
            f->add = op;
        if (op->kind == AD_OP_FOLD && op->weight >= 0 && ad_value_is_quantised(output_of(f, op)))
            f->last = op;
    }
    return f->conv && f->add && f->last;
}

static struct found make(void)
{
    struct found f = {0};
    for (uint64_t seed = 0; seed < 200; seed++) {
        const struct ad_random_graph_options o = {.quantised = true, .partial = 8, .max_c = 40};
        ck_assert_int_eq(ad_random_graph(seed, &o, &f.graph, NULL), ADAPS_OK);
        if (find(&f))
            return f;
        ad_graph_free(f.graph);
    }
    ck_abort_msg("no graph has sums of bytes");
    return f;
}

/* What is where: sums of 4 bytes each with the scale of what is read, bytes after the last. */
START_TEST(sums)
{
    struct found f = make();
    const struct ad_value *in = &f.graph->values[f.conv->inputs[0]], *out = output_of(&f, f.conv);
    ck_assert(ad_value_is_sums(out) && !ad_value_is_sums(in));
    ck_assert_int_eq(ad_value_unit(out), 4);
    ck_assert_int_eq(ad_value_unit(in), 1);
    ck_assert(out->scale == in->scale);
    ck_assert_int_eq(f.graph->weights[f.conv->weight].row_elements,
                     ad_quantised_words((int64_t)f.conv->window.kh * f.conv->window.kw * in->box.c /
                                        f.conv->partial));
    ck_assert(ad_value_is_sums(output_of(&f, f.add)));
    ck_assert_int_eq(ad_value_unit(output_of(&f, f.last)), 1);
    ad_graph_free(f.graph);
}
END_TEST

static void byte_input(struct found *f)
{
    struct ad_value *v = output_of(f, f->conv);
    v->type = ADAPS_INT8;
}
static void other_scale(struct found *f)
{
    output_of(f, f->add)->scale *= 2;
}
static void sums_with_zero(struct found *f)
{
    output_of(f, f->conv)->zero = 1;
}
static void last_without_scales(struct found *f)
{
    f->last->weight = -1;
}
static void scales_too_early(struct found *f)
{
    f->add->weight = f->last->weight;
}
static void limits_of_sums(struct found *f)
{
    f->conv->clamp_min = 0;
}
static void too_few_rows(struct found *f)
{
    f->graph->weights[f->last->weight].rows = f->last->inner - 1;
}
static void one_piece(struct found *f)
{
    f->conv->partial = 0;
}

static const struct {
    void (*tell)(struct found *f);
    const char *word;
} lies[] = {
    {byte_input, "sums"},
    {other_scale, "scale"},
    {sums_with_zero, "zero point 1"},
    {last_without_scales, "sums"},
    {scales_too_early, "sums"},
    {limits_of_sums, "activation of sums"},
    {too_few_rows, "expected"},
    {one_piece, "sums"},
};

START_TEST(lies_are_named)
{
    struct adaps_error err = {0};
    struct found f = make();
    ck_assert_int_eq(ad_graph_verify(f.graph, true, &err), ADAPS_OK);
    lies[_i].tell(&f);
    ck_assert_int_eq(ad_graph_verify(f.graph, true, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, lies[_i].word), "%s: '%s' is not said", err.message,
                  lies[_i].word);
    ad_graph_free(f.graph);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("partial");
    TCase *tcase = tcase_create("quantised");
    tcase_add_test(tcase, sums);
    tcase_add_loop_test(tcase, lies_are_named, 0, (int)(sizeof lies / sizeof *lies));
    suite_add_tcase(suite, tcase);
    return run_suite(suite);
}
