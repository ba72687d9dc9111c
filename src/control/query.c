/* What an agent says of itself. */
#include "control/remote.h"
#include "control/session.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Text from an untrusted agent; it goes into files and to terminals. */
static void copy_text(char *to, size_t size, const char *from)
{
    snprintf(to, size, "%s", from);
    for (; *to; to++)
        if ((unsigned char)*to < ' ' || *to == 0x7f)
            *to = '?';
}

static void copy_kernels(const Adaps__Wire__Kernels *from, struct ad_kernel_facts *to)
{
    memset(to, 0, sizeof *to);
    if (!from) /* an older agent */
        return;
    copy_text(to->processor, sizeof to->processor, from->processor);
    copy_text(to->instructions, sizeof to->instructions, from->instructions);
    copy_text(to->xnnpack, sizeof to->xnnpack, from->xnnpack);
    copy_text(to->xnnpack_kernels, sizeof to->xnnpack_kernels, from->xnnpack_kernels);
    copy_text(to->xnnpack_why, sizeof to->xnnpack_why, from->xnnpack_why);
    for (size_t i = 0; i < from->n_rows && i < AD_KERNEL_ROWS; i++) {
        const Adaps__Wire__Kernel *m = from->rows[i];
        struct ad_kernel_row *row = &to->rows[to->nrows++];
        copy_text(row->work, sizeof row->work, m->work);
        copy_text(row->kernels, sizeof row->kernels, m->kernels);
        copy_text(row->instructions, sizeof row->instructions, m->instructions);
        copy_text(row->why, sizeof row->why, m->why);
        row->floats = m->floats <= AD_KERNEL_FLOATS ? (int)m->floats : 0;
    }
}

void ad_remote_status(const Adaps__Wire__Welcome *welcome, struct ad_agent_status *out)
{
    copy_text(out->name, sizeof out->name, welcome->name);
    copy_text(out->version, sizeof out->version, welcome->version);
    copy_text(out->machine, sizeof out->machine, welcome->machine);
    out->cores = welcome->cores;
    out->threads = welcome->threads;
    out->speed = welcome->speed;
    out->load1 = welcome->load1;
    copy_text(out->cpu, sizeof out->cpu, welcome->cpu);
    out->frequency_hz = welcome->frequency_hz;
    out->temperature_c = welcome->temperature_c;
    out->memory_total = welcome->memory_total;
    out->memory_available = welcome->memory_available;
    out->cache_bytes = welcome->cache_bytes;
    out->cached_blobs = (int)welcome->cached_blobs;
    out->cached_plans = (int)welcome->cached_plans;
    out->busy = welcome->busy;
    out->inferences = welcome->inferences;
    out->uptime_ns = welcome->uptime_ns;
    copy_kernels(welcome->kernels, &out->kernels);
    out->tells = welcome->live != NULL;
    if (welcome->live)
        ad_live_read(welcome->live, &out->live);
}

/* What an agent says of its health, as far as it can be true. */
static void copy_health(const Adaps__Wire__Health *from, int64_t ahead_ns,
                        struct ad_agent_health *to)
{
    memset(to, 0, sizeof *to);
    if (!from)
        return;
    to->known = true;
    to->ahead_ns = ahead_ns;
    to->machine.power_known = from->throttled_known;
    to->machine.throttled = from->throttled & AD_THROTTLE_BITS;
    copy_text(to->machine.governor, sizeof to->machine.governor, from->governor);
    copy_text(to->machine.driver, sizeof to->machine.driver, from->driver);
    copy_text(to->machine.model, sizeof to->machine.model, from->model);
    if (from->quota_cores > 0 && from->quota_cores < 1e6)
        to->machine.quota_cores = from->quota_cores;
    to->machine.swap_known = from->swap_known;
    to->machine.swap_total = from->swap_total;
    to->machine.swap_used = from->swap_used;
    to->machine.swapped = from->swapped;
    to->machine.segments_known = from->segments_known;
    to->machine.segments = from->segments;
    to->machine.repeated = from->repeated_segments;
    copy_text(to->interface.name, sizeof to->interface.name, from->interface);
    to->interface.wireless = from->wireless;
    to->interface.mbit = from->interface_mbit < INT32_MAX ? (int)from->interface_mbit : 0;
    to->interface.half_duplex = from->half_duplex;
    to->interface.mtu = from->mtu < INT32_MAX ? (int)from->mtu : 0;
    to->cache_limit = from->cache_limit;
    to->cache_free_known = from->cache_free_known;
    to->cache_free = from->cache_free;
    copy_text(to->cache_dir, sizeof to->cache_dir, from->cache_dir);
    copy_text(to->cache_trouble, sizeof to->cache_trouble, from->cache_trouble);
}

/* How far its clock of the day is ahead: it read it about half a round trip before this side got
 * it. */
static int64_t clock_ahead(const Adaps__Wire__Health *health, int64_t welcomed_ns, int64_t rtt_ns)
{
    int64_t ahead = 0;
    if (health && (__builtin_sub_overflow(health->wall_ns, welcomed_ns, &ahead) ||
                   __builtin_add_overflow(ahead, rtt_ns / 2, &ahead)))
        ahead = INT64_MAX;
    return ahead;
}

/* Connects to the agent and asks it; *remote and *welcome are the caller's, also after a failure.
 */
static enum adaps_status ask(const struct ad_device *device,
                             const struct ad_session_options *options,
                             const struct ad_remote_options *wanted, struct ad_remote *remote,
                             Adaps__Wire__Welcome **welcome, int64_t *rtt_ns,
                             struct adaps_error *err)
{
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, ad_deadline_ns(options->deadline_s));
    enum adaps_status status = ad_remote_init(remote, 0, device, wanted, &deadline, err);
    if (status == ADAPS_OK)
        status = wanted->health /* what is wrong with this address is to be told */
                     ? ad_remote_hello(remote, &deadline, welcome, err)
                     : ad_remote_greet(remote, device, wanted, &deadline, welcome, err);
    if (status == ADAPS_OK)
        status = ad_remote_time(remote, &deadline, rtt_ns, err);
    return status;
}

static enum ad_agent_trouble trouble_of(const struct ad_remote *remote)
{
    if (remote->trouble != AD_TROUBLE_NONE)
        return remote->trouble;
    if (remote->protocol != 0 && remote->protocol != AD_FRAME_VERSION)
        return AD_TROUBLE_PROTOCOL;
    return remote->refused && !remote->up ? AD_TROUBLE_CLOSES : AD_TROUBLE_NONE;
}

enum adaps_status ad_agent_examine(const struct ad_device *device,
                                   const struct ad_session_options *options,
                                   struct ad_agent_status *out, struct ad_agent_health *health,
                                   enum ad_agent_trouble *trouble, int *protocol,
                                   struct adaps_error *err)
{
    struct ad_keys keys;
    struct ad_remote remote;
    Adaps__Wire__Welcome *welcome = NULL;
    void *context = NULL;
    memset(out, 0, sizeof *out);
    if (health)
        memset(health, 0, sizeof *health);
    *trouble = AD_TROUBLE_NONE;
    *protocol = AD_FRAME_VERSION;
    enum adaps_status status = ad_keys_find(options->key_file, &keys, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_remote_context(&context, err);
    if (status != ADAPS_OK) {
        ad_keys_forget(&keys);
        return status;
    }
    const struct ad_remote_options wanted = {.context = context, .keys = &keys, .health = health};
    status = ask(device, options, &wanted, &remote, &welcome, &out->rtt_ns, err);
    ad_keys_forget(&keys);
    if (status == ADAPS_OK) {
        ad_remote_status(welcome, out);
        if (health)
            copy_health(welcome->health,
                        clock_ahead(welcome->health, remote.welcomed_ns, out->rtt_ns), health);
    } else {
        *trouble = trouble_of(&remote);
        if (*trouble == AD_TROUBLE_PROTOCOL)
            *protocol = remote.protocol;
    }
    if (welcome)
        ad_protobuf_free(&welcome->base);
    ad_remote_fini(&remote);
    zmq_ctx_term(context);
    return status;
}

enum adaps_status ad_agent_query(const struct ad_device *device,
                                 const struct ad_session_options *options,
                                 struct ad_agent_status *out, struct adaps_error *err)
{
    enum ad_agent_trouble trouble;
    int protocol;
    return ad_agent_examine(device, options, out, NULL, &trouble, &protocol, err);
}
