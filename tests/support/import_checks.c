#include "support/import_checks.h"
#include "ir/operators.h"
#include "support/reference.h"

#include <check.h>
#include <math.h>
#include <string.h>

struct ad_graph *import_ok(struct mb *mb)
{
    struct adaps_error err = {.status = ADAPS_OK};
    struct ad_graph *graph;
    enum adaps_status status = ad_ir_import(&mb->model, NULL, &graph, &err);
    ck_assert_msg(status == ADAPS_OK, "%s", err.message);
    ck_assert_msg(ad_graph_verify(graph, true, &err) == ADAPS_OK, "%s", err.message);
    for (int i = 0; i < graph->nweights; i++) {
        const struct ad_weight *w = &graph->weights[i];
        struct ad_digest d =
            ad_digest_of(w->data, (size_t)(w->rows * w->row_elements) * sizeof(float));
        ck_assert(ad_digest_equal(&d, &w->digest));
    }
    return graph;
}

void import_refused(struct mb *mb, const char *reason)
{
    struct adaps_error err;
    struct ad_graph *graph;
    ck_assert_msg(ad_ir_import(&mb->model, NULL, &graph, &err) == ADAPS_EINPUT, "accepted: %s",
                  reason);
    ck_assert_ptr_null(graph);
    ck_assert_msg(strncmp(err.message, "test.onnx: ", 11) == 0 && strstr(err.message, reason),
                  "'%s' lacks '%s'", err.message, reason);
    mb_fini(mb);
}

/* Random inputs from the seed; output 0 is returned, inputs[] are the caller's. */
struct ad_tensor run_random(const struct ad_graph *graph, struct ad_tensor *inputs)
{
    struct adaps_error err;
    struct ad_rng rng = {42};
    struct ad_tensor outputs[4];
    ck_assert_int_le(graph->noutputs, 4);
    for (int i = 0; i < graph->ninputs; i++) {
        const struct ad_value *v = &graph->values[graph->inputs[i]];
        ck_assert_int_eq(ad_tensor_init(&inputs[i], v->rank, v->dims, &err), ADAPS_OK);
        for (size_t k = 0; k < inputs[i].count; k++)
            inputs[i].data[k] = ad_rng_float(&rng);
    }
    ck_assert_int_eq(ad_reference_run(graph, inputs, outputs, &err), ADAPS_OK);
    for (int i = 1; i < graph->noutputs; i++)
        ad_tensor_fini(&outputs[i]);
    return outputs[0];
}

void assert_near(float got, double want)
{
    ck_assert_msg(fabs((double)got - want) <= 1e-5 * fmax(1, fabs(want)), "%g instead of %g",
                  (double)got, want);
}

void assert_dims(const struct ad_graph *graph, int value, const char *want)
{
    char buf[64];
    const struct ad_value *v = &graph->values[value];
    ck_assert_str_eq(ad_dims_format(v->rank, v->dims, buf, sizeof buf), want);
}

/* The kinds of all ops, with commas. */
static const char *kinds(const struct ad_graph *graph, char buf[256])
{
    buf[0] = '\0';
    for (int i = 0; i < graph->nops; i++) {
        ck_assert_uint_lt(strlen(buf) + 24, 256);
        strcat(strcat(buf, i ? "," : ""), ad_op_kind_name(graph->ops[i].kind));
    }
    return buf;
}

void assert_kinds(const struct ad_graph *graph, const char *want)
{
    char buf[256];
    ck_assert_str_eq(kinds(graph, buf), want);
}

const float *floats(const Onnx__TensorProto *t)
{
    return (const float *)(const void *)t->raw_data.data;
}

void done(struct mb *mb, struct ad_graph *graph, struct ad_tensor *a, struct ad_tensor *b)
{
    if (a)
        ad_tensor_fini(a);
    if (b)
        ad_tensor_fini(b);
    ad_graph_free(graph);
    mb_fini(mb);
}
