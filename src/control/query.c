/* What an agent says of itself. */
#include "control/remote.h"
#include "control/session.h"

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
}

enum adaps_status ad_agent_query(const struct ad_device *device,
                                 const struct ad_session_options *options,
                                 struct ad_agent_status *out, struct adaps_error *err)
{
    struct ad_keys keys;
    struct ad_remote remote;
    Adaps__Wire__Welcome *welcome = NULL;
    struct ad_deadline deadline;
    ad_deadline_set(&deadline, ad_deadline_ns(options->deadline_s));
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_keys_find(options->key_file, &keys, err);
    if (status != ADAPS_OK)
        return status;
    void *context = NULL;
    status = ad_remote_context(&context, err);
    if (status != ADAPS_OK) {
        ad_keys_forget(&keys);
        return status;
    }
    const struct ad_remote_options wanted = {.context = context, .keys = &keys};
    status = ad_remote_init(&remote, 0, device, &wanted, &deadline, err);
    ad_keys_forget(&keys); /* the sockets have them */
    if (status == ADAPS_OK)
        status = ad_remote_hello(&remote, &deadline, &welcome, err);
    if (status == ADAPS_OK)
        status = ad_remote_time(&remote, &deadline, &out->rtt_ns, err);
    if (status != ADAPS_OK)
        goto out;
    ad_remote_status(welcome, out);
out:
    if (welcome)
        ad_protobuf_free(&welcome->base);
    ad_remote_fini(&remote);
    zmq_ctx_term(context);
    return status;
}
