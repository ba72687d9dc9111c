/* The rules of operators that run whole: elementwise ones. */
#include "ir/graph.h"
#include "ir/whole_rules.h"

enum adaps_status ad_whole_rule_same(const struct ad_whole_rule *rule)
{
    return ad_whole_add_dims(rule, &rule->in[0], 0, rule->in[0].rank);
}

enum adaps_status ad_whole_rule_cast(const struct ad_whole_rule *rule)
{
    if (ad_type_bytes(rule->op->to) == 0)
        return AD_WHOLE_FAIL(rule, "a cast to type %d, which is none", (int)rule->op->to);
    rule->out->type = rule->op->to;
    return ad_whole_rule_same(rule);
}

enum adaps_status ad_whole_rule_broadcast(const struct ad_whole_rule *rule)
{
    return ad_whole_broadcast(rule, rule->in, rule->n);
}

enum adaps_status ad_whole_rule_mod(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, 0, 1, "fmod");
    if (status != ADAPS_OK)
        return status;
    if (rule->in[0].type == ADAPS_FLOAT32 && rule->op->ints[0] != 1)
        return AD_WHOLE_FAIL(rule, "floats need fmod = 1");
    return ad_whole_rule_broadcast(rule);
}

enum adaps_status ad_whole_rule_compare(const struct ad_whole_rule *rule)
{
    rule->out->type = ADAPS_BOOL;
    return ad_whole_rule_broadcast(rule);
}

enum adaps_status ad_whole_rule_bitwise(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ad_whole_int(rule, 0, 0, 2, "the operation");
    return status == ADAPS_OK ? ad_whole_rule_broadcast(rule) : status;
}

enum adaps_status ad_whole_rule_to_bool(const struct ad_whole_rule *rule)
{
    enum adaps_status status = ADAPS_OK;
    for (int i = 0; i < rule->op->nints && status == ADAPS_OK; i++)
        status = ad_whole_int(rule, i, 0, 1, i ? "detect_positive" : "detect_negative");
    rule->out->type = ADAPS_BOOL;
    return status == ADAPS_OK ? ad_whole_rule_same(rule) : status;
}

enum adaps_status ad_whole_rule_where(const struct ad_whole_rule *rule)
{
    if (rule->in[1].type != rule->in[2].type)
        return AD_WHOLE_FAIL(rule, "a choice of %s and %s", ad_type_name(rule->in[1].type),
                             ad_type_name(rule->in[2].type));
    rule->out->type = rule->in[1].type;
    return ad_whole_rule_broadcast(rule);
}

enum adaps_status ad_whole_rule_clip(const struct ad_whole_rule *rule)
{
    char dims[AD_MAX_RANK * 12];
    for (int i = 1; i < rule->n; i++) {
        const struct ad_array *limit = &rule->in[i];
        if (limit->rank > 1 || (limit->rank == 1 && limit->dims[0] > 1 && !limit->open))
            return AD_WHOLE_FAIL(rule, "limit %d of %s: one number, or an empty list", i,
                                 ad_dims_format(limit->rank, limit->dims, dims, sizeof dims));
    }
    return ad_whole_rule_same(rule);
}

enum adaps_status ad_whole_rule_function(const struct ad_whole_rule *rule)
{
    const float *floats = rule->op->floats; /* alpha, beta, limits */
    enum adaps_status status = ad_whole_int(rule, 0, 0, AD_FN_COUNT - 1, "the function");
    if (status != ADAPS_OK)
        return status;
    if (!isfinite(floats[0]) || !isfinite(floats[1]))
        return AD_WHOLE_FAIL(rule, "parameters %g, %g of a function", (double)floats[0],
                             (double)floats[1]);
    if (isnan(floats[2]) || isnan(floats[3]) || floats[2] > floats[3])
        return AD_WHOLE_FAIL(rule, "clamp to %g..%g", (double)floats[2], (double)floats[3]);
    return ad_whole_rule_same(rule);
}
