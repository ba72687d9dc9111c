/* What an agent does without a session: describe itself, take weights and plans into its cache. The
 * cache's part of it is done in the thread of the errands, which alone uses it (but for
 * weights and plans that are loaded); this file has both sides. */
#include "base/clock.h"
#include "exec/agent/internal.h"
#include "exec/kernels/choice.h"
#include "base/machine.h"
#include "wire/live.h"

#include <string.h>

/* A WELCOME's account of the kernels; the texts are those of `facts`. */
struct kernels_message {
    Adaps__Wire__Kernels all;
    Adaps__Wire__Kernel rows[AD_KERNEL_ROWS], *list[AD_KERNEL_ROWS];
};

static void describe_kernels(struct ad_kernel_facts *facts, struct kernels_message *out)
{
    adaps__wire__kernels__init(&out->all);
    out->all.processor = facts->processor;
    out->all.instructions = facts->instructions;
    out->all.xnnpack = facts->xnnpack;
    out->all.xnnpack_kernels = facts->xnnpack_kernels;
    out->all.xnnpack_why = facts->xnnpack_why;
    out->all.rows = out->list;
    out->all.n_rows = (size_t)facts->nrows;
    for (int i = 0; i < facts->nrows; i++) {
        struct ad_kernel_row *row = &facts->rows[i];
        Adaps__Wire__Kernel *m = out->list[i] = &out->rows[i];
        adaps__wire__kernel__init(m);
        m->work = row->work;
        m->kernels = row->kernels;
        m->instructions = row->instructions;
        m->floats = (uint32_t)row->floats;
        m->why = row->why;
    }
}

/* --- in the thread of the errands --- */

/* Fills indices (n_digests entries) with those that are not in the cache, and adds up what they
 * count there. */
static enum adaps_status find_missing(const struct ad_cache *cache, const Adaps__Wire__Have *have,
                                      uint32_t *indices, size_t *count, uint64_t *needed,
                                      uint64_t *missing, struct adaps_error *err)
{
    for (size_t i = 0; i < have->n_digests; i++) {
        struct ad_digest digest;
        if (!ad_wire_digest(have->digests[i], &digest))
            return ad_error_set(err, ADAPS_EINPUT, "digest %zu of the list has %zu bytes", i,
                                have->digests[i].len);
        bool absent = !ad_cache_has(cache, &digest, have->sizes[i]);
        uint64_t cost = ad_cache_cost(have->sizes[i]);
        if (__builtin_add_overflow(*needed, cost, needed))
            return ad_error_set(err, ADAPS_EINPUT, "the sizes of the list overflow");
        if (absent) {
            *missing += cost;
            indices[(*count)++] = (uint32_t)i;
        }
    }
    return ADAPS_OK;
}

/* Room in the cache. Sets errand->tight when there is none until the engine is unloaded that is
 * kept for the next session. */
static enum adaps_status make_room(struct ad_cache *cache, struct ad_errand *errand,
                                   uint64_t needed, uint64_t more)
{
    bool tight;
    enum adaps_status status =
        ad_cache_make_room(cache, needed, more, errand->last_try ? NULL : &tight, &errand->err);
    errand->tight = status == ADAPS_OK && !errand->last_try && tight;
    return status;
}

static enum adaps_status have(struct ad_cache *cache, struct ad_errand *errand)
{
    ProtobufCMessage *body;
    struct adaps_error *err = &errand->err;
    uint64_t needed = 0, lacking = 0;
    enum adaps_status status =
        ad_wire_message_body(&errand->message, &adaps__wire__have__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Have *list = (const Adaps__Wire__Have *)body;
    if (list->n_digests != list->n_sizes) {
        status = ad_error_set(err, ADAPS_EINPUT, "a list of %zu digests and %zu sizes",
                              list->n_digests, list->n_sizes);
        goto out;
    }
    ad_free(errand->indices);
    errand->nindices = 0;
    errand->indices = ad_calloc(list->n_digests, sizeof *errand->indices);
    if (!errand->indices) {
        status = ad_error_memory(err, "list of blobs", list->n_digests * sizeof *errand->indices);
        goto out;
    }
    ad_cache_begin_push(cache);
    status = find_missing(cache, list, errand->indices, &errand->nindices, &needed, &lacking, err);
    if (status == ADAPS_OK && lacking > 0)
        status = make_room(cache, errand, needed, lacking);
out:
    ad_protobuf_free(body);
    return status;
}

static enum adaps_status blob(struct ad_cache *cache, struct ad_errand *errand)
{
    ProtobufCMessage *body;
    struct ad_digest digest;
    struct ad_wire_message *message = &errand->message;
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__blob__descriptor, &body, &errand->err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Blob *piece = (const Adaps__Wire__Blob *)body;
    uint64_t owner =
        ad_frame_checksum(1, zmq_msg_data(&message->route), zmq_msg_size(&message->route));
    if (!ad_wire_digest(piece->digest, &digest))
        status = ad_error_set(&errand->err, ADAPS_EINPUT, "a blob's digest has %zu bytes",
                              piece->digest.len);
    else
        status =
            ad_cache_put(cache, owner, &digest, piece->size, piece->offset,
                         zmq_msg_data(&message->raw), zmq_msg_size(&message->raw), &errand->err);
    ad_protobuf_free(body);
    return status;
}

static enum adaps_status keep_plan(struct ad_cache *cache, struct ad_errand *errand)
{
    ProtobufCMessage *body;
    struct ad_digest digest, found;
    struct adaps_plan *checked = NULL;
    struct adaps_error *err = &errand->err;
    const void *data = zmq_msg_data(&errand->message.raw);
    size_t size = zmq_msg_size(&errand->message.raw);
    enum adaps_status status =
        ad_wire_message_body(&errand->message, &adaps__wire__plan__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    found = ad_plan_digest(data, size);
    if (!ad_wire_digest(((const Adaps__Wire__Plan *)body)->digest, &digest) ||
        !ad_digest_equal(&digest, &found))
        status = ad_error_set(err, ADAPS_EINPUT, "the plan has another digest than was announced");
    if (status == ADAPS_OK)
        status = ad_plan_unpack(data, size, "the plan", &checked, err);
    adaps_plan_free(checked);
    if (status == ADAPS_OK)
        status = make_room(cache, errand, 0, ad_cache_cost(size));
    if (status == ADAPS_OK && !errand->tight)
        status = ad_cache_put_plan(cache, &digest, data, size, err);
    ad_protobuf_free(body);
    return status;
}

/* Whether a HELLO asks for the machine's health. */
static bool wants_health(struct ad_wire_message *message)
{
    ProtobufCMessage *body;
    if (zmq_msg_size(&message->body) == 0 ||
        ad_wire_message_body(message, &adaps__wire__hello__descriptor, &body, NULL) != ADAPS_OK)
        return false;
    bool health = ((const Adaps__Wire__Hello *)body)->health;
    ad_protobuf_free(body);
    return health;
}

/* Without memory it is not known. */
static struct ad_errand_health *look_at_health(const struct ad_agent *agent,
                                               const struct ad_wire_message *message)
{
    const char *root = agent->options->sysroot ? agent->options->sysroot : "";
    struct ad_errand_health *health = ad_calloc(1, sizeof *health);
    if (!health)
        return NULL;
    ad_health_look(root, &health->machine);
    ad_interface_look(root, message->fd, &health->interface);
    health->cache_free_known = ad_cache_free(&agent->cache, &health->cache_free);
    if (ad_cache_try(&agent->cache, &health->cache) == ADAPS_OK)
        health->cache.message[0] = '\0';
    return health;
}

void ad_agent_run_errand(void *self, struct ad_errand *errand)
{
    struct ad_agent *agent = self;
    switch (errand->message.frame.type) {
    case AD_FRAME_HAVE:
        errand->status = have(&agent->cache, errand);
        break;
    case AD_FRAME_BLOB:
        errand->status = blob(&agent->cache, errand);
        break;
    case AD_FRAME_PLAN:
        errand->status = keep_plan(&agent->cache, errand);
        errand->stats = ad_cache_count(&agent->cache);
        break;
    default: /* HELLO */
        errand->stats = ad_cache_count(&agent->cache);
        if (wants_health(&errand->message))
            errand->health = look_at_health(agent, &errand->message);
        errand->status = ADAPS_OK;
        break;
    }
}

/* --- in the control thread --- */

static void describe_health(const struct ad_agent *agent, struct ad_errand_health *from,
                            Adaps__Wire__Health *out)
{
    struct ad_health *machine = &from->machine;
    adaps__wire__health__init(out);
    out->wall_ns = ad_clock_read_ns(CLOCK_REALTIME);
    out->throttled_known = machine->power_known;
    out->throttled = machine->throttled;
    out->governor = machine->governor;
    out->driver = machine->driver;
    out->model = machine->model;
    out->quota_cores = machine->quota_cores;
    out->swap_known = machine->swap_known;
    out->swap_total = machine->swap_total;
    out->swap_used = machine->swap_used;
    out->swapped = machine->swapped;
    out->segments_known = machine->segments_known;
    out->segments = machine->segments;
    out->repeated_segments = machine->repeated;
    out->interface = from->interface.name;
    out->wireless = from->interface.wireless;
    out->interface_mbit = (uint32_t)from->interface.mbit;
    out->half_duplex = from->interface.half_duplex;
    out->mtu = (uint32_t)from->interface.mtu;
    out->cache_limit = agent->cache.limit;
    out->cache_free_known = from->cache_free_known;
    out->cache_free = from->cache_free;
    out->cache_dir = agent->cache.dir;
    out->cache_trouble = from->cache.message;
}

/* health: nullable. */
static void answer_hello(struct ad_agent *agent, struct ad_wire_message *message,
                         struct ad_errand_health *health)
{
    struct ad_machine machine;
    struct ad_kernel_facts facts;
    struct kernels_message kernels;
    Adaps__Wire__Health health_message;
    struct ad_live_seen seen;
    struct ad_live_message live;
    Adaps__Wire__Welcome welcome = ADAPS__WIRE__WELCOME__INIT;
    const struct ad_cache_stats *stats = &agent->cached;
    ad_machine_look_below(agent->options->sysroot ? agent->options->sysroot : "", &machine);
    welcome.name = agent->name;
    welcome.version = ad_protobuf_borrow(adaps_version());
    welcome.machine = machine.kind;
    welcome.cores = machine.cores;
    welcome.threads = agent->options->threads;
    welcome.speed = agent->worker.speeds.first;
    welcome.load1 = machine.load1;
    welcome.temperature_c = machine.temperature_c;
    welcome.cpu = machine.cpu;
    welcome.frequency_hz = machine.frequency_hz;
    welcome.memory_total = machine.memory_total;
    welcome.memory_available = machine.memory_available;
    welcome.cache_bytes = stats->bytes;
    welcome.cached_blobs = stats->blobs;
    welcome.cached_plans = stats->plans;
    welcome.busy = agent->session.open;
    welcome.inferences = agent->inferences;
    welcome.uptime_ns = ad_clock_ns() - agent->start_ns;
    ad_kernel_facts_find(ad_processor(), &facts);
    describe_kernels(&facts, &kernels);
    welcome.kernels = &kernels.all;
    if (health) {
        describe_health(agent, health, &health_message);
        welcome.health = &health_message;
    }
    ad_live_look(&agent->live, &seen);
    ad_live_describe(&seen, &live);
    welcome.live = &live.all;
    welcome.instance = agent->instance;
    ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_WELCOME, &welcome.base,
              NULL, 0);
}

static void take_count(struct ad_agent *agent, const struct ad_errand *errand)
{
    agent->cached = errand->stats;
    atomic_store(&agent->live.cache_bytes, errand->stats.bytes);
}

static void answer_errand(struct ad_agent *agent, struct ad_errand *errand)
{
    struct ad_wire_message *message = &errand->message;
    Adaps__Wire__Missing missing = ADAPS__WIRE__MISSING__INIT;
    if (errand->status != ADAPS_OK) {
        ad_answer_error(&agent->router, &message->route, &message->frame, &errand->err, -1);
        return;
    }
    switch (message->frame.type) {
    case AD_FRAME_HAVE:
        missing.indices = errand->indices;
        missing.n_indices = errand->nindices;
        ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_MISSING, &missing.base,
                  NULL, 0);
        break;
    case AD_FRAME_BLOB:
        ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_STORED, NULL, NULL, 0);
        break;
    case AD_FRAME_PLAN:
        take_count(agent, errand);
        ad_answer(&agent->router, &message->route, &message->frame, AD_FRAME_PLANNED, NULL, NULL,
                  0);
        break;
    default: /* HELLO */
        take_count(agent, errand);
        answer_hello(agent, message, errand->health);
        break;
    }
}

void ad_agent_errands_done(struct ad_agent *agent)
{
    struct ad_errand *errand;
    while ((errand = ad_errands_take(&agent->errands))) {
        if (errand->status == ADAPS_OK && errand->tight) {
            if (!agent->session.open && ad_worker_idle(&agent->worker))
                ad_worker_unload(&agent->worker);
            errand->last_try = true;
            ad_errands_post(&agent->errands, errand);
            continue;
        }
        answer_errand(agent, errand);
        ad_errand_free(errand);
    }
}

enum adaps_status ad_agent_store(struct ad_agent *agent, struct ad_wire_message *message,
                                 struct adaps_error *err)
{
    struct ad_errand *errand;
    switch (message->frame.type) {
    case AD_FRAME_HELLO:
        ad_agent_call_controller(agent);
        if (agent->errands.pending > 0) { /* with what was counted before */
            answer_hello(agent, message, NULL);
            return ADAPS_OK;
        }
        break;
    case AD_FRAME_HAVE:
    case AD_FRAME_BLOB:
    case AD_FRAME_PLAN:
        break;
    default:
        return ad_error_set(err, ADAPS_EAGENT, "a %s message is no request",
                            ad_frame_type_name(message->frame.type));
    }
    errand = ad_errand_new(message);
    if (!errand)
        return ad_error_memory(err, "request", sizeof *errand);
    ad_errands_post(&agent->errands, errand);
    return ADAPS_OK;
}
