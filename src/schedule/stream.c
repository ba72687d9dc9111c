/* Streams in their steady state. */
#include "schedule/stream.h"
#include "schedule/clocks.h"

#include <stdlib.h>
#include <string.h>

#define SPARE                                                                                      \
    2 /* inferences in flight beyond the latency divided by the interval, and those that           \
         the controller has given to agents beyond the plan's number */
#define WINDOW 16    /* inferences between two looks at the clock, at least */
#define WINDOWS 12   /* at most */
#define STEADY 0.001 /* windows that differ by less are steady */
#define LONGEST_NS                                                                                 \
    (INT64_MAX / 4096) /* of a load: beyond it the clocks of many inferences could overflow */

void ad_stream_fini(struct ad_stream *stream)
{
    for (int t = 1; stream->others && t < stream->nturns; t++)
        ad_schedule_fini(&stream->others[t - 1]);
    ad_free(stream->others);
    ad_free(stream->deal);
    *stream = (struct ad_stream){0};
}

int ad_stream_share(const struct ad_stream *stream, int turn)
{
    int count = stream->ndeal == 0;
    for (int i = 0; i < stream->ndeal; i++)
        count += stream->deal[i] == turn;
    return count;
}

int ad_stream_most(const struct ad_stream *stream, int turn)
{
    int n = stream->ndeal, most = 0;
    if (n == 0)
        return stream->frames;
    int whole = stream->frames / n, rest = stream->frames % n;
    for (int i = 0; i < n; i++) {
        int count = 0;
        for (int k = 0; k < rest; k++)
            count += stream->deal[(i + k) % n] == turn;
        most = count > most ? count : most;
    }
    return whole * ad_stream_share(stream, turn) + most;
}

int ad_stream_buffered(const struct ad_stream *stream, const struct ad_schedule *first, int turn,
                       int device)
{
    int most = ad_stream_most(stream, turn);
    int buffered = ad_stream_turn(stream, first, turn)->programs[device].buffered;
    return buffered > 0 && buffered < most ? buffered : most;
}

int ad_stream_most_buffered(const struct ad_stream *stream, const struct ad_schedule *first)
{
    int most = 0;
    for (int t = 0; t < stream->nturns; t++)
        for (int d = 0; d < first->ndevices; d++) {
            int n = ad_stream_turn(stream, first, t)->programs[d].nsteps > 0
                        ? ad_stream_buffered(stream, first, t, d)
                        : 0;
            most = n > most ? n : most;
        }
    return most;
}

void ad_schedule_buffer(struct ad_schedule *schedule, int n)
{
    for (int d = 0; d < schedule->ndevices; d++)
        schedule->programs[d].buffered = n;
}

int ad_stream_sharing(const struct ad_stream *stream, const struct ad_schedule *first)
{
    int most = 0;
    for (int t = 0; t < stream->nturns; t++) {
        const struct ad_schedule *turn = ad_stream_turn(stream, first, t);
        int computing = 0;
        for (int d = 0; d < turn->ndevices; d++)
            computing += turn->programs[d].ntasks > 0;
        most = computing > most ? computing : most;
    }
    return most;
}

int ad_program_tail(const struct ad_graph *graph, const struct ad_program *program, bool source)
{
    int tail = program->nsteps;
    while (source && tail > 0 && program->steps[tail - 1].kind == AD_STEP_RECV)
        tail--;
    if (tail == 0)
        return program->nsteps;
    for (int i = 0; i < graph->noutputs && tail < program->nsteps; i++) {
        int64_t received = 0;
        for (int k = tail; k < program->nsteps; k++)
            if (program->steps[k].value == graph->outputs[i])
                received += ad_region_elements(program->steps[k].region);
        if (received != ad_region_elements(ad_region_whole(&graph->values[graph->outputs[i]])))
            return program->nsteps; /* the source has a part of it from before */
    }
    return tail;
}

int ad_stream_tail(const struct ad_graph *graph, const struct ad_stream *stream,
                   const struct ad_schedule *first, int turn, int device, bool source)
{
    const struct ad_program *program = &ad_stream_turn(stream, first, turn)->programs[device];
    if (ad_stream_buffered(stream, first, turn, device) == ad_stream_most(stream, turn))
        return program->nsteps;
    return ad_program_tail(graph, program, source);
}

struct ad_program ad_program_head(const struct ad_program *program, int tail)
{
    struct ad_program head = *program;
    head.nsteps = tail;
    return head;
}

struct ad_program ad_program_rest(const struct ad_program *program, int tail)
{
    return (struct ad_program){.steps = program->steps + tail, .nsteps = program->nsteps - tail};
}

/* --- loads --- */

static void add(int64_t *sum, int64_t ns)
{
    *sum = ad_clocks_plus(*sum, ns);
}

int ad_stream_frames(int64_t latency_ns, int64_t interval_ns)
{
    int64_t whole = interval_ns > 0 ? latency_ns / interval_ns : AD_STREAM_FRAMES;
    return whole + SPARE < AD_STREAM_FRAMES ? (int)whole + SPARE : AD_STREAM_FRAMES;
}

static void add_step(struct ad_loads *loads, int device, const struct ad_timed_step *step)
{
    add(&loads->device[device], step->ns);
    add(&loads->device[device], step->overlapped_ns);
    if (step->tag == 0)
        add(&loads->computing[device], step->ns);
    if (step->tag <= 0)
        return;
    add(&loads->network[device], step->wire_ns);
    add(&loads->network[step->peer], step->wire_ns);
    add(&loads->up[device], step->wire_ns);
    add(&loads->down[step->peer], step->wire_ns);
    add(&loads->medium, step->wire_ns);
}

static void clear_loads(struct ad_loads *loads, const struct ad_cluster *cluster,
                        const struct ad_clocks *clocks)
{
    *loads = (struct ad_loads){.in_use = UINT64_C(1) << cluster->source};
    add(&loads->device[cluster->source], clocks->feed_ns);
    add(&loads->device[cluster->source], clocks->fetch_ns);
}

static void add_program(struct ad_loads *loads, int device, const struct ad_timed_program *timed)
{
    for (size_t i = 0; i < timed->count; i++)
        add_step(loads, device, &timed->list[i]);
    loads->in_use |= (uint64_t)(timed->count > 0) << device;
}

/* A medium is shared, or it is none. */
static void settle_medium(struct ad_loads *loads, const struct ad_cluster *cluster)
{
    if (!cluster->shared_medium) {
        loads->medium = 0;
        return;
    }
    memset(loads->up, 0, sizeof loads->up);
    memset(loads->down, 0, sizeof loads->down);
}

void ad_clocks_loads(const struct ad_clocks *clocks, const struct ad_cluster *cluster,
                     const struct ad_timed_program *timed, struct ad_loads *out)
{
    clear_loads(out, cluster, clocks);
    for (int d = 0; d < cluster->ndevices; d++)
        add_program(out, d, &timed[d]);
    settle_medium(out, cluster);
}

enum adaps_status ad_schedule_loads(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                    const struct ad_schedule *schedule, struct ad_loads *out,
                                    struct adaps_error *err)
{
    struct ad_clocks clocks;
    bool room = true;
    if (!ad_clocks_init(&clocks, graph, cluster, false))
        return ad_error_memory(err, "loads", (size_t)graph->nops);
    clear_loads(out, cluster, &clocks);
    for (int d = 0; d < schedule->ndevices && room; d++) {
        struct ad_timed_program timed;
        room = ad_clocks_time_program(&clocks, graph, cluster, d, &schedule->programs[d], &timed);
        add_program(out, d, &timed);
        ad_free(timed.list);
    }
    settle_medium(out, cluster);
    ad_clocks_fini(&clocks);
    return room ? ADAPS_OK : ad_error_memory(err, "loads", (size_t)graph->nops);
}

/* Of so many inferences. */
static void add_times(struct ad_loads *sum, const struct ad_loads *loads, int times)
{
    for (int i = 0; i < times; i++) {
        for (int d = 0; d < AD_MAX_DEVICES; d++) {
            add(&sum->device[d], loads->device[d]);
            add(&sum->up[d], loads->up[d]);
            add(&sum->down[d], loads->down[d]);
            add(&sum->computing[d], loads->computing[d]);
            add(&sum->network[d], loads->network[d]);
        }
        add(&sum->medium, loads->medium);
        sum->in_use |= loads->in_use;
    }
}

enum adaps_status ad_stream_loads(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                  const struct ad_schedule *first, const struct ad_stream *stream,
                                  struct ad_loads *out, struct adaps_error *err)
{
    struct ad_loads sum = {.medium = 0};
    int deals = stream->ndeal > 0 ? stream->ndeal : 1;
    for (int t = 0; t < stream->nturns; t++) {
        struct ad_loads loads;
        enum adaps_status status =
            ad_schedule_loads(graph, cluster, ad_stream_turn(stream, first, t), &loads, err);
        if (status != ADAPS_OK)
            return status;
        add_times(&sum, &loads, ad_stream_share(stream, t));
    }
    for (int d = 0; d < AD_MAX_DEVICES; d++) {
        out->device[d] = sum.device[d] / deals;
        out->up[d] = sum.up[d] / deals;
        out->down[d] = sum.down[d] / deals;
        out->computing[d] = sum.computing[d] / deals;
        out->network[d] = sum.network[d] / deals;
    }
    out->medium = sum.medium / deals;
    out->in_use = sum.in_use;
    return ADAPS_OK;
}

int64_t ad_loads_most(const struct ad_loads *loads)
{
    int64_t most = loads->medium;
    for (int d = 0; d < AD_MAX_DEVICES; d++) {
        most = loads->device[d] > most ? loads->device[d] : most;
        most = loads->up[d] > most ? loads->up[d] : most;
        most = loads->down[d] > most ? loads->down[d] : most;
    }
    return most;
}

/* --- simulation --- */

/* An inference on one device. */
struct part {
    int frame; /* -1: none */
    int turn;
    size_t at; /* the step that comes next */
    enum { PART_WAITS, PART_HAS_BUFFERS, PART_NEEDS_NONE } state;
    const struct ad_timed_program *program;
};

/* A turn's program on a device. */
struct place {
    int left;    /* inferences that it has buffers for, but for those that are there */
    size_t tail; /* the step from which on an inference needs none of them */
};

struct machine {
    int64_t clock;
    int begun, first;     /* inferences begun; the oldest that is not done */
    struct part *parts;   /* [frame % frames] */
    struct place *places; /* by turn */
};

struct stream_run {
    const struct ad_stream *stream;
    const struct ad_cluster *cluster;
    const struct ad_clocks *clocks;
    struct ad_timed_program *timed; /* [turn * ndevices + device] */
    size_t room;                    /* tags of a turn, 0 unused */
    int64_t *arrival;               /* [frame % places * room + tag]; -1: not sent yet */
    int64_t *begin, *end;           /* by inference, at the source */
    int nframes, places;            /* places: of inferences that some device has not done */
    int admitted;                   /* inferences that may begin */
    struct machine machines[AD_MAX_DEVICES];
    struct ad_ports ports;
    struct ad_stream_events *record; /* nullable: where steps are noted */
    size_t record_room;
    bool record_failed; /* no memory */
};

/* The controller gives the agents an inference when all of them have done the one so many before
 * it. */
static void admit(struct stream_run *r)
{
    int oldest = r->nframes;
    for (int d = 0; d < r->cluster->ndevices; d++)
        oldest = r->machines[d].first < oldest ? r->machines[d].first : oldest;
    for (; r->admitted < r->nframes && r->admitted < oldest + r->places; r->admitted++)
        memset(&r->arrival[(size_t)(r->admitted % r->places) * r->room], -1,
               r->room * sizeof *r->arrival);
}

/* Gives the oldest that wait for buffers those that are free. */
static void give_buffers(struct machine *m, int frames)
{
    for (int f = m->first; f < m->begun; f++) {
        struct part *p = &m->parts[f % frames];
        if (p->frame != f || p->state != PART_WAITS || m->places[p->turn].left == 0)
            continue;
        m->places[p->turn].left--;
        p->state = PART_HAS_BUFFERS;
    }
}

static void take_buffers_back(struct machine *m, struct part *p)
{
    m->places[p->turn].left += p->state == PART_HAS_BUFFERS;
    p->state = PART_NEEDS_NONE;
}

/* Begins what a device may begin. */
static void begin_parts(struct stream_run *r, int device)
{
    struct machine *m = &r->machines[device];
    int n = r->cluster->ndevices, frames = r->stream->frames;
    while (m->begun < r->admitted && m->begun < m->first + frames) {
        int turn = ad_stream_deal(r->stream, (uint32_t)m->begun);
        const struct ad_timed_program *program =
            &r->timed[(size_t)turn * (size_t)n + (size_t)device];
        m->parts[m->begun % frames] =
            (struct part){.frame = m->begun,
                          .turn = turn,
                          .state = program->count > 0 ? PART_WAITS : PART_NEEDS_NONE,
                          .program = program};
        m->begun++;
    }
    give_buffers(m, frames);
}

static int64_t *arrival_of(const struct stream_run *r, int frame, int32_t tag)
{
    return &r->arrival[(size_t)(frame % r->places) * r->room + (size_t)tag];
}

/* When a part can go on, if the device has nothing else to do: INT64_MAX: not known yet. Beyond the
 * last step an inference ends at once. */
static int64_t ready_ns(const struct stream_run *r, const struct machine *m, const struct part *p)
{
    if (p->state == PART_WAITS)
        return INT64_MAX;
    if (p->at == p->program->count)
        return m->clock;
    int32_t tag = p->program->list[p->at].tag;
    int64_t arrival = tag < 0 ? *arrival_of(r, p->frame, -tag) : 0;
    if (arrival < 0)
        return INT64_MAX;
    return arrival > m->clock ? arrival : m->clock;
}

/* The part that a device executes next: the oldest of those that can go on soonest. *event: when
 * that matters to others, which for a SEND is when it leaves. */
static struct part *choose(const struct stream_run *r, int device, int64_t *when, int64_t *event)
{
    const struct machine *m = &r->machines[device];
    struct part *best = NULL;
    *when = INT64_MAX;
    for (int f = m->first; f < m->begun; f++) {
        struct part *p = &m->parts[f % r->stream->frames];
        int64_t ready = p->frame == f ? ready_ns(r, m, p) : INT64_MAX;
        if (ready < *when) {
            best = p;
            *when = ready;
        }
    }
    *event = *when;
    if (best && best->at < best->program->count && best->program->list[best->at].tag > 0) {
        *event = ad_clocks_plus(*when, best->program->list[best->at].ns);
        if (!r->cluster->shared_medium && r->ports.up[device] > *event)
            *event = r->ports.up[device];
    }
    return best;
}

static void end_part(struct stream_run *r, int device, struct part *p)
{
    struct machine *m = &r->machines[device];
    int frames = r->stream->frames;
    if (device == r->cluster->source) {
        m->clock = ad_clocks_plus(m->clock, r->clocks->fetch_ns);
        r->end[p->frame] = m->clock;
    }
    take_buffers_back(m, p);
    p->frame = -1;
    while (m->first < m->begun && m->parts[m->first % frames].frame != m->first)
        m->first++;
    admit(r);
    for (int d = 0; d < r->cluster->ndevices; d++)
        begin_parts(r, d);
}

/* Notes the step before the one that comes next. */
static void note_event(struct stream_run *r, int device, const struct part *p, int64_t start,
                       int64_t end)
{
    struct ad_stream_events *record = r->record;
    if (!record || end <= start)
        return;
    if (!ad_grow(&record->items, record->count, &r->record_room, sizeof *record->items)) {
        r->record_failed = true;
        return;
    }
    record->items[record->count++] = (struct ad_stream_event){.frame = p->frame,
                                                              .turn = p->turn,
                                                              .device = device,
                                                              .step = (int)p->at - 1,
                                                              .start_ns = start,
                                                              .end_ns = end};
}

static void execute(struct stream_run *r, int device, struct part *p, int64_t when)
{
    struct machine *m = &r->machines[device];
    if (p->at == 0 && device == r->cluster->source && r->begin[p->frame] < 0) {
        r->begin[p->frame] = m->clock;
        m->clock = ad_clocks_plus(m->clock, r->clocks->feed_ns);
        when = m->clock;
    }
    if (p->at == p->program->count) {
        end_part(r, device, p);
        return;
    }
    const struct ad_timed_step *step = &p->program->list[p->at++];
    int64_t busy = ad_clocks_plus(m->clock, step->overlapped_ns);
    if (step->tag < 0) {
        int64_t start = busy > when ? busy : when;
        m->clock = ad_clocks_plus(start, step->ns);
        note_event(r, device, p, start, m->clock);
    } else if (step->tag == 0) {
        int64_t start = m->clock;
        m->clock = ad_clocks_plus(start, step->ns);
        note_event(r, device, p, start, m->clock);
    } else {
        size_t pair = (size_t)device * (size_t)r->cluster->ndevices + (size_t)step->peer;
        m->clock = ad_clocks_plus(m->clock, step->ns);
        struct ad_passage passage = ad_ports_pass(&r->ports, r->cluster->shared_medium, device,
                                                  step->peer, m->clock, step->wire_ns);
        note_event(r, device, p, passage.start, passage.end);
        *arrival_of(r, p->frame, step->tag) = ad_clocks_plus(passage.end, r->clocks->latency[pair]);
        m->clock = ad_clocks_plus(m->clock, step->overlapped_ns);
    }
    if (p->at == m->places[p->turn].tail) {
        take_buffers_back(m, p);
        give_buffers(m, r->stream->frames);
    }
}

/* Executes steps in the order of time until so many inferences are done at the source. */
static enum adaps_status run_until(struct stream_run *r, int frames, struct adaps_error *err)
{
    int n = r->cluster->ndevices, source = r->cluster->source;
    while (r->machines[source].first < frames) {
        struct part *next = NULL;
        int64_t soonest = INT64_MAX, start = 0, when, event;
        int device = 0;
        for (int d = 0; d < n; d++) {
            struct part *p = choose(r, d, &when, &event);
            if (p && event < soonest) {
                soonest = event;
                start = when;
                next = p;
                device = d;
            }
        }
        if (!next)
            return ad_error_set(err, ADAPS_EINTERNAL,
                                "stream: no device can go on with inference %d",
                                r->machines[source].first);
        execute(r, device, next, start);
    }
    return ADAPS_OK;
}

/* When the first so many answers were there: they come in the order of the inputs. */
static int64_t answered_ns(const struct stream_run *r, int frames)
{
    int64_t last = 0;
    for (int f = 0; f < frames; f++)
        last = r->end[f] > last ? r->end[f] : last;
    return last;
}

/* Runs window after window until two in a row take as long, or there are no more. */
static enum adaps_status run_stream(struct stream_run *r, int window, struct ad_stream *out,
                                    struct adaps_error *err)
{
    int done = 2 * r->stream->frames, windows = 0;
    int64_t before = 0, last = 0;
    admit(r);
    for (int d = 0; d < r->cluster->ndevices; d++)
        begin_parts(r, d);
    enum adaps_status status = run_until(r, done, err);
    int64_t start = answered_ns(r, done), end = start;
    for (; windows < WINDOWS && status == ADAPS_OK; windows++) {
        status = run_until(r, done + window, err);
        done += window;
        before = last;
        last = answered_ns(r, done) - end;
        end += last;
        if (windows > 0 && llabs(last - before) <= (int64_t)(STEADY * (double)last)) {
            windows = 1; /* only the last one counts */
            start = end - last;
            break;
        }
    }
    if (status != ADAPS_OK)
        return status;
    int64_t latency = 0;
    for (int f = done - window; f < done; f++)
        latency = ad_clocks_plus(latency, (r->end[f] - r->begin[f]) / window);
    out->interval_ns = (end - start) / ((int64_t)windows * window);
    out->latency_ns = latency;
    return ADAPS_OK;
}

/* What a device has buffers for. */
static bool find_places(struct machine *m, const struct ad_graph *graph, const struct stream_run *r,
                        const struct ad_schedule *first, int device)
{
    m->parts = ad_calloc((size_t)r->stream->frames, sizeof *m->parts);
    m->places = ad_calloc((size_t)r->stream->nturns, sizeof *m->places);
    for (int t = 0; m->places && t < r->stream->nturns; t++) {
        m->places[t].left = ad_stream_buffered(r->stream, first, t, device);
        m->places[t].tail = (size_t)ad_stream_tail(graph, r->stream, first, t, device,
                                                   device == r->cluster->source);
    }
    return m->parts && m->places;
}

static bool time_turns(struct stream_run *r, struct ad_clocks *clocks, const struct ad_graph *graph,
                       const struct ad_schedule *first)
{
    size_t n = (size_t)r->cluster->ndevices;
    bool room = true;
    for (int t = 0; t < r->stream->nturns; t++) {
        const struct ad_schedule *schedule = ad_stream_turn(r->stream, first, t);
        size_t ntags = 1;
        for (size_t d = 0; d < n && room; d++) {
            struct ad_timed_program *timed = &r->timed[(size_t)t * n + d];
            room = ad_clocks_time_program(clocks, graph, r->cluster, (int)d, &schedule->programs[d],
                                          timed);
            for (size_t i = 0; room && i < timed->count; i++)
                ntags += timed->list[i].tag > 0;
        }
        r->room = ntags > r->room ? ntags : r->room;
    }
    return room;
}

static int deals_of(const struct ad_stream *stream)
{
    return stream->ndeal > 0 ? stream->ndeal : 1;
}

/* Inferences between two looks at the clock: whole deals. */
static int window_of(const struct ad_stream *stream)
{
    int deals = deals_of(stream);
    return (WINDOW + deals - 1) / deals * deals;
}

static void end_run(struct stream_run *r, struct ad_clocks *clocks)
{
    size_t n = (size_t)r->cluster->ndevices;
    for (size_t i = 0; r->timed && i < (size_t)r->stream->nturns * n; i++)
        ad_free(r->timed[i].list);
    for (size_t d = 0; d < n; d++) {
        ad_free(r->machines[d].parts);
        ad_free(r->machines[d].places);
    }
    ad_free(r->timed);
    ad_free(r->begin);
    ad_free(r->end);
    ad_free(r->arrival);
    ad_clocks_fini(clocks);
}

/* A run of at most so many inferences more than it takes to be steady. On failure there is nothing
 * to end. */
static enum adaps_status begin_run(struct stream_run *r, struct ad_clocks *clocks,
                                   const struct ad_graph *graph, const struct ad_cluster *cluster,
                                   const struct ad_schedule *first, const struct ad_stream *stream,
                                   int more, struct adaps_error *err)
{
    size_t n = (size_t)cluster->ndevices;
    int most = 2 * stream->frames + WINDOWS * window_of(stream) + stream->frames + more;
    if (!ad_clocks_init(clocks, graph, cluster, false))
        return ad_error_memory(err, "stream", n);
    *r = (struct stream_run){.stream = stream,
                             .cluster = cluster,
                             .clocks = clocks,
                             .nframes = most,
                             .places = stream->frames + SPARE,
                             .timed = ad_calloc((size_t)stream->nturns * n, sizeof *r->timed),
                             .begin = ad_calloc((size_t)most, sizeof *r->begin),
                             .end = ad_calloc((size_t)most, sizeof *r->end)};
    bool room = r->timed && r->begin && r->end && time_turns(r, clocks, graph, first);
    if (room)
        r->arrival = ad_calloc((size_t)r->places * r->room, sizeof *r->arrival);
    room = room && r->arrival;
    for (size_t d = 0; d < n && room; d++)
        room = find_places(&r->machines[d], graph, r, first, (int)d);
    if (room) {
        memset(r->begin, -1, (size_t)r->nframes * sizeof *r->begin);
        return ADAPS_OK;
    }
    size_t bytes = (size_t)r->places * r->room;
    end_run(r, clocks);
    return ad_error_memory(err, "stream", bytes);
}

/* One inference after another: each takes what it takes alone. */
static enum adaps_status run_one(struct stream_run *r, struct ad_clocks *clocks,
                                 struct ad_stream *out, struct adaps_error *err)
{
    int64_t busy[AD_MAX_DEVICES];
    enum adaps_status status = ad_clocks_run(clocks, r->cluster, r->timed, r->room - 1, NULL,
                                             INT64_MAX, busy, &out->interval_ns, err);
    out->latency_ns = out->interval_ns;
    return status;
}

enum adaps_status ad_stream_simulate(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                     const struct ad_schedule *first, struct ad_stream *stream,
                                     struct adaps_error *err)
{
    struct ad_clocks clocks;
    struct stream_run r;
    struct ad_loads loads;
    enum adaps_status status = ad_stream_loads(graph, cluster, first, stream, &loads, err);
    if (status != ADAPS_OK)
        return status;
    int64_t load = ad_loads_most(&loads);
    if (load > LONGEST_NS) {
        stream->interval_ns = stream->latency_ns = load;
        return ADAPS_OK;
    }
    status = begin_run(&r, &clocks, graph, cluster, first, stream, 0, err);
    if (status != ADAPS_OK)
        return status;
    status = stream->frames == 1 && stream->nturns == 1
                 ? run_one(&r, &clocks, stream, err)
                 : run_stream(&r, window_of(stream), stream, err);
    end_run(&r, &clocks);
    if (load > stream->interval_ns)
        stream->interval_ns = load; /* the last windows drained what had piled up */
    return status;
}

static int compare_events(const void *a, const void *b)
{
    const struct ad_stream_event *x = a, *y = b;
    if (x->start_ns != y->start_ns)
        return x->start_ns < y->start_ns ? -1 : 1;
    if (x->device != y->device)
        return x->device < y->device ? -1 : 1;
    return (x->step > y->step) - (x->step < y->step);
}

/* Goes on with a run that is steady. What begins before the time that is wanted and ends in it has
 * begun while that many inferences before were in flight. */
static enum adaps_status record_run(struct stream_run *r, int intervals,
                                    struct ad_stream_events *out, struct adaps_error *err)
{
    int frames = r->stream->frames, done = r->machines[r->cluster->source].first + frames;
    r->record = out;
    enum adaps_status status = run_until(r, done, err);
    out->start_ns = status == ADAPS_OK ? answered_ns(r, done) : 0;
    out->end_ns = ad_clocks_plus(out->start_ns, intervals * r->stream->interval_ns);
    if (status == ADAPS_OK)
        status = run_until(r, done + intervals + frames, err);
    if (status == ADAPS_OK && r->record_failed)
        status = ad_error_memory(err, "stream", out->count * sizeof *out->items);
    size_t kept = 0;
    for (size_t i = 0; i < out->count; i++)
        if (out->items[i].end_ns > out->start_ns && out->items[i].start_ns < out->end_ns)
            out->items[kept++] = out->items[i];
    out->count = kept;
    if (kept > 0)
        qsort(out->items, kept, sizeof *out->items, compare_events);
    return status;
}

enum adaps_status ad_stream_record(const struct ad_graph *graph, const struct ad_cluster *cluster,
                                   const struct ad_schedule *first, const struct ad_stream *stream,
                                   int intervals, struct ad_stream_events *out,
                                   struct adaps_error *err)
{
    struct ad_clocks clocks;
    struct ad_stream steady = *stream;
    struct stream_run r;
    *out = (struct ad_stream_events){.count = 0};
    enum adaps_status status =
        begin_run(&r, &clocks, graph, cluster, first, stream, intervals + 3 * stream->frames, err);
    if (status != ADAPS_OK)
        return status;
    status = run_stream(&r, window_of(stream), &steady, err);
    if (status == ADAPS_OK)
        status = record_run(&r, intervals, out, err);
    end_run(&r, &clocks);
    if (status != ADAPS_OK) {
        ad_free(out->items);
        *out = (struct ad_stream_events){.count = 0};
    }
    return status;
}

/* --- plans from strangers --- */

enum adaps_status ad_stream_verify(const struct ad_graph *graph, const struct ad_stream *stream,
                                   int ndevices, int source, struct adaps_error *err)
{
    if (stream->frames < 1 || stream->frames > AD_STREAM_FRAMES)
        return ad_error_set(err, ADAPS_EINPUT, "%d inferences in flight: 1 to %d are possible",
                            stream->frames, AD_STREAM_FRAMES);
    if (stream->ndeal > AD_STREAM_DEALS || (stream->ndeal == 0 && stream->nturns > 1))
        return ad_error_set(err, ADAPS_EINPUT, "a deal of %d inferences to %d turns: at most %d",
                            stream->ndeal, stream->nturns, AD_STREAM_DEALS);
    for (int i = 0; i < stream->ndeal; i++)
        if (stream->deal[i] < 0 || stream->deal[i] >= stream->nturns)
            return ad_error_set(err, ADAPS_EINPUT, "inference %d of a deal takes turn %d of %d", i,
                                stream->deal[i], stream->nturns);
    for (int t = 1; t < stream->nturns; t++) {
        if (stream->others[t - 1].ndevices != ndevices)
            return ad_error_set(err, ADAPS_EINPUT, "turn %d has %d programs for %d devices", t,
                                stream->others[t - 1].ndevices, ndevices);
        enum adaps_status status = ad_schedule_verify(graph, &stream->others[t - 1], source, err);
        if (status != ADAPS_OK)
            return ad_error_prefix(err, "turn %d: ", t);
    }
    return ADAPS_OK;
}
