#include "exec/agent/profile.h"
#include "exec/kernels/encode.h"
#include "base/clock.h"
#include "base/rng.h"
#include "base/stats.h"
#include "exec/engine/internal.h"
#include "ir/quantised.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#define MAX_PASSES 1000
#define PAUSE_NS 2000000
#define ENCODINGS_NS 10000000 /* what timing encodings may take */
#define NUMBERS ((size_t)64 << 10)
#define MAX_SAMPLES ((size_t)4 << 20) /* durations kept */

/* --- memory --- */

/* Bytes. */
static uint64_t largest_slice(const struct adaps_plan *plan)
{
    uint64_t largest = 0;
    for (int i = 0; i < plan->slices[0].count; i++) {
        uint64_t bytes = ad_slice_bytes(plan, &plan->slices[0].items[i]);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static uint64_t elements_of(const struct ad_box *box)
{
    return (uint64_t)ad_box_elements(*box);
}

/* Elements. */
static uint64_t largest_end(const struct ad_graph *graph)
{
    uint64_t largest = 1;
    for (int i = 0; i < graph->ninputs + graph->noutputs; i++) {
        int v = i < graph->ninputs ? graph->inputs[i] : graph->outputs[i - graph->ninputs];
        uint64_t elements = elements_of(&graph->values[v].box);
        largest = elements > largest ? elements : largest;
    }
    return largest;
}

/* Bytes of the engine's arena if no two buffers shared memory. */
static enum adaps_status find_arena(const struct adaps_plan *plan, struct ad_buffer *buffers,
                                    double *out, struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    const struct ad_program *program = &plan->schedule.programs[0];
    double largest = 0;
    int nticks;
    enum adaps_status status =
        ad_buffers_find(graph, program, plan->cluster.source == 0, plan->cluster.source == 0, NULL,
                        NULL, buffers, &nticks, err);
    *out = 0;
    for (int i = 0; i < graph->nvalues && status == ADAPS_OK; i++)
        if (buffers[i].root < 0)
            *out += (double)ad_region_bytes(graph, i, buffers[i].box);
    for (int t = 0; t < program->ntasks && status == ADAPS_OK; t++) {
        struct ad_scratch scratch;
        status = ad_task_scratch(graph, buffers, &program->tasks[t],
                                 plan->cluster.devices[0].threads, &scratch, err);
        if (status == ADAPS_OK)
            largest = fmax(largest, (double)scratch.in_bytes + (double)scratch.out_bytes);
    }
    *out += largest;
    return status;
}

/* What running the tasks takes, roughly and rather too much: buffers, operators, what is made up.
 * Counted in double, in which nothing overflows. */
static enum adaps_status find_bytes(const struct adaps_plan *plan, double *out,
                                    struct adaps_error *err)
{
    const struct ad_graph *graph = plan->graph;
    const struct ad_program *program = &plan->schedule.programs[0];
    size_t nvalues = (size_t)graph->nvalues, nops = (size_t)graph->nops;
    size_t slice = ad_task_slice_bytes(NULL);
    struct ad_buffer *buffers = ad_calloc(nvalues, sizeof *buffers);
    struct ad_shared_weights *shared = ad_shared_weights_new(graph);
    enum adaps_status status =
        buffers && shared
            ? find_arena(plan, buffers, out, err)
            : ad_error_memory(err, "profile", nvalues * sizeof *buffers + nops * sizeof *shared);
    if (status == ADAPS_OK)
        for (int t = 0; t < program->ntasks; t++)
            *out += ad_task_bytes(graph, &program->tasks[t], slice, shared);
    *out += (double)largest_slice(plan) + (double)largest_end(graph) * sizeof(float);
    ad_free(buffers);
    ad_shared_weights_free(shared, graph->nops);
    return status;
}

static enum adaps_status check_memory(const struct adaps_plan *plan, uint64_t most, uint64_t *bytes,
                                      struct adaps_error *err)
{
    double needed = 0;
    enum adaps_status status = find_bytes(plan, &needed, err);
    if (status != ADAPS_OK)
        return status;
    if (most > 0 && needed > (double)most)
        return ad_error_set(err, ADAPS_EINPUT,
                            "timing this takes %.3g bytes of memory, more than the %" PRIu64
                            " that it may take",
                            needed, most);
    *bytes = (uint64_t)fmin(needed, 1e18);
    return ADAPS_OK;
}

/* --- measuring --- */

struct bench {
    const struct adaps_plan *plan;
    const struct ad_profile_options *options;
    struct ad_engine *engine;
    float *numbers; /* NUMBERS of them, again and again in every weight */
    float *ends;    /* room for any input or output of the network */
    int64_t until_ns;
    int ntasks, passes, room;
    float *samples;           /* pass by pass: seconds by task */
    double total[MAX_PASSES]; /* by pass: elapsed, pauses of the emulation included */
    double work[MAX_PASSES];  /* by pass: only the tasks */
    double busy[MAX_PASSES];  /* by pass: what was slowed down */
    double feed[MAX_PASSES], fetch[MAX_PASSES];
};

/* Whether a weight is what quantised operators have beside theirs: not any numbers will do. */
static bool are_quantised_rows(const struct ad_graph *graph, int weight)
{
    for (int i = 0; i < graph->nops; i++)
        if (graph->ops[i].bias == weight)
            return ad_value_is_quantised(&graph->values[graph->ops[i].inputs[0]]);
    return false;
}

static enum adaps_status make_weights(const struct ad_weight_source *source,
                                      const struct ad_slice *slice, int64_t r0, int64_t r1,
                                      float *to, struct adaps_error *err)
{
    const struct bench *b = source->self;
    (void)err;
    size_t count = (size_t)(r1 - r0) * (size_t)b->plan->graph->weights[slice->weight].row_elements;
    if (are_quantised_rows(b->plan->graph, slice->weight)) {
        const struct ad_quantised_row row = {.scale = 1e-3f};
        for (int64_t i = 0; i < r1 - r0; i++)
            memcpy(to + i * AD_QUANTISED_ROW_WORDS, &row, sizeof row);
        return ADAPS_OK;
    }
    for (size_t i = 0, n; i < count; i += n) {
        n = count - i < NUMBERS ? count - i : NUMBERS;
        memcpy(to + i, b->numbers, n * sizeof *to);
    }
    return ADAPS_OK;
}

static enum adaps_status no_transport(void *self, const struct ad_step *step,
                                      const struct ad_span_list *spans, struct adaps_error *err)
{
    (void)self, (void)step, (void)spans;
    return ad_error_set(err, ADAPS_EINTERNAL, "a profile sends nothing");
}

static float *random_floats(size_t n)
{
    struct ad_rng rng = {1};
    float *out = ad_alloc_aligned(n * sizeof *out + 64);
    for (size_t i = 0; out && i < n; i++)
        out[i] = 0.05f * ad_rng_float(&rng);
    return out;
}

static enum adaps_status prepare(struct bench *b, struct adaps_error *err)
{
    size_t ends = (size_t)largest_end(b->plan->graph);
    b->ntasks = b->plan->schedule.programs[0].ntasks;
    size_t room = MAX_SAMPLES / (size_t)b->ntasks;
    b->room = room < 2 ? 2 : room > MAX_PASSES ? MAX_PASSES : (int)room;
    b->samples = ad_calloc((size_t)b->room * (size_t)b->ntasks, sizeof *b->samples);
    b->numbers = random_floats(NUMBERS);
    b->ends = random_floats(ends);
    if (!b->samples || !b->numbers || !b->ends)
        return ad_error_memory(err, "profile", (NUMBERS + ends) * sizeof(float));
    struct ad_engine_options options = {.threads = b->options->threads,
                                        .cancel = b->options->cancel};
    struct ad_weight_source source = {.read = make_weights, .self = b};
    return ad_engine_new(b->plan, &options, &source, &b->engine, err);
}

static double seconds(int64_t from, int64_t to)
{
    return (double)(to - from) * 1e-9;
}

/* An inference comes after a pause, in which the processor has slept and others have used it. */
static void pause_between(void)
{
    struct timespec pause = {.tv_nsec = PAUSE_NS};
    nanosleep(&pause, NULL);
}

/* Pass number b->passes. */
static enum adaps_status run_pass(struct bench *b, struct ad_throttle *throttle,
                                  struct adaps_error *err)
{
    static const struct ad_transport none = {.send = no_transport};
    float *samples = b->samples + (size_t)b->passes * (size_t)b->ntasks;
    double work = 0;
    int64_t begin = ad_clock_ns(), settled = throttle->settled_ns;
    ad_throttle_begin(throttle);
    const struct ad_program *program = &b->plan->schedule.programs[0];
    for (int i = 0; i < program->nsteps; i++) {
        int first = program->steps[i].first_task;
        int64_t start, end, worked = throttle->wall ? 0 : ad_clock_thread_ns();
        enum adaps_status status = ad_engine_step(b->engine, i, &none, err);
        if (status != ADAPS_OK)
            return status;
        ad_engine_times(b->engine, i, &start, &end);
        double took = seconds(start, end);
        if (!throttle->wall) /* of one thread; asking for it takes longer than the smallest tasks */
            took = fmin(took, seconds(worked, ad_clock_thread_ns()));
        samples[first] = (float)took;
        for (int k = 1; k < program->steps[i].ntasks; k++) /* the first has the time of all */
            samples[first + k] = 0;
        work += took;
        ad_throttle_pause(throttle);
    }
    ad_throttle_end(throttle);
    b->total[b->passes] = seconds(begin, ad_clock_ns());
    b->work[b->passes] = work;
    b->busy[b->passes] = seconds(settled, throttle->settled_ns);
    return ADAPS_OK;
}

/* As the source does it: pictures from their bytes. */
static double feed(struct bench *b, struct ad_throttle *throttle)
{
    bool pictures = ad_picture_all(b->plan->graph);
    int64_t begin = ad_clock_ns();
    ad_throttle_begin(throttle);
    for (int i = 0; i < b->plan->graph->ninputs; i++)
        if (pictures)
            ad_engine_feed_bytes(b->engine, i, (const uint8_t *)b->ends);
        else
            ad_engine_feed(b->engine, i, b->ends);
    ad_throttle_end(throttle);
    return seconds(begin, ad_clock_ns());
}

static double fetch(struct bench *b, struct ad_throttle *throttle)
{
    int64_t begin = ad_clock_ns();
    ad_throttle_begin(throttle);
    for (int i = 0; i < b->plan->graph->noutputs; i++)
        ad_engine_fetch(b->engine, i, b->ends);
    ad_throttle_end(throttle);
    return seconds(begin, ad_clock_ns());
}

/* Pass number b->passes, with what comes before and after it. */
static enum adaps_status run_whole_pass(struct bench *b, struct ad_throttle *throttle,
                                        struct adaps_error *err)
{
    b->feed[b->passes] = feed(b, throttle);
    enum adaps_status status = run_pass(b, throttle, err);
    if (status == ADAPS_OK)
        b->fetch[b->passes++] = fetch(b, throttle);
    return status;
}

/* The first pass warms up. It counts only where it takes all the time that there is: a slow device
 * would otherwise exceed that three times. */
static enum adaps_status measure(struct bench *b, struct adaps_error *err)
{
    const struct ad_profile_options *o = b->options;
    int threads = o->threads > 0 ? o->threads : b->plan->cluster.devices[0].threads;
    struct ad_throttle throttle = {.fraction = o->speed, .wall = threads > 1, .cancel = o->cancel};
    enum adaps_status status = run_whole_pass(b, &throttle, err);
    if (status == ADAPS_OK && ad_clock_ns() < b->until_ns) {
        b->passes = 0;
        while (status == ADAPS_OK && b->passes < b->room &&
               (b->passes < 2 || ad_clock_ns() < b->until_ns)) {
            pause_between();
            status = run_whole_pass(b, &throttle, err);
        }
    }
    ad_throttle_fini(&throttle);
    return status;
}

/* --- summing up --- */

/* The lower quartile, as noise only adds. Sorts the values. */
static double typical(double *values, int n)
{
    ad_stats_sort(values, (size_t)n);
    return values[n / 4];
}

#define MEDIAN_PASSES 16

/* The median; of few passes the lower quartile: a machine that is slower for some seconds spoils
 * half of the passes of a large network. Sorts the values. */
static double middle(double *values, int n)
{
    ad_stats_sort(values, (size_t)n);
    return n < MEDIAN_PASSES ? values[n / 4] : values[n / 2];
}

#define FEW_PASSES 8

/* How much longer passes take because of the emulated speed. A pause that was too long shortens the
 * next: of few passes the sums count. */
static double stretch(const struct bench *b)
{
    double ratio[MAX_PASSES], total = 0, busy = 0;
    if (!(b->options->speed > 0 && b->options->speed < 1))
        return 1;
    for (int i = 0; i < b->passes; i++) {
        ratio[i] = b->total[i] / b->busy[i];
        total += b->total[i];
        busy += b->busy[i];
    }
    return b->passes < FEW_PASSES ? total / busy : ad_stats_median(ratio, (size_t)b->passes);
}

static enum adaps_status sum_up(struct bench *b, struct ad_profile_times *out,
                                struct adaps_error *err)
{
    double column[MAX_PASSES], factor = stretch(b);
    out->seconds = ad_calloc((size_t)b->ntasks, sizeof *out->seconds);
    if (!out->seconds)
        return ad_error_memory(err, "profile", (size_t)b->ntasks * sizeof *out->seconds);
    double sum = 0;
    for (int t = 0; t < b->ntasks; t++) {
        for (int i = 0; i < b->passes; i++)
            column[i] = (double)b->samples[(size_t)i * (size_t)b->ntasks + (size_t)t];
        out->seconds[t] = middle(column, b->passes);
        sum += out->seconds[t];
    }
    double pass = middle(b->work, b->passes);      /* which sorts them */
    for (int t = 0; t < b->ntasks && sum > 0; t++) /* such that they add up to a pass */
        out->seconds[t] *= factor * pass / sum;
    out->passes = b->passes;
    out->speed = 1 / factor;
    out->pass_s = factor * pass;
    out->spread = pass > 0 ? b->work[b->passes / 2] / b->work[b->passes / 4] - 1 : 0;
    out->feed_s = typical(b->feed, b->passes);
    out->fetch_s = typical(b->fetch, b->passes);
    return ADAPS_OK;
}

/* The emulation sleeps between tasks only: encodings are scaled. Without the time there are none.
 */
static enum adaps_status time_encodings(const struct ad_profile_options *options,
                                        struct ad_encoding_rates *out, struct adaps_error *err)
{
    double speed = options->speed > 0 && options->speed < 1 ? options->speed : 1;
    *out = (struct ad_encoding_rates){{0}, {0}};
    if (options->budget_ns < ENCODINGS_NS)
        return ADAPS_OK;
    enum adaps_status status = ad_encode_measure(out, err);
    for (int e = 0; e < AD_ENCODINGS && status == ADAPS_OK; e++) {
        out->encode[e] *= speed;
        out->decode[e] *= speed;
    }
    return status;
}

enum adaps_status ad_profile_run(const struct adaps_plan *tasks,
                                 const struct ad_profile_options *options,
                                 struct ad_profile_times *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = check_memory(tasks, options->memory, &out->bytes, err);
    if (status != ADAPS_OK)
        return status;
    struct bench *b = ad_calloc(1, sizeof *b);
    if (!b)
        return ad_error_memory(err, "profile", sizeof *b);
    b->plan = tasks;
    b->options = options;
    b->until_ns = ad_clock_ns() + options->budget_ns;
    status = prepare(b, err);
    if (status == ADAPS_OK)
        status = measure(b, err);
    if (status == ADAPS_OK)
        status = sum_up(b, out, err);
    if (status == ADAPS_OK)
        status = time_encodings(options, &out->encoding, err);
    ad_engine_free(b->engine);
    ad_free(b->numbers);
    ad_free(b->ends);
    ad_free(b->samples);
    ad_free(b);
    return status;
}

void ad_profile_times_fini(struct ad_profile_times *times)
{
    ad_free(times->seconds);
    memset(times, 0, sizeof *times);
}
