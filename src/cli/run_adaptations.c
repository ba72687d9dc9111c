/* What adaps run says of drifts, and of what became of them. */
#include "base/units.h"
#include "cli/run_internal.h"
#include "control/drift.h"
#include "report/json.h"

static const char *name_of(const struct ad_runner *r, int device)
{
    return r->deployment.plan->cluster.devices[device].name;
}

/* Those that are done, which are the first *count. */
static const struct ad_adaptation *adaptations_of(const struct ad_runner *r, int *count)
{
    *count = 0;
    const struct ad_adaptation *list = r->agents ? ad_failover_adaptations(r->agents, count) : NULL;
    if (*count > 0 && !list[*count - 1].done)
        --*count;
    return list;
}

static void print_drift(const struct ad_runner *r, const struct ad_adaptation *one)
{
    fprintf(stderr, "adaps run: after %lld inferences %s%s", (long long)one->inference,
            one->to < 0 ? "" : "the link from ", name_of(r, one->device));
    if (one->to >= 0)
        fprintf(stderr, " to %s", name_of(r, one->to));
    fprintf(stderr, " has had %.2f of the planned speed for %d inferences and more", one->factor,
            AD_DRIFT_LASTS);
    if (one->before != 1)
        fprintf(stderr, ", after %.2f", one->before);
    fprintf(stderr, "; ");
}

static void print_adaptation(const struct ad_runner *r, const struct ad_adaptation *one)
{
    char old[32], new[32], gain[32], cost[32], plan[32], push[32], open[32], bytes[32];
    int64_t each = one->old_ns - one->new_ns;
    ad_format_ns((double)one->old_ns, old, sizeof old);
    ad_format_ns((double)one->new_ns, new, sizeof new);
    ad_format_ns((double)each * (double)one->left, gain, sizeof gain);
    ad_format_ns((double)one->cost_ns, cost, sizeof cost);
    print_drift(r, one);
    if (one->taken)
        fprintf(stderr, "planned again: ");
    else
        fprintf(stderr, "as before: %s, ",
                one->push_ns > 0 ? "the agents did not take another plan" : "another plan");
    fprintf(stderr, "%s an inference instead of %s, %s%s in the next %lld for %s", new, old,
            each > 0 ? "a gain of " : "no gain: ", gain, (long long)one->left, cost);
    if (one->taken)
        fprintf(stderr, " (plan %s, push of %s %s, opening %s)",
                ad_format_ns((double)one->plan_ns, plan, sizeof plan),
                ad_format_bytes((double)one->push_bytes, bytes, sizeof bytes),
                ad_format_ns((double)one->push_ns, push, sizeof push),
                ad_format_ns((double)one->open_ns, open, sizeof open));
    fputc('\n', stderr);
}

void ad_run_print_adaptations(struct ad_runner *r)
{
    int count;
    const struct ad_adaptation *list = adaptations_of(r, &count);
    for (; r->told_adaptations < count; r->told_adaptations++)
        if (!r->options->shared.json)
            print_adaptation(r, &list[r->told_adaptations]);
}

json_t *ad_run_adaptations_json(const struct ad_runner *r)
{
    int count;
    const struct ad_adaptation *list = adaptations_of(r, &count);
    json_t *array = json_array();
    for (int i = 0; i < count; i++) {
        const struct ad_adaptation *one = &list[i];
        json_t *to = one->to < 0 ? json_null() : ad_report_json_text(name_of(r, one->to));
        array = ad_report_json_append(
            array,
            json_pack("{s:o, s:o, s:f, s:f, s:I, s:b, s:f, s:f, s:I, s:f, s:f, s:f, s:f, s:I}",
                      "device", ad_report_json_text(name_of(r, one->device)), "to", to, "factor",
                      one->factor, "before", one->before, "inference", (json_int_t)one->inference,
                      "planned_again", one->taken, "old_ms", (double)one->old_ns / 1e6, "new_ms",
                      (double)one->new_ns / 1e6, "left", (json_int_t)one->left, "cost_ms",
                      (double)one->cost_ns / 1e6, "plan_ms", (double)one->plan_ns / 1e6, "push_ms",
                      (double)one->push_ns / 1e6, "open_ms", (double)one->open_ns / 1e6,
                      "push_bytes", (json_int_t)one->push_bytes));
    }
    return array;
}
