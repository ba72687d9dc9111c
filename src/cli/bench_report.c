/* What adaps bench prints. */
#include "base/units.h"
#include "cli/bench.h"
#include "cli/run_options.h"
#include "report/json.h"
#include "report/text.h"

#include <math.h>
#include <string.h>

#define RESAMPLES 2000
#define LEVEL 0.95

double ad_bench_latency_ms(const struct ad_bench *bench, int entry)
{
    const struct ad_bench_entry *e = &bench->entries[entry];
    double *copy = ad_calloc(e->count, sizeof *copy);
    if (!copy)
        return NAN;
    if (e->count > 0)
        memcpy(copy, e->latency_ms, e->count * sizeof *copy);
    double median = ad_stats_median(copy, e->count);
    ad_free(copy);
    return median;
}

struct ad_interval ad_bench_ratio(const struct ad_bench *bench, int entry, int to)
{
    struct ad_interval none = {NAN, NAN, NAN};
    size_t n = bench->rounds;
    if (to < 0 || !bench->entries[entry].plan || !bench->entries[to].plan || n == 0)
        return none;
    double *ratios = ad_calloc(n, sizeof *ratios);
    double *scratch = ad_calloc(n + RESAMPLES, sizeof *scratch);
    for (size_t i = 0; ratios && scratch && i < n; i++)
        ratios[i] = bench->entries[entry].round_ms[i] / bench->entries[to].round_ms[i];
    if (ratios && scratch)
        none =
            ad_stats_bootstrap(ratios, n, LEVEL, RESAMPLES, bench->options->passes.seed, scratch);
    ad_free(ratios);
    ad_free(scratch);
    return none;
}

int ad_bench_devices_used(const struct adaps_plan *plan)
{
    int used = 0;
    for (int d = 0; d < plan->cluster.ndevices; d++)
        used += plan->schedule.programs[d].ntasks > 0;
    return used;
}

static double predicted_ms(const struct ad_bench_entry *entry)
{
    return (double)entry->plan->schedule.makespan_ns / 1e6;
}

/* Of the prediction, in percent of what was measured. */
static double error_percent(const struct ad_bench_entry *entry, double measured_ms)
{
    return 100 * (predicted_ms(entry) - measured_ms) / measured_ms;
}

static double each(const struct ad_bench_entry *entry, double sum)
{
    return entry->count ? sum / (double)entry->count : NAN;
}

/* --- the table --- */

static void ratio_cells(struct ad_table *table, struct ad_interval ratio)
{
    if (isnan(ratio.median)) {
        ad_table_cell(table, "-");
        ad_table_cell(table, "-");
        return;
    }
    ad_table_cell(table, "%.3f", ratio.median);
    ad_table_cell(table, "%.3f .. %.3f", ratio.lo, ratio.hi);
}

static void row(const struct ad_bench *bench, int i, struct ad_table *table)
{
    const struct ad_bench_entry *e = &bench->entries[i];
    double ms = ad_bench_latency_ms(bench, i);
    char text[32];
    ad_table_cell(table, "%s", e->choice->name);
    ad_table_cell(table, "%d", ad_bench_devices_used(e->plan));
    ad_table_cell(table, "%s", ad_format_ns(ms * 1e6, text, sizeof text));
    ad_table_cell(table, "%s",
                  ad_format_ns((double)e->plan->schedule.makespan_ns, text, sizeof text));
    ad_table_cell(table, "%+.1f", error_percent(e, ms));
    ratio_cells(table, ad_bench_ratio(bench, i, bench->options->reference));
    ratio_cells(table, ad_bench_ratio(bench, i, bench->options->single));
    ad_table_cell(table, "%s", ad_format_bytes((double)e->plan->schedule.bytes, text, sizeof text));
    ad_table_cell(table, "%s", ad_format_bytes(each(e, e->sent_bytes), text, sizeof text));
    if (bench->options->counters)
        ad_table_cell(table, "%s", ad_format_bytes(each(e, e->wire_bytes), text, sizeof text));
    else
        ad_table_cell(table, "-");
    ad_table_cell(table, "%ju", (uintmax_t)e->differ);
}

enum adaps_status ad_bench_print(const struct ad_bench *bench, FILE *out, struct adaps_error *err)
{
    const struct ad_bench_options *o = bench->options;
    char over[48];
    snprintf(over, sizeof over, "/ %s", o->strategies[o->reference].name);
    const struct ad_column columns[] = {
        {"strategy", false, false}, {"devices", true, false},  {"latency", true, false},
        {"predicted", true, false}, {"error %", true, false},  {over, true, false},
        {"95 %", true, false},      {"/ single", true, false}, {"95 %", true, false},
        {"planned", true, false},   {"sent", true, false},     {"wire", true, false},
        {"differ", true, false},
    };
    struct ad_table table;
    ad_table_init(&table, columns, sizeof columns / sizeof *columns);
    for (int i = 0; i < o->nstrategies; i++)
        if (bench->entries[i].plan)
            row(bench, i, &table);
    enum adaps_status status = ad_table_print(&table, out, err);
    ad_table_fini(&table);
    for (int i = 0; status == ADAPS_OK && i < o->nstrategies; i++) {
        char clean[400];
        if (!bench->entries[i].plan)
            fprintf(out, "%s: %s\n", o->strategies[i].name,
                    ad_text_clean(bench->entries[i].error, clean, sizeof clean));
    }
    if (status == ADAPS_OK)
        fprintf(out,
                "%zu rounds of %jd inferences; latency: median; ratios: median of the rounds, "
                "with the interval that 95 %% of resamplings give\n",
                bench->rounds, (intmax_t)o->runs);
    return status == ADAPS_OK ? ad_text_finish(out, err) : status;
}

/* --- for programs --- */

static json_t *ratio_json(struct ad_interval ratio)
{
    if (isnan(ratio.median))
        return json_null();
    return json_pack("{so so so}", "median", ad_report_json_number(ratio.median), "lo",
                     ad_report_json_number(ratio.lo), "hi", ad_report_json_number(ratio.hi));
}

static json_t *entry_json(const struct ad_bench *bench, int i)
{
    const struct ad_bench_entry *e = &bench->entries[i];
    if (!e->plan)
        return json_pack("{ss so}", "strategy", e->choice->name, "error",
                         ad_report_json_text(e->error));
    double ms = ad_bench_latency_ms(bench, i);
    json_t *rounds = json_array();
    for (size_t r = 0; r < bench->rounds; r++)
        rounds = ad_report_json_append(rounds, json_real(e->round_ms[r]));
    return json_pack(
        "{ss si so so so so so sI so so so sI sI sI so}", "strategy", e->choice->name,
        "devices_used", ad_bench_devices_used(e->plan), "latency_ms", ad_report_json_number(ms),
        "predicted_ms", ad_report_json_number(predicted_ms(e)), "error_percent",
        ad_report_json_number(error_percent(e, ms)), "ratio",
        ratio_json(ad_bench_ratio(bench, i, bench->options->reference)), "single_ratio",
        ratio_json(ad_bench_ratio(bench, i, bench->options->single)), "planned_bytes",
        (json_int_t)e->plan->schedule.bytes, "sent_bytes",
        ad_report_json_number(each(e, e->sent_bytes)), "wire_bytes",
        bench->options->counters ? ad_report_json_number(each(e, e->wire_bytes)) : json_null(),
        "messages", ad_report_json_number(each(e, e->sent_messages)), "inferences",
        (json_int_t)e->count, "elements", (json_int_t)e->elements, "differ", (json_int_t)e->differ,
        "round_ms", rounds);
}

enum adaps_status ad_bench_print_json(const struct ad_bench *bench, FILE *out,
                                      struct adaps_error *err)
{
    const struct ad_bench_options *o = bench->options;
    json_t *list = json_array();
    for (int i = 0; i < o->nstrategies; i++)
        list = ad_report_json_append(list, entry_json(bench, i));
    return ad_report_json_print(
        json_pack("{so ss sI sI sI so}", "model", ad_report_json_text(o->passes.model), "reference",
                  o->strategies[o->reference].name, "rounds", (json_int_t)bench->rounds, "runs",
                  (json_int_t)o->runs, "seed", (json_int_t)o->passes.seed, "strategies", list),
        out, err);
}

static void tsv_number(FILE *out, double value)
{
    if (isfinite(value))
        fprintf(out, "\t%.9g", value);
    else
        fputs("\t-", out);
}

static void tsv_ratio(FILE *out, struct ad_interval ratio)
{
    tsv_number(out, ratio.median);
    tsv_number(out, ratio.lo);
    tsv_number(out, ratio.hi);
}

enum adaps_status ad_bench_print_tsv(const struct ad_bench *bench, FILE *out,
                                     struct adaps_error *err)
{
    const struct ad_bench_options *o = bench->options;
    fputs("strategy\tdevices_used\tlatency_ms\tpredicted_ms\terror_percent\tratio\tratio_lo\t"
          "ratio_hi\tsingle_ratio\tsingle_lo\tsingle_hi\tplanned_bytes\tsent_bytes\twire_bytes\t"
          "messages\tinferences\tdiffer\terror\n",
          out);
    for (int i = 0; i < o->nstrategies; i++) {
        const struct ad_bench_entry *e = &bench->entries[i];
        char clean[400];
        fputs(e->choice->name, out);
        if (!e->plan) {
            for (int k = 0; k < 16; k++)
                fputs("\t-", out);
            fprintf(out, "\t%s\n", ad_text_clean(e->error, clean, sizeof clean));
            continue;
        }
        double ms = ad_bench_latency_ms(bench, i);
        fprintf(out, "\t%d", ad_bench_devices_used(e->plan));
        tsv_number(out, ms);
        tsv_number(out, predicted_ms(e));
        tsv_number(out, error_percent(e, ms));
        tsv_ratio(out, ad_bench_ratio(bench, i, o->reference));
        tsv_ratio(out, ad_bench_ratio(bench, i, o->single));
        fprintf(out, "\t%jd", (intmax_t)e->plan->schedule.bytes);
        tsv_number(out, each(e, e->sent_bytes));
        tsv_number(out, o->counters ? each(e, e->wire_bytes) : NAN);
        tsv_number(out, each(e, e->sent_messages));
        fprintf(out, "\t%zu\t%ju\t-\n", e->count, (uintmax_t)e->differ);
    }
    return ad_text_finish(out, err);
}
