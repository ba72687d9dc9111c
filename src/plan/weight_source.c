#include "plan/weight_source.h"
#include "ir/weight.h"

#include <string.h>

/* --- the weights of a graph --- */

static enum adaps_status read_attached(const struct ad_weight_source *source,
                                       const struct ad_slice *slice, int64_t r0, int64_t r1,
                                       float *to, struct adaps_error *err)
{
    return ad_weight_read(&source->graph->weights[slice->weight], r0, r1, to, err);
}

struct ad_weight_source ad_weights_of_graph(const struct ad_graph *graph)
{
    return (struct ad_weight_source){.read = read_attached, .graph = graph};
}

enum adaps_status ad_plan_check_weights(const struct adaps_plan *plan, const struct ad_graph *graph,
                                        struct adaps_error *err)
{
    const struct ad_graph *planned = plan->graph;
    if (graph->nweights != planned->nweights)
        return ad_error_set(err, ADAPS_EINPUT,
                            "the model has %d weight tensors, the plan was made for %d: it is not "
                            "the model that was planned",
                            graph->nweights, planned->nweights);
    for (int i = 0; i < planned->nweights; i++) {
        const struct ad_weight *a = &graph->weights[i], *b = &planned->weights[i];
        if (a->rows != b->rows || a->row_elements != b->row_elements || !ad_weight_attached(a) ||
            !ad_digest_equal(&a->digest, &b->digest))
            return ad_error_set(err, ADAPS_EINPUT,
                                "the model's weight '%s' differs from the plan's '%s': it is not "
                                "the model that was planned",
                                a->name, b->name);
    }
    return ADAPS_OK;
}

/* --- blobs --- */

static int64_t rows_at_a_time(const struct ad_blob *blob)
{
    int64_t most = ad_weight_rows_at_a_time(blob->weight), left = blob->slice.row1 - blob->row;
    return most < left ? most : left;
}

enum adaps_status ad_blob_init(struct ad_blob *blob, const struct adaps_plan *plan,
                               const struct ad_weight_source *source, const struct ad_slice *slice,
                               struct adaps_error *err)
{
    *blob = (struct ad_blob){.source = source,
                             .weight = &plan->graph->weights[slice->weight],
                             .slice = *slice,
                             .row = slice->row0};
    size_t bytes =
        (size_t)rows_at_a_time(blob) * (size_t)blob->weight->row_elements * sizeof *blob->rows;
    blob->rows = ad_alloc_aligned(bytes);
    return blob->rows ? ADAPS_OK : ad_error_memory(err, blob->weight->name, bytes);
}

static enum adaps_status fill(struct ad_blob *blob, struct adaps_error *err)
{
    int64_t rows = rows_at_a_time(blob);
    enum adaps_status status = blob->source->read(blob->source, &blob->slice, blob->row,
                                                  blob->row + rows, blob->rows, err);
    blob->row += rows;
    blob->at = 0;
    blob->filled = (size_t)(rows * blob->weight->row_elements) * sizeof *blob->rows;
    return status;
}

enum adaps_status ad_blob_read(struct ad_blob *blob, void *to, size_t size, struct adaps_error *err)
{
    char *next = to;
    while (size > 0) {
        enum adaps_status status = blob->at < blob->filled ? ADAPS_OK : fill(blob, err);
        if (status != ADAPS_OK)
            return status;
        size_t n = blob->filled - blob->at < size ? blob->filled - blob->at : size;
        memcpy(next, (const char *)blob->rows + blob->at, n);
        next += n;
        blob->at += n;
        size -= n;
    }
    return ADAPS_OK;
}

void ad_blob_fini(struct ad_blob *blob)
{
    ad_free(blob->rows);
}
