/* What an agent does without a session: describe itself, take weights and plans into its cache. */
#include "base/clock.h"
#include "exec/agent/internal.h"
#include "exec/kernels/choice.h"
#include "base/machine.h"

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

static enum adaps_status hello(struct ad_agent *agent, struct ad_wire_message *message)
{
    struct ad_machine machine;
    struct ad_kernel_facts facts;
    struct kernels_message kernels;
    Adaps__Wire__Welcome welcome = ADAPS__WIRE__WELCOME__INIT;
    struct ad_cache_stats stats = ad_cache_count(&agent->cache);
    ad_machine_look(&machine);
    welcome.name = agent->name;
    welcome.version = ad_protobuf_borrow(adaps_version());
    welcome.machine = machine.kind;
    welcome.cores = machine.cores;
    welcome.threads = agent->options->threads;
    welcome.speed = agent->worker.speed;
    welcome.load1 = machine.load1;
    welcome.temperature_c = machine.temperature_c;
    welcome.cpu = machine.cpu;
    welcome.frequency_hz = machine.frequency_hz;
    welcome.memory_total = machine.memory_total;
    welcome.memory_available = machine.memory_available;
    welcome.cache_bytes = stats.bytes;
    welcome.cached_blobs = stats.blobs;
    welcome.cached_plans = stats.plans;
    welcome.busy = agent->session.open;
    welcome.inferences = agent->inferences;
    welcome.uptime_ns = ad_clock_ns() - agent->start_ns;
    ad_kernel_facts_find(ad_processor(), &facts);
    describe_kernels(&facts, &kernels);
    welcome.kernels = &kernels.all;
    ad_answer(agent->router, &message->route, &message->frame, AD_FRAME_WELCOME, &welcome.base,
              NULL, 0);
    return ADAPS_OK;
}

/* Fills indices (n_digests entries) with those that are not in the cache, and adds up what they
 * count there. */
static enum adaps_status find_missing(const struct ad_agent *agent, const Adaps__Wire__Have *have,
                                      uint32_t *indices, size_t *count, uint64_t *needed,
                                      uint64_t *missing, struct adaps_error *err)
{
    for (size_t i = 0; i < have->n_digests; i++) {
        struct ad_digest digest;
        if (!ad_wire_digest(have->digests[i], &digest))
            return ad_error_set(err, ADAPS_EINPUT, "digest %zu of the list has %zu bytes", i,
                                have->digests[i].len);
        bool absent = !ad_cache_has(&agent->cache, &digest, have->sizes[i]);
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

/* Room in the cache; if need be, by unloading the engine that is kept for the next session. */
static enum adaps_status make_room(struct ad_agent *agent, uint64_t needed, uint64_t more,
                                   struct adaps_error *err)
{
    bool tight;
    enum adaps_status status = ad_cache_make_room(&agent->cache, needed, more, &tight, err);
    if (status != ADAPS_OK || !tight)
        return status;
    if (!agent->session.open && ad_worker_idle(&agent->worker))
        ad_worker_unload(&agent->worker);
    return ad_cache_make_room(&agent->cache, needed, more, NULL, err);
}

static enum adaps_status have(struct ad_agent *agent, struct ad_wire_message *message,
                              struct adaps_error *err)
{
    ProtobufCMessage *body;
    Adaps__Wire__Missing missing = ADAPS__WIRE__MISSING__INIT;
    uint64_t needed = 0, lacking = 0;
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__have__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Have *list = (const Adaps__Wire__Have *)body;
    if (list->n_digests != list->n_sizes) {
        status = ad_error_set(err, ADAPS_EINPUT, "a list of %zu digests and %zu sizes",
                              list->n_digests, list->n_sizes);
        goto out;
    }
    missing.indices = ad_calloc(list->n_digests, sizeof *missing.indices);
    if (!missing.indices) {
        status = ad_error_memory(err, "list of blobs", list->n_digests * sizeof *missing.indices);
        goto out;
    }
    ad_cache_begin_push(&agent->cache);
    status = find_missing(agent, list, missing.indices, &missing.n_indices, &needed, &lacking, err);
    if (status == ADAPS_OK && lacking > 0)
        status = make_room(agent, needed, lacking, err);
    if (status == ADAPS_OK)
        ad_answer(agent->router, &message->route, &message->frame, AD_FRAME_MISSING, &missing.base,
                  NULL, 0);
out:
    ad_free(missing.indices);
    ad_protobuf_free(body);
    return status;
}

static enum adaps_status blob(struct ad_agent *agent, struct ad_wire_message *message,
                              struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_digest digest;
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__blob__descriptor, &body, err);
    if (status != ADAPS_OK)
        return status;
    const Adaps__Wire__Blob *piece = (const Adaps__Wire__Blob *)body;
    uint64_t owner =
        ad_frame_checksum(1, zmq_msg_data(&message->route), zmq_msg_size(&message->route));
    if (!ad_wire_digest(piece->digest, &digest))
        status =
            ad_error_set(err, ADAPS_EINPUT, "a blob's digest has %zu bytes", piece->digest.len);
    else
        status = ad_cache_put(&agent->cache, owner, &digest, piece->size, piece->offset,
                              zmq_msg_data(&message->raw), zmq_msg_size(&message->raw), err);
    ad_protobuf_free(body);
    if (status == ADAPS_OK)
        ad_answer(agent->router, &message->route, &message->frame, AD_FRAME_STORED, NULL, NULL, 0);
    return status;
}

static enum adaps_status keep_plan(struct ad_agent *agent, struct ad_wire_message *message,
                                   struct adaps_error *err)
{
    ProtobufCMessage *body;
    struct ad_digest digest, found;
    struct adaps_plan *checked = NULL;
    const void *data = zmq_msg_data(&message->raw);
    size_t size = zmq_msg_size(&message->raw);
    enum adaps_status status =
        ad_wire_message_body(message, &adaps__wire__plan__descriptor, &body, err);
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
        status = make_room(agent, 0, ad_cache_cost(size), err);
    if (status == ADAPS_OK)
        status = ad_cache_put_plan(&agent->cache, &digest, data, size, err);
    ad_protobuf_free(body);
    if (status == ADAPS_OK)
        ad_answer(agent->router, &message->route, &message->frame, AD_FRAME_PLANNED, NULL, NULL, 0);
    return status;
}

enum adaps_status ad_agent_store(struct ad_agent *agent, struct ad_wire_message *message,
                                 struct adaps_error *err)
{
    switch (message->frame.type) {
    case AD_FRAME_HELLO:
        return hello(agent, message);
    case AD_FRAME_HAVE:
        return have(agent, message, err);
    case AD_FRAME_BLOB:
        return blob(agent, message, err);
    case AD_FRAME_PLAN:
        return keep_plan(agent, message, err);
    default:
        return ad_error_set(err, ADAPS_EAGENT, "a %s message is no request",
                            ad_frame_type_name(message->frame.type));
    }
}
