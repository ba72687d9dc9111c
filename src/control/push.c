/* Plans and weights to the agents: only what they lack, one agent after the other (agents that
 * share a cache then get every blob once). */
#include "base/deadline.h"
#include "control/remote.h"
#include "control/session.h"

#include <string.h>

/* Blobs travel in pieces, so that no side ever holds one in its queues; a few are under way. */
#define PIECE_BYTES ((size_t)256 << 10)
#define PIECES_UNDER_WAY 4

/* So long nothing may move at an agent that only spares give work to: it need not be there. */
#define HELPER_NS ((int64_t)2 * 1000000000)

#define INDEX_BYTES ((size_t)6) /* more than what an index of MISSING takes */

struct push {
    const struct adaps_plan *plan;
    const struct ad_session_options *options;
    const struct ad_weight_source *weights;
    struct ad_deadline deadline; /* begins anew whenever something has moved */
    void *context;
    struct ad_keys keys;
    void *plan_bytes;
    size_t plan_size;
    uint64_t done, total;     /* progress: bytes needed by all devices, already there or sent */
    struct ad_slices *needed; /* by device: its own, then those that only spares need */
};

static void progress(struct push *push, uint64_t more)
{
    push->done += more;
    if (push->options->progress)
        push->options->progress(push->options->progress_self, "push", push->done, push->total);
}

/* Waits for an answer, as long as something moves. */
static enum adaps_status await(struct push *push, struct ad_remote *remote, int type,
                               struct adaps_error *err)
{
    ad_deadline_restart(&push->deadline);
    return ad_remote_await(remote, type, &push->deadline, AD_WAIT_MOVING, err);
}

/* Each of the slices can be missing once: what an agent asks for is at most the whole. */
static enum adaps_status check_missing(const Adaps__Wire__Missing *missing, size_t count,
                                       struct adaps_error *err)
{
    bool *asked = ad_calloc(count + 1, sizeof *asked);
    enum adaps_status status = ADAPS_OK;
    if (!asked)
        return ad_error_memory(err, "list of blobs", count);
    for (size_t i = 0; i < missing->n_indices && status == ADAPS_OK; i++) {
        uint32_t index = missing->indices[i];
        if (index >= count)
            status = ad_error_set(err, ADAPS_EAGENT, "it lacks blob %u of %zu", index, count);
        else if (asked[index])
            status = ad_error_set(err, ADAPS_EAGENT, "it lacks blob %u twice", index);
        else
            asked[index] = true;
    }
    ad_free(asked);
    return status;
}

/* Asks which slices the agent lacks; *body is its MISSING, the caller's. */
static enum adaps_status ask_missing(struct push *push, struct ad_remote *remote,
                                     const struct ad_slices *slices, Adaps__Wire__Missing **out,
                                     struct adaps_error *err)
{
    Adaps__Wire__Have have = ADAPS__WIRE__HAVE__INIT;
    size_t count = (size_t)slices->count;
    ProtobufCMessage *body;
    enum adaps_status status = ADAPS_OK;
    have.digests = ad_calloc(count, sizeof *have.digests);
    have.sizes = ad_calloc(count, sizeof *have.sizes);
    if (!have.digests || !have.sizes) {
        status = ad_error_memory(err, "list of blobs", count * sizeof *have.digests);
        goto out;
    }
    have.n_digests = have.n_sizes = count;
    for (size_t i = 0; i < count; i++) {
        have.digests[i].data = slices->items[i].digest.bytes;
        have.digests[i].len = AD_DIGEST_BYTES;
        have.sizes[i] = ad_slice_bytes(push->plan, &slices->items[i]);
    }
    status = ad_remote_send(remote, AD_FRAME_HAVE, 0, &have.base, NULL, 0, err);
    if (status == ADAPS_OK)
        status = await(push, remote, AD_FRAME_MISSING, err);
    if (status != ADAPS_OK)
        goto out;
    status = ad_wire_message_body(&remote->message, &adaps__wire__missing__descriptor, &body, err);
    if (status != ADAPS_OK) {
        ad_remote_blame(remote, err);
        goto out;
    }
    *out = (Adaps__Wire__Missing *)body;
    status = check_missing(*out, count, err);
    if (status != ADAPS_OK) {
        ad_remote_blame(remote, err);
        ad_protobuf_free(body);
    }
out:
    ad_free(have.digests);
    ad_free(have.sizes);
    return status;
}

/* One blob in pieces. */
static enum adaps_status send_pieces(struct push *push, struct ad_remote *remote,
                                     const struct ad_slice *slice, struct ad_blob *data,
                                     uint8_t *piece, struct adaps_error *err)
{
    size_t size = (size_t)ad_slice_bytes(push->plan, slice);
    struct ad_digest digest = slice->digest;
    Adaps__Wire__Blob blob = ADAPS__WIRE__BLOB__INIT;
    blob.digest.data = digest.bytes;
    blob.digest.len = sizeof digest.bytes;
    blob.size = size;
    size_t sent = 0, stored = 0;
    while (stored < size) {
        enum adaps_status status;
        if (sent < size && sent - stored < PIECES_UNDER_WAY * PIECE_BYTES) {
            size_t n = size - sent < PIECE_BYTES ? size - sent : PIECE_BYTES;
            blob.offset = sent;
            status = ad_blob_read(data, piece, n, err);
            if (status == ADAPS_OK)
                status = ad_remote_send(remote, AD_FRAME_BLOB, 0, &blob.base, piece, n, err);
            sent += n;
        } else {
            status = await(push, remote, AD_FRAME_STORED, err);
            size_t n = size - stored < PIECE_BYTES ? size - stored : PIECE_BYTES;
            stored += n;
            if (status == ADAPS_OK)
                progress(push, n);
        }
        if (status != ADAPS_OK)
            return status;
    }
    return ADAPS_OK;
}

static enum adaps_status send_blob(struct push *push, struct ad_remote *remote,
                                   const struct ad_slice *slice, struct adaps_error *err)
{
    struct ad_blob data;
    uint8_t *piece = ad_realloc(NULL, PIECE_BYTES, 1);
    if (!piece)
        return ad_error_memory(err, "push", PIECE_BYTES);
    enum adaps_status status = ad_blob_init(&data, push->plan, push->weights, slice, err);
    if (status == ADAPS_OK)
        status = send_pieces(push, remote, slice, &data, piece, err);
    ad_blob_fini(&data);
    ad_free(piece);
    return status;
}

static enum adaps_status send_plan(struct push *push, struct ad_remote *remote,
                                   struct ad_push_report *report, struct adaps_error *err)
{
    Adaps__Wire__Plan body = ADAPS__WIRE__PLAN__INIT;
    struct ad_digest digest = push->plan->digest;
    body.digest.data = digest.bytes;
    body.digest.len = sizeof digest.bytes;
    enum adaps_status status = ad_remote_send(remote, AD_FRAME_PLAN, 0, &body.base,
                                              push->plan_bytes, push->plan_size, err);
    if (status == ADAPS_OK)
        status = await(push, remote, AD_FRAME_PLANNED, err);
    if (status == ADAPS_OK)
        report->plan_bytes_sent = push->plan_size;
    return status;
}

static enum adaps_status send_blobs(struct push *push, struct ad_remote *remote,
                                    const struct ad_slices *slices, struct ad_push_report *report,
                                    struct adaps_error *err)
{
    Adaps__Wire__Missing *missing = NULL;
    uint64_t lacking = 0;
    enum adaps_status status = ask_missing(push, remote, slices, &missing, err);
    if (status != ADAPS_OK)
        return status;
    for (int i = 0; i < slices->count; i++)
        report->weight_bytes_needed += ad_slice_bytes(push->plan, &slices->items[i]);
    report->blobs_needed = slices->count;
    for (size_t i = 0; i < missing->n_indices; i++)
        lacking += ad_slice_bytes(push->plan, &slices->items[missing->indices[i]]);
    progress(push,
             report->weight_bytes_needed > lacking ? report->weight_bytes_needed - lacking : 0);
    if (missing->n_indices > 0 && !push->weights)
        status = ad_error_set(err, ADAPS_EUSAGE, "agents lack weights, and the plan has none");
    for (size_t i = 0; i < missing->n_indices && status == ADAPS_OK; i++) {
        const struct ad_slice *slice = &slices->items[missing->indices[i]];
        status = send_blob(push, remote, slice, err);
        if (status == ADAPS_OK) {
            report->blobs_sent++;
            report->weight_bytes_sent += ad_slice_bytes(push->plan, slice);
        }
    }
    ad_protobuf_free(&missing->base);
    return status;
}

/* What the plan and its spares need; where an agent's cache has no room for that, what the plan
 * needs. */
static enum adaps_status send_weights(struct push *push, struct ad_remote *remote, int device,
                                      struct ad_push_report *report, struct adaps_error *err)
{
    const struct ad_slices *own = &push->plan->slices[device], *all = &push->needed[device];
    enum adaps_status status = send_blobs(push, remote, all, report, err);
    bool refused = status != ADAPS_OK && !remote->lost && report->blobs_needed == 0;
    return refused && all->count > own->count ? send_blobs(push, remote, own, report, err) : status;
}

static enum adaps_status push_device(struct push *push, int device, struct ad_push_report *report,
                                     struct adaps_error *err)
{
    struct ad_remote remote;
    Adaps__Wire__Welcome *welcome = NULL;
    struct ad_remote_options options = {.context = push->context,
                                        .keys = &push->keys,
                                        .most = AD_ANSWER_BYTES +
                                                INDEX_BYTES * (size_t)push->needed[device].count};
    ad_deadline_restart(&push->deadline);
    enum adaps_status status = ad_remote_init(&remote, device, &push->plan->cluster.devices[device],
                                              &options, &push->deadline, err);
    if (status == ADAPS_OK)
        status = ad_remote_greet(&remote, &push->plan->cluster.devices[device], &options,
                                 &push->deadline, &welcome, err);
    if (status == ADAPS_OK)
        status = send_weights(push, &remote, device, report, err);
    if (status == ADAPS_OK && ad_plan_works(push->plan, device))
        status = send_plan(push, &remote, report, err);
    if (welcome)
        ad_protobuf_free(&welcome->base);
    ad_remote_fini(&remote);
    return status;
}

/* The same of an agent that has no work before another one is lost. Without it nothing is missing
 * now. */
static enum adaps_status push_helper(struct push *push, int device, struct ad_push_report *report,
                                     struct adaps_error *err)
{
    int64_t usual = push->deadline.all_ns;
    struct adaps_error why;
    if (push->needed[device].count == 0 || !*push->plan->cluster.devices[device].address)
        return ADAPS_OK;
    ad_deadline_set(&push->deadline, usual < HELPER_NS ? usual : HELPER_NS);
    enum adaps_status status = push_device(push, device, report, &why);
    ad_deadline_set(&push->deadline, usual);
    if (status == ADAPS_EINPUT || status == ADAPS_EINTERNAL) /* on this side */
        return ad_error_set(err, status, "%s", why.message);
    return ADAPS_OK;
}

static enum adaps_status find_needed(struct push *push, struct adaps_error *err)
{
    int n = push->plan->cluster.ndevices;
    push->needed = ad_calloc((size_t)n, sizeof *push->needed);
    if (!push->needed)
        return ad_error_memory(err, "push", (size_t)n * sizeof *push->needed);
    for (int d = 0; d < n; d++) {
        struct ad_slices *needed = &push->needed[d];
        enum adaps_status status = ad_plan_all_slices(push->plan, d, needed, err);
        if (status != ADAPS_OK)
            return status;
        for (int i = 0; i < needed->count; i++)
            push->total += ad_slice_bytes(push->plan, &needed->items[i]);
    }
    return ADAPS_OK;
}

enum adaps_status ad_push(const struct adaps_plan *plan, const struct ad_session_options *options,
                          const struct ad_weight_source *weights, struct ad_push_report *reports,
                          struct adaps_error *err)
{
    struct push push = {.plan = plan, .options = options, .weights = weights};
    ad_deadline_set(&push.deadline, ad_deadline_ns(options->deadline_s));
    int ndevices = plan->cluster.ndevices;
    memset(reports, 0, (size_t)ndevices * sizeof *reports);
    enum adaps_status status = ad_keys_find(options->key_file, &push.keys, err);
    if (status == ADAPS_OK)
        status = ad_plan_pack(plan, &push.plan_bytes, &push.plan_size, err);
    if (status == ADAPS_OK)
        status = ad_remote_context(&push.context, err);
    if (status == ADAPS_OK)
        status = find_needed(&push, err);
    for (int d = 0; d < ndevices && status == ADAPS_OK; d++)
        status = ad_plan_works(plan, d) ? push_device(&push, d, &reports[d], err)
                                        : push_helper(&push, d, &reports[d], err);
    ad_keys_forget(&push.keys);
    if (push.context)
        zmq_ctx_term(push.context);
    for (int d = 0; push.needed && d < ndevices; d++)
        ad_free(push.needed[d].items);
    ad_free(push.needed);
    ad_free(push.plan_bytes);
    return status;
}
