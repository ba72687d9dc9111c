#include "ir/quantised.h"
#include "ir/check.h"
#include "ir/operators.h"

#include <math.h>

static int32_t lowest(const struct ad_value *value)
{
    return value->type == ADAPS_INT8 ? INT8_MIN : 0;
}

static int32_t highest(const struct ad_value *value)
{
    return value->type == ADAPS_INT8 ? INT8_MAX : UINT8_MAX;
}

bool ad_quantised_valid(const struct ad_value *value)
{
    return (value->type == ADAPS_INT8 || value->type == ADAPS_UINT8) && !value->open &&
           isnormal(value->scale) && value->scale > 0 && value->zero >= lowest(value) &&
           value->zero <= highest(value);
}

bool ad_sums_valid(const struct ad_value *value)
{
    return value->type == ADAPS_INT32 && value->format == AD_NHWC && !value->open &&
           isnormal(value->scale) && value->scale > 0 && value->zero == 0;
}

bool ad_op_is_quantised(const struct ad_graph *graph, const struct ad_op *op)
{
    bool is = ad_value_is_quantised(&graph->values[op->output]);
    for (int k = 0; k < op->ninputs && !is; k++)
        is = ad_value_is_quantised(&graph->values[op->inputs[k]]);
    return is;
}

int32_t ad_quantised_byte(const struct ad_value *value, float x)
{
    float q = nearbyintf(x / value->scale) + (float)value->zero;
    return q <= (float)lowest(value)    ? lowest(value)
           : q >= (float)highest(value) ? highest(value)
                                        : (int32_t)q;
}

void ad_quantised_limits(const struct ad_value *value, float clamp_min, float clamp_max,
                         int32_t *low, int32_t *high)
{
    *low = ad_quantised_byte(value, clamp_min);
    *high = ad_quantised_byte(value, clamp_max);
}

static enum adaps_status check_operand(const struct ad_check *c, const struct ad_value *v,
                                       bool quantised)
{
    return ad_value_is_quantised(v) == quantised
               ? ADAPS_OK
               : ad_check_fail(c, "'%s' is %squantised", v->name, quantised ? "not " : "");
}

/* What a kind that keeps bytes as they are makes of its input. */
static enum adaps_status check_same(const struct ad_check *c, const struct ad_value *in,
                                    const struct ad_value *out)
{
    return ad_quantised_alike(in, out)
               ? ADAPS_OK
               : ad_check_fail(c, "'%s' and '%s' are quantised differently", in->name, out->name);
}

/* Sums: a CONV in blocks makes them, FOLDs add them, nothing else knows them. */
static enum adaps_status check_sums(const struct ad_check *c, enum ad_quantised_rule rule)
{
    const struct ad_op *op = c->op;
    const struct ad_value *values = c->graph->values, *in = &values[op->inputs[0]];
    const struct ad_value *out = &values[op->output];
    bool folds = rule == AD_QUANTISED_FOLDED;
    bool first = rule == AD_QUANTISED_SUMMED && op->partial > 0;
    for (int k = 0; k < op->ninputs; k++)
        if (ad_value_is_sums(&values[op->inputs[k]]) != folds)
            return ad_check_fail(c, "'%s' is %ssums", values[op->inputs[k]].name,
                                 folds ? "not " : "");
    if (ad_value_is_sums(out) != (first || (folds && op->weight < 0)))
        return ad_check_fail(c, "'%s' is %ssums", out->name, ad_value_is_sums(out) ? "" : "not ");
    if (ad_value_is_sums(out) && (in->scale != out->scale || !ad_op_is_bare(op)))
        return ad_check_fail(c, "a scale or an activation of sums");
    return ADAPS_OK;
}

enum adaps_status ad_check_quantised(const struct ad_check *c)
{
    const struct ad_op *op = c->op;
    const struct ad_value *values = c->graph->values, *out = &values[op->output];
    enum ad_quantised_rule rule = ad_operator_of(op->kind)->quantised;
    bool either = rule == AD_QUANTISED_EITHER, summed = rule == AD_QUANTISED_SUMMED;
    if (!ad_op_is_quantised(c->graph, op) || ad_kind_has(op->kind, AD_FIELD_WHOLE))
        return ADAPS_OK;
    if (rule == AD_QUANTISED_NEVER)
        return ad_check_fail(c, "its operands are quantised");
    bool table = either && ad_value_is_quantised(&values[op->inputs[0]]);
    bool makes_floats = summed || rule == AD_QUANTISED_FOLDED;
    bool floats = makes_floats && !ad_value_is_quantised(out);
    if (either && !table && !ad_op_is_bare(op))
        return ad_check_fail(c, "limits of floats that become bytes");
    if (op->function != AD_FN_NONE && !table && !floats)
        return ad_check_fail(c, "an activation after a quantised operator");
    if (op->winograd)
        return ad_check_fail(c, "Winograd's algorithm on quantised operands");
    enum adaps_status status = check_sums(c, rule);
    for (int k = 0; k < op->ninputs && status == ADAPS_OK && !either; k++)
        status = check_operand(c, &values[op->inputs[k]], true);
    if (status == ADAPS_OK && !either && !makes_floats)
        status = check_operand(c, out, true);
    if (status == ADAPS_OK && rule == AD_QUANTISED_SAME)
        status = check_same(c, &values[op->inputs[0]], out);
    return status;
}
