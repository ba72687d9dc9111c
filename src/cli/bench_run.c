/* Plans, answers and times for adaps bench.
 *
 * Agents run one plan at a time, so the strategies take turns: in every round each has a session of
 * its own, with some inferences that do not count and `runs` that do. Every second round goes
 * through the strategies in reverse order (A B C, C B A, ...), so that drift affects all alike and
 * each of a pair is first as often as second. */
#include "base/clock.h"
#include "cli/bench.h"
#include "io/tensor_io.h"
#include "ir/partial.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- plans --- */

static enum adaps_status blame(const struct ad_bench_entry *entry, struct adaps_error *err)
{
    return ad_error_prefix(err, "strategy %s: ", entry->choice->name);
}

enum adaps_status ad_bench_push(const struct ad_bench_options *options,
                                const struct adaps_plan *plan, struct adaps_error *err)
{
    size_t n = (size_t)plan->cluster.ndevices;
    struct ad_push_report *reports = ad_calloc(n, sizeof *reports);
    if (!reports)
        return ad_error_memory(err, "push", n * sizeof *reports);
    const struct ad_weight_source weights = ad_weights_of_graph(plan->graph);
    enum adaps_status status = ad_push(plan, &options->session, &weights, reports, err);
    ad_free(reports);
    return status;
}

/* Plans and pushes. Then only the agents keep the weights: those of all plans need not fit here. */
static enum adaps_status prepare(struct ad_bench *bench, struct ad_bench_entry *entry,
                                 struct adaps_error *err)
{
    struct ad_pipeline_options passes = bench->options->passes;
    struct adaps_error why = {0};
    passes.strategy = entry->choice->strategy;
    passes.late = entry->choice->late;
    if (entry->choice->lossy)
        passes.encodings |= AD_ENCODINGS_LOSSY;
    enum adaps_status status = ad_pipeline_compile(&passes, &entry->plan, &why);
    if (status == ADAPS_NO) {
        snprintf(entry->error, sizeof entry->error, "%s", why.message);
        return ADAPS_OK;
    }
    if (status != ADAPS_OK) {
        if (err)
            *err = why;
        return status;
    }
    if (entry->choice->local)
        return ADAPS_OK;
    status = ad_bench_push(bench->options, entry->plan, err);
    return status == ADAPS_OK ? status : blame(entry, err);
}

static enum adaps_status allocate(struct ad_bench *bench, struct ad_bench_entry *entry,
                                  struct adaps_error *err)
{
    size_t runs = (size_t)bench->options->runs, all;
    if (ad_size_mul(bench->room, runs, &all)) {
        entry->latency_ms = ad_calloc(all, sizeof *entry->latency_ms);
        entry->round_ms = ad_calloc(bench->room, sizeof *entry->round_ms);
    }
    if (!entry->latency_ms || !entry->round_ms)
        return ad_error_memory(err, "measurements", bench->room * runs * sizeof(double));
    if (!bench->options->predict)
        return ADAPS_OK;
    return ad_predict_init(&entry->predict, entry->plan, all, err);
}

static enum adaps_status prepare_all(struct ad_bench *bench, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    int plans = 0;
    for (int i = 0; i < bench->options->nstrategies && status == ADAPS_OK; i++) {
        struct ad_bench_entry *entry = &bench->entries[i];
        if (bench->progress)
            bench->progress(bench->progress_self, "planning", 0);
        status = prepare(bench, entry, err);
        if (status == ADAPS_OK && entry->plan)
            status = allocate(bench, entry, err);
        plans += entry->plan != NULL;
    }
    if (status == ADAPS_OK && plans == 0)
        return ad_error_set(err, ADAPS_NO, "strategy %s: %.400s", bench->entries[0].choice->name,
                            bench->entries[0].error);
    return status;
}

/* --- answers --- */

/* The entry whose single-device answers are those of all plans without sums in blocks; if there is
 * none, any. */
static const struct ad_bench_entry *plain_entry(const struct ad_bench *bench)
{
    const struct ad_bench_entry *found = NULL;
    for (int i = bench->options->nstrategies - 1; i >= 0; i--) {
        const struct ad_bench_entry *entry = &bench->entries[i];
        if (entry->plan && (!found || !ad_graph_is_partial(entry->plan->graph)))
            found = entry;
    }
    return found;
}

/* The answers of one device to all inputs, by the run; *answers is the caller's. */
static enum adaps_status answer_all(const struct ad_bench *bench, struct ad_local_run *run,
                                    struct ad_tensor **answers, struct adaps_error *err)
{
    size_t n = AD_BENCH_INPUTS * (size_t)bench->noutputs;
    enum adaps_status status = ADAPS_OK;
    *answers = ad_calloc(n, sizeof **answers);
    if (!*answers)
        return ad_error_memory(err, "answers", n * sizeof **answers);
    for (int k = 0; k < AD_BENCH_INPUTS && status == ADAPS_OK; k++)
        status = ad_local_run_infer(run, &bench->inputs[k * bench->ninputs],
                                    &(*answers)[k * bench->noutputs], err);
    return status;
}

static enum adaps_status draw_inputs(struct ad_bench *bench, const struct ad_graph *graph,
                                     struct adaps_error *err)
{
    size_t n = AD_BENCH_INPUTS * (size_t)graph->ninputs;
    enum adaps_status status = ADAPS_OK;
    bench->ninputs = graph->ninputs;
    bench->noutputs = graph->noutputs;
    bench->inputs = ad_calloc(n, sizeof *bench->inputs);
    if (!bench->inputs)
        return ad_error_memory(err, "inputs", n * sizeof *bench->inputs);
    for (int k = 0; k < AD_BENCH_INPUTS; k++)
        for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++)
            status = ad_tensor_io_random(graph, i, bench->options->passes.seed + (uint64_t)k,
                                         &bench->inputs[k * graph->ninputs + i], err);
    return status;
}

/* Sums in blocks have answers of their own. */
static enum adaps_status answer_in_blocks(struct ad_bench *bench, struct ad_bench_entry *entry,
                                          struct adaps_error *err)
{
    struct ad_local_run *run = NULL;
    enum adaps_status status = ad_model_local_run(entry->plan, bench->options->passes.model,
                                                  (int)bench->options->threads, &run, err);
    if (status == ADAPS_OK)
        status = answer_all(bench, run, &entry->expected, err);
    ad_local_run_free(run);
    return status;
}

/* Computes the single-device answers before the agents are measured, so that neither slows the
 * other down. */
static enum adaps_status find_answers(struct ad_bench *bench, struct adaps_error *err)
{
    const struct adaps_plan *plan = plain_entry(bench)->plan;
    enum adaps_status status = draw_inputs(bench, plan->graph, err);
    if (status == ADAPS_OK)
        status = ad_model_local_run(plan, bench->options->passes.model,
                                    (int)bench->options->threads, &bench->local, err);
    if (status == ADAPS_OK)
        status = answer_all(bench, bench->local, &bench->expected, err);
    bool again = false;
    for (int i = 0; i < bench->options->nstrategies && status == ADAPS_OK; i++) {
        struct ad_bench_entry *entry = &bench->entries[i];
        entry->expected = bench->expected;
        if (entry->plan && entry->plan != plan && ad_graph_is_partial(entry->plan->graph))
            status = answer_in_blocks(bench, entry, err);
        again = again || bench->options->strategies[i].local;
    }
    if (!again) {
        ad_local_run_free(bench->local);
        bench->local = NULL;
    }
    return status;
}

static void compare(struct ad_bench *bench, struct ad_bench_entry *entry,
                    const struct ad_tensor *outputs, int set)
{
    for (int i = 0; i < bench->noutputs; i++) {
        const struct ad_tensor *want = &entry->expected[set * bench->noutputs + i];
        struct ad_difference d = ad_tensor_difference(want, &outputs[i]);
        if (d.differ && !bench->first_difference[0])
            snprintf(bench->first_difference, sizeof bench->first_difference,
                     "strategy %s, round %zu, output %d, element %zu: %.9g, not %.9g",
                     entry->choice->name, bench->rounds, i, d.first,
                     d.first < outputs[i].count ? ad_tensor_number(&outputs[i], d.first) : NAN,
                     d.first < want->count ? ad_tensor_number(want, d.first) : NAN);
        entry->elements += d.elements;
        entry->differ += d.differ;
    }
}

/* --- counters --- */

/* A line "NAME UP DOWN" for each link; the sum of UP. Lines of other words are titles. */
static enum adaps_status read_counters(const char *command, double *out, struct adaps_error *err)
{
    char line[512];
    int links = 0;
    *out = 0;
    fflush(NULL);
    FILE *pipe = popen(command, "re");
    if (!pipe)
        return ad_error_set(err, ADAPS_EINTERNAL, "%s: %s", command, strerror(errno));
    while (fgets(line, sizeof line, pipe)) {
        unsigned long long up, down;
        if (sscanf(line, "%*s %llu %llu", &up, &down) != 2)
            continue;
        *out += (double)up;
        links++;
    }
    int code = pclose(pipe);
    if (code == 0 && links > 0)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINPUT, "--counters '%s': %s", command,
                        code != 0 ? "it failed" : "it printed no line 'NAME UP DOWN'");
}

/* --- times --- */

struct turn {
    struct ad_bench *bench;
    struct ad_bench_entry *entry;
    struct ad_session *session;
    struct ad_tensor *outputs;
    struct ad_device_stats *devices;
    double sum_ms; /* of what counts */
};

/* One inference, by the agents or in this process. *ms: the time that it took. */
static enum adaps_status answer(struct turn *t, const struct ad_tensor *inputs,
                                struct ad_run_stats *stats, double *ms, struct adaps_error *err)
{
    int64_t begin = ad_clock_ns(), ns;
    enum adaps_status status;
    if (t->entry->choice->local) {
        int64_t start, end;
        status = ad_local_run_infer(t->bench->local, inputs, t->outputs, err);
        ad_local_run_times(t->bench->local, &start, &end);
        ns = end - start;
    } else {
        status = ad_session_run(t->session, inputs, t->outputs, stats, err);
        ns = t->bench->options->wall ? ad_clock_ns() - begin : stats->latency_ns;
    }
    *ms = (double)ns / 1e6;
    return status;
}

static enum adaps_status infer(struct turn *t, int64_t number, bool counts, struct adaps_error *err)
{
    struct ad_bench *bench = t->bench;
    struct ad_bench_entry *entry = t->entry;
    int set = (int)(number % AD_BENCH_INPUTS);
    struct ad_run_stats stats = {.devices = t->devices};
    struct ad_trace trace = {0};
    double ms = 0;
    enum adaps_status status = ADAPS_OK;
    if (counts && bench->options->predict) {
        status = ad_trace_init(&trace, entry->plan, err);
        stats.trace = &trace;
    }
    if (status == ADAPS_OK)
        status = answer(t, &bench->inputs[set * bench->ninputs], &stats, &ms, err);
    if (status == ADAPS_OK && stats.trace)
        status = ad_predict_add(&entry->predict, &trace, err);
    ad_trace_fini(&trace);
    if (status == ADAPS_OK)
        compare(bench, entry, t->outputs, set);
    for (int i = 0; i < bench->noutputs; i++)
        ad_tensor_fini(&t->outputs[i]);
    if (status != ADAPS_OK || !counts)
        return status;
    t->sum_ms += ms;
    entry->latency_ms[entry->count++] = ms;
    for (int d = 0; d < entry->plan->cluster.ndevices; d++) {
        entry->sent_bytes += (double)t->devices[d].bytes_sent;
        entry->sent_messages += (double)t->devices[d].messages_sent;
    }
    return ADAPS_OK;
}

/* The first inferences of a turn do not count, for this long: engines have just been built, and
 * commands run. (The second inference of MobileNetV2 takes a tenth longer than the sixth.) */
#define WARM_NS 60000000

static enum adaps_status infer_all(struct turn *t, struct adaps_error *err)
{
    const struct ad_bench_options *o = t->bench->options;
    double before = 0, after = 0;
    enum adaps_status status = o->counters ? read_counters(o->counters, &before, err) : ADAPS_OK;
    int64_t warm_ns = ad_clock_ns() + WARM_NS, warm = 0;
    for (; status == ADAPS_OK && (warm == 0 || ad_clock_ns() < warm_ns); warm++)
        status = infer(t, warm, false, err);
    for (int64_t k = 0; k < o->runs && status == ADAPS_OK; k++)
        status = infer(t, (int64_t)t->bench->rounds * o->runs + k, true, err);
    if (status == ADAPS_OK && o->counters)
        status = read_counters(o->counters, &after, err);
    t->entry->wire_bytes += (after - before) * (double)o->runs / (double)(o->runs + warm);
    return status;
}

static enum adaps_status take_turn(struct ad_bench *bench, struct ad_bench_entry *entry,
                                   struct adaps_error *err)
{
    size_t n = (size_t)entry->plan->cluster.ndevices;
    struct turn t = {.bench = bench, .entry = entry};
    t.outputs = ad_calloc((size_t)bench->noutputs, sizeof *t.outputs);
    t.devices = ad_calloc(n, sizeof *t.devices);
    enum adaps_status status = t.outputs && t.devices ? ADAPS_OK : ad_error_memory(err, "run", n);
    if (status == ADAPS_OK && !entry->choice->local)
        status = ad_session_open(entry->plan, &bench->options->session, &t.session, err);
    if (status == ADAPS_OK)
        status = infer_all(&t, err);
    if (status != ADAPS_OK)
        blame(entry, err);
    entry->round_ms[bench->rounds] = t.sum_ms / (double)bench->options->runs;
    ad_session_close(t.session);
    ad_free(t.outputs);
    ad_free(t.devices);
    return status;
}

static enum adaps_status measure(struct ad_bench *bench, struct adaps_error *err)
{
    const struct ad_bench_options *o = bench->options;
    int64_t end = ad_clock_ns() + (int64_t)(o->seconds * 1e9);
    enum adaps_status status = ADAPS_OK;
    while (status == ADAPS_OK && bench->rounds < bench->room &&
           (o->seconds <= 0 || bench->rounds == 0 || ad_clock_ns() < end)) {
        if (bench->progress)
            bench->progress(bench->progress_self, "round", bench->rounds + 1);
        for (int k = 0; k < o->nstrategies && status == ADAPS_OK; k++) {
            int i = bench->rounds % 2 ? o->nstrategies - 1 - k : k;
            if (bench->entries[i].plan)
                status = take_turn(bench, &bench->entries[i], err);
        }
        bench->rounds += status == ADAPS_OK;
    }
    return status;
}

enum adaps_status ad_bench_run(struct ad_bench *bench, const struct ad_bench_options *options,
                               struct adaps_error *err)
{
    bench->options = options;
    bench->room = options->rounds ? (size_t)options->rounds : AD_BENCH_MOST_ROUNDS;
    bench->entries = ad_calloc((size_t)options->nstrategies, sizeof *bench->entries);
    if (!bench->entries)
        return ad_error_memory(err, "strategies", (size_t)options->nstrategies);
    for (int i = 0; i < options->nstrategies; i++)
        bench->entries[i].choice = &options->strategies[i];
    double bytes;
    enum adaps_status status =
        options->counters ? read_counters(options->counters, &bytes, err) : ADAPS_OK;
    if (status == ADAPS_OK)
        status = prepare_all(bench, err);
    if (status == ADAPS_OK)
        status = find_answers(bench, err);
    if (status == ADAPS_OK && options->when_pushed && system(options->when_pushed) != 0)
        status =
            ad_error_set(err, ADAPS_EINPUT, "--when-pushed '%s': it failed", options->when_pushed);
    if (status == ADAPS_OK)
        status = measure(bench, err);
    return status;
}

static void free_answers(const struct ad_bench *bench, struct ad_tensor *answers)
{
    for (int i = 0; answers && i < AD_BENCH_INPUTS * bench->noutputs; i++)
        ad_tensor_fini(&answers[i]);
    ad_free(answers);
}

void ad_bench_fini(struct ad_bench *bench)
{
    for (int i = 0; bench->entries && i < bench->options->nstrategies; i++) {
        struct ad_bench_entry *entry = &bench->entries[i];
        if (entry->expected != bench->expected)
            free_answers(bench, entry->expected);
        ad_predict_fini(&entry->predict);
        adaps_plan_free(entry->plan);
        ad_free(entry->latency_ms);
        ad_free(entry->round_ms);
    }
    for (int i = 0; bench->inputs && i < AD_BENCH_INPUTS * bench->ninputs; i++)
        ad_tensor_fini(&bench->inputs[i]);
    ad_local_run_free(bench->local);
    ad_free(bench->entries);
    ad_free(bench->inputs);
    free_answers(bench, bench->expected);
    memset(bench, 0, sizeof *bench);
}
