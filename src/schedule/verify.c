/* Trusts nothing in the programs: every field is checked before it is used as an index or a size.
 */
#include "fusion/rules.h"
#include "schedule/internal.h"

#include <stdio.h>
#include <string.h>

#define MAX_STEPS 1000000 /* of all programs together, tasks likewise */
#define MAX_PIECES 256    /* boxes that make up what a device has of one value */

/* A message as its SEND and RECV describe it. */
struct message {
    int from, send_step, to, recv_step; /* steps -1 until seen */
    uint32_t before;                    /* tag sent before it between the same devices, or 0 */
};

struct check {
    const struct ad_graph *graph;
    const struct ad_schedule *schedule;
    int source;
    bool u8; /* messages may hold levels */
    size_t nmessages;
    struct message *messages;            /* by tag - 1 */
    bool *sent;                          /* by tag - 1: executed */
    uint32_t *last_sent, *last_received; /* tags by [from * n + to] */
    struct ad_region_set *have;          /* [device * nvalues + value] */
    struct adaps_error *err;
};

const char *ad_step_kind_name(enum ad_step_kind kind)
{
    switch (kind) {
    case AD_STEP_COMPUTE:
        return "COMPUTE";
    case AD_STEP_SEND:
        return "SEND";
    case AD_STEP_RECV:
        return "RECV";
    }
    return "unknown kind";
}

/* "device 1, step 7 (RECV): " and the rule. */
static enum adaps_status refuse(struct check *c, int device, int step, const char *rule, ...)
    AD_PRINTF(4, 5);
static enum adaps_status refuse(struct check *c, int device, int step, const char *rule, ...)
{
    char text[512];
    va_list ap;
    va_start(ap, rule);
    vsnprintf(text, sizeof text, rule, ap);
    va_end(ap);
    enum ad_step_kind kind = c->schedule->programs[device].steps[step].kind;
    return ad_error_set(c->err, ADAPS_EINPUT, "device %d, step %d (%s): %s", device, step,
                        ad_step_kind_name(kind), text);
}

static struct ad_region_set *have(struct check *c, int device, int value)
{
    return &c->have[(size_t)device * (size_t)c->graph->nvalues + (size_t)value];
}

static enum adaps_status add(struct check *c, int device, int step, int value,
                             struct ad_region region)
{
    struct ad_region_set *set = have(c, device, value);
    if (!ad_region_set_add(set, region))
        return ad_error_memory(c->err, "checking a plan", set->count);
    if (set->count > MAX_PIECES)
        return refuse(c, device, step, "%s lies there in more than %d pieces",
                      c->graph->values[value].name, MAX_PIECES);
    return ADAPS_OK;
}

static enum adaps_status check_compute(struct check *c, int device, int step, int *next_task)
{
    const struct ad_program *p = &c->schedule->programs[device];
    const struct ad_step *s = &p->steps[step];
    if (s->first_task != *next_task || s->ntasks < 1 || s->ntasks > p->ntasks - *next_task)
        return refuse(c, device, step, "tasks %d + %d, but task %d of %d comes next", s->first_task,
                      s->ntasks, *next_task, p->ntasks);
    *next_task += s->ntasks;
    for (int t = s->first_task; t < s->first_task + s->ntasks; t++) {
        const struct ad_task *task = &p->tasks[t];
        char text[96];
        if (task->op < 0 || task->op >= c->graph->nops)
            return refuse(c, device, step, "task %d: op %d; there are %d", t, task->op,
                          c->graph->nops);
        const struct ad_op *op = &c->graph->ops[task->op];
        if (ad_region_empty(task->region) || !ad_region_allowed(c->graph, op, task->region))
            return refuse(c, device, step, "task %d: %s may not be computed on %s", t, op->name,
                          ad_region_format(task->region,
                                           ad_region_whole(&c->graph->values[op->output]), text,
                                           sizeof text));
    }
    return ADAPS_OK;
}

static enum adaps_status check_message(struct check *c, int device, int step)
{
    const struct ad_step *s = &c->schedule->programs[device].steps[step];
    int n = c->schedule->ndevices;
    bool send = s->kind == AD_STEP_SEND;
    char text[96];
    if (s->peer < 0 || s->peer >= n || s->peer == device)
        return refuse(c, device, step, "peer %d; another device of 0 to %d is wanted", s->peer,
                      n - 1);
    if (s->value < 0 || s->value >= c->graph->nvalues || ad_value_constant(c->graph, s->value))
        return refuse(c, device, step, "value %d; a computed or fed one of 0 to %d is wanted",
                      s->value, c->graph->nvalues - 1);
    const struct ad_value *value = &c->graph->values[s->value];
    struct ad_region whole = ad_region_whole(value);
    if (ad_region_empty(s->region) || !ad_region_contains(whole, s->region) ||
        (!ad_value_splits(value) && !ad_region_equal(whole, s->region)))
        return refuse(c, device, step, "%s of %s is not a part of it that can be sent",
                      ad_region_format(s->region, whole, text, sizeof text), value->name);
    if ((unsigned)s->encoding >= AD_ENCODINGS ||
        (s->encoding == AD_ENCODING_U8 && !(c->u8 && ad_picture_fit(c->graph, s->value))) ||
        (ad_encoding_lossy(s->encoding) && !ad_value_is_float(value)) ||
        (s->encoding != AD_ENCODING_F32 && ad_value_is_quantised(value)))
        return refuse(c, device, step, "%s cannot travel in encoding %u", value->name,
                      (unsigned)s->encoding);
    if (s->tag < 1 || s->tag > c->nmessages)
        return refuse(c, device, step, "tag %u; 1 to %zu are wanted", s->tag, c->nmessages);
    struct message *m = &c->messages[s->tag - 1];
    if ((send ? m->send_step : m->recv_step) >= 0)
        return refuse(c, device, step, "tag %u was used before", s->tag);
    *(send ? &m->from : &m->to) = device;
    *(send ? &m->send_step : &m->recv_step) = step;
    return ADAPS_OK;
}

/* Every field on its own, and the table of messages. */
static enum adaps_status check_fields(struct check *c)
{
    for (int d = 0; d < c->schedule->ndevices; d++) {
        const struct ad_program *p = &c->schedule->programs[d];
        int next_task = 0;
        for (int i = 0; i < p->nsteps; i++) {
            enum adaps_status status;
            switch (p->steps[i].kind) {
            case AD_STEP_COMPUTE:
                status = check_compute(c, d, i, &next_task);
                break;
            case AD_STEP_SEND:
            case AD_STEP_RECV:
                status = check_message(c, d, i);
                break;
            default:
                status = refuse(c, d, i, "kind %u", (unsigned)p->steps[i].kind);
            }
            if (status != ADAPS_OK)
                return status;
        }
        if (next_task != p->ntasks)
            return ad_error_set(c->err, ADAPS_EINPUT, "device %d: no step executes task %d of %d",
                                d, next_task, p->ntasks);
    }
    return ADAPS_OK;
}

/* SEND and RECV of a tag name each other and the same region. No tag is used twice on a side and
 * there are as many as the longer side has steps, so every tag has at least one of both. */
static enum adaps_status check_pairs(struct check *c)
{
    for (size_t i = 0; i < c->nmessages; i++) {
        const struct message *m = &c->messages[i];
        if (m->send_step < 0)
            return refuse(c, m->to, m->recv_step, "no SEND has the tag %zu", i + 1);
        const struct ad_step *send = &c->schedule->programs[m->from].steps[m->send_step];
        if (m->recv_step < 0)
            return refuse(c, m->from, m->send_step, "no RECV has the tag %zu", i + 1);
        const struct ad_step *recv = &c->schedule->programs[m->to].steps[m->recv_step];
        if (send->peer != m->to || recv->peer != m->from)
            return refuse(c, m->from, m->send_step,
                          "goes to device %d, but tag %zu is received on device %d from %d",
                          send->peer, i + 1, m->to, recv->peer);
        if (send->value != recv->value || !ad_region_equal(send->region, recv->region) ||
            send->encoding != recv->encoding)
            return refuse(c, m->from, m->send_step,
                          "tag %zu sends another region, value or encoding than it is received as",
                          i + 1);
    }
    return ADAPS_OK;
}

static enum adaps_status execute_tasks(struct check *c, int device, int step)
{
    const struct ad_program *p = &c->schedule->programs[device];
    const struct ad_step *s = &p->steps[step];
    for (int t = s->first_task; t < s->first_task + s->ntasks; t++) {
        const struct ad_op *op = &c->graph->ops[p->tasks[t].op];
        for (int k = 0; k < op->ninputs; k++) {
            struct ad_region need = ad_need(c->graph, op, k, p->tasks[t].region);
            if (!ad_value_constant(c->graph, op->inputs[k]) &&
                !ad_region_set_covers(have(c, device, op->inputs[k]), need)) {
                char text[96];
                const struct ad_value *value = &c->graph->values[op->inputs[k]];
                return refuse(c, device, step, "task %d: %s reads %s of %s, which is not all there",
                              t, op->name,
                              ad_region_format(need, ad_region_whole(value), text, sizeof text),
                              value->name);
            }
        }
        enum adaps_status status = add(c, device, step, op->output, p->tasks[t].region);
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

/* Executes one step; *blocked when it is a RECV whose SEND has not been executed. */
static enum adaps_status execute(struct check *c, int device, int step, bool *blocked)
{
    const struct ad_step *s = &c->schedule->programs[device].steps[step];
    size_t n = (size_t)c->schedule->ndevices;
    *blocked = false;
    if (s->kind == AD_STEP_COMPUTE)
        return execute_tasks(c, device, step);
    if (s->kind == AD_STEP_SEND) {
        if (!ad_region_set_covers(have(c, device, s->value), s->region))
            return refuse(c, device, step, "sends of %s what is not all there",
                          c->graph->values[s->value].name);
        c->sent[s->tag - 1] = true;
        /* Chain the messages of a pair: each SEND remembers the one before it. */
        uint32_t *last = &c->last_sent[(size_t)device * n + (size_t)s->peer];
        c->messages[s->tag - 1].before = *last;
        *last = s->tag;
        return ADAPS_OK;
    }
    if (!c->sent[s->tag - 1]) {
        *blocked = true;
        return ADAPS_OK;
    }
    uint32_t *last = &c->last_received[(size_t)s->peer * n + (size_t)device];
    if (c->messages[s->tag - 1].before != *last)
        return refuse(c, device, step,
                      "tag %u is received in another order than device %d sends it", s->tag,
                      s->peer);
    *last = s->tag;
    return add(c, device, step, s->value, s->region);
}

/* Executes all programs side by side, each as far as it can go. */
static enum adaps_status execute_all(struct check *c, int *at)
{
    int n = c->schedule->ndevices;
    bool moved = true;
    while (moved) {
        moved = false;
        for (int d = 0; d < n; d++)
            for (; at[d] < c->schedule->programs[d].nsteps; at[d]++) {
                bool blocked;
                enum adaps_status status = execute(c, d, at[d], &blocked);
                if (status != ADAPS_OK)
                    return status;
                if (blocked)
                    break;
                moved = true;
            }
    }
    for (int d = 0; d < n; d++)
        if (at[d] < c->schedule->programs[d].nsteps)
            return refuse(c, d, at[d], "waits for ever: a cyclic wait");
    for (int i = 0; i < c->graph->noutputs; i++) {
        int v = c->graph->outputs[i];
        if (!ad_value_constant(c->graph, v) &&
            !ad_region_set_covers(have(c, c->source, v), ad_region_whole(&c->graph->values[v])))
            return ad_error_set(c->err, ADAPS_EINPUT,
                                "device %d, the source: output %s is not all there at the end",
                                c->source, c->graph->values[v].name);
    }
    return ADAPS_OK;
}

/* Counts that must hold before anything is allocated. */
static enum adaps_status check_counts(struct check *c)
{
    const struct ad_schedule *s = c->schedule;
    int64_t steps = 0, tasks = 0;
    size_t sends = 0, recvs = 0;
    if (s->ndevices < 1 || s->ndevices > AD_MAX_DEVICES || c->source < 0 ||
        c->source >= s->ndevices)
        return ad_error_set(c->err, ADAPS_EINPUT, "%d devices, source %d; 1 to %d are possible",
                            s->ndevices, c->source, AD_MAX_DEVICES);
    for (int d = 0; d < s->ndevices; d++) {
        const struct ad_program *p = &s->programs[d];
        if (p->nsteps < 0 || p->ntasks < 0)
            return ad_error_set(c->err, ADAPS_EINPUT, "device %d: %d steps, %d tasks", d, p->nsteps,
                                p->ntasks);
        steps += p->nsteps;
        tasks += p->ntasks;
        if (steps > MAX_STEPS || tasks > MAX_STEPS)
            return ad_error_set(c->err, ADAPS_EINPUT, "more than %d steps or tasks", MAX_STEPS);
        for (int i = 0; i < p->nsteps; i++) {
            sends += p->steps[i].kind == AD_STEP_SEND;
            recvs += p->steps[i].kind == AD_STEP_RECV;
        }
    }
    c->nmessages = sends > recvs ? sends : recvs;
    return ADAPS_OK;
}

enum adaps_status ad_schedule_verify(const struct ad_graph *graph,
                                     const struct ad_schedule *schedule, int source,
                                     struct adaps_error *err)
{
    struct check c = {.graph = graph,
                      .schedule = schedule,
                      .source = source,
                      .u8 = ad_picture_any(graph),
                      .err = err};
    enum adaps_status status = check_counts(&c);
    if (status != ADAPS_OK)
        return status;
    size_t n = (size_t)schedule->ndevices, nhave = n * (size_t)graph->nvalues;
    int at[AD_MAX_DEVICES] = {0};
    c.messages = ad_calloc(c.nmessages, sizeof *c.messages);
    c.sent = ad_calloc(c.nmessages, sizeof *c.sent);
    c.last_sent = ad_calloc(n * n, sizeof *c.last_sent);
    c.last_received = ad_calloc(n * n, sizeof *c.last_received);
    c.have = ad_calloc(nhave, sizeof *c.have);
    if (!c.messages || !c.sent || !c.last_sent || !c.last_received || !c.have) {
        status = ad_error_memory(err, "checking a plan", nhave * sizeof *c.have);
        goto out;
    }
    for (size_t i = 0; i < c.nmessages; i++)
        c.messages[i].send_step = c.messages[i].recv_step = -1;
    status = check_fields(&c);
    if (status == ADAPS_OK)
        status = check_pairs(&c);
    for (int i = 0; i < graph->ninputs && status == ADAPS_OK; i++)
        if (!ad_region_set_add(have(&c, source, graph->inputs[i]),
                               ad_region_whole(&graph->values[graph->inputs[i]])))
            status = ad_error_memory(err, "checking a plan", nhave);
    if (status == ADAPS_OK)
        status = execute_all(&c, at);
out:
    for (size_t i = 0; c.have && i < nhave; i++)
        ad_region_set_fini(&c.have[i]);
    ad_free(c.have);
    ad_free(c.messages);
    ad_free(c.sent);
    ad_free(c.last_sent);
    ad_free(c.last_received);
    return status;
}
