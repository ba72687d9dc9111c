/* Spares: the plans that belong to a plan, for the loss of one device each. */
#include "plan/spares.h"

#include <stdlib.h>
#include <string.h>

/* --- messages --- */

/* A field of the same name in both. */
#define COPY(to, from, field) ((to)->field = (from)->field)
#define COPY_LIST(to, from, field) (COPY(to, from, n_##field), COPY(to, from, field))
#define COPY_ALL(to, from)                                                                         \
    do {                                                                                           \
        COPY_LIST(to, from, programs);                                                             \
        COPY(to, from, strategy);                                                                  \
        COPY(to, from, predicted_ns);                                                              \
        COPY(to, from, single_ns);                                                                 \
        COPY(to, from, single_device);                                                             \
        COPY(to, from, bytes);                                                                     \
        COPY(to, from, messages);                                                                  \
        COPY(to, from, visited);                                                                   \
        COPY(to, from, space_log10);                                                               \
        COPY(to, from, note);                                                                      \
        COPY(to, from, lower_bound_ns);                                                            \
        COPY_LIST(to, from, turns);                                                                \
        COPY_LIST(to, from, deal);                                                                 \
        COPY(to, from, frames);                                                                    \
        COPY(to, from, interval_ns);                                                               \
        COPY(to, from, stream_latency_ns);                                                         \
    } while (0)

void ad_plan_spare_from_work(const Adaps__Plan__Plan *work, Adaps__Plan__Spare *spare)
{
    COPY_ALL(spare, work);
}

Adaps__Plan__Plan ad_plan_spare_to_work(const Adaps__Plan__Plan *plan,
                                        const Adaps__Plan__Spare *spare)
{
    Adaps__Plan__Plan work = *plan;
    work.n_spares = 0;
    work.spares = NULL;
    COPY_ALL(&work, spare);
    return work;
}

/* --- in memory --- */

void ad_spare_free(struct ad_spare *spare)
{
    if (spare->plan)
        spare->plan->graph = NULL;
    adaps_plan_free(spare->plan);
}

enum adaps_status ad_plan_add_spare(struct adaps_plan *plan, int lost, struct adaps_plan *spare,
                                    struct adaps_error *err)
{
    size_t n = (size_t)plan->nspares;
    struct ad_spare *grown = ad_realloc(plan->spares, n + 1, sizeof *grown);
    if (!grown)
        return ad_error_memory(err, "spares", (n + 1) * sizeof *grown);
    if (spare->graph != plan->graph)
        ad_graph_free(spare->graph);
    spare->graph = plan->graph;
    grown[n] = (struct ad_spare){lost, spare};
    plan->spares = grown;
    plan->nspares++;
    return ADAPS_OK;
}

int ad_spare_device(const struct ad_spare *spare, int device)
{
    return device < spare->lost ? device : device - 1;
}

const struct ad_spare *ad_plan_spare_of(const struct adaps_plan *plan, int lost)
{
    for (int i = 0; i < plan->nspares; i++)
        if (plan->spares[i].lost == lost)
            return &plan->spares[i];
    return NULL;
}

static bool usable(const struct adaps_plan *plan, const struct ad_spare *spare, const bool *out)
{
    for (int d = 0; d < plan->cluster.ndevices; d++)
        if (out[d] && d != spare->lost && ad_plan_works(spare->plan, ad_spare_device(spare, d)))
            return false;
    return out[spare->lost];
}

const struct ad_spare *ad_plan_spare(const struct adaps_plan *plan, const bool *out, int *device_of)
{
    for (int i = 0; i < plan->nspares; i++) {
        const struct ad_spare *spare = &plan->spares[i];
        if (!usable(plan, spare, out))
            continue;
        for (int d = 0; d < plan->cluster.ndevices; d++)
            if (d != spare->lost)
                device_of[ad_spare_device(spare, d)] = d;
        return spare;
    }
    return NULL;
}

/* --- weights --- */

/* Slices are in the order of what they are of. */
static int compare_slices(const struct ad_slice *a, const struct ad_slice *b)
{
    if (a->weight != b->weight)
        return a->weight < b->weight ? -1 : 1;
    if (a->row0 != b->row0)
        return a->row0 < b->row0 ? -1 : 1;
    return (a->row1 > b->row1) - (a->row1 < b->row1);
}

static int by_rows(const void *a, const void *b)
{
    return compare_slices(a, b);
}

/* Those of `more` that are not among the first `own`, once each, after these. */
static int add_new(struct ad_slices *all, int own, struct ad_slice *more, int count)
{
    int added = 0;
    qsort(more, (size_t)count, sizeof *more, by_rows);
    for (int i = 0; i < count; i++)
        if ((i == 0 || compare_slices(&more[i - 1], &more[i]) != 0) &&
            !(own > 0 && bsearch(&more[i], all->items, (size_t)own, sizeof *more, by_rows)))
            all->items[own + added++] = more[i];
    return added;
}

enum adaps_status ad_plan_all_slices(const struct adaps_plan *plan, int device,
                                     struct ad_slices *out, struct adaps_error *err)
{
    const struct ad_slices *own = &plan->slices[device];
    int count = 0;
    for (int i = 0; i < plan->nspares; i++)
        if (plan->spares[i].lost != device)
            count += plan->spares[i].plan->slices[ad_spare_device(&plan->spares[i], device)].count;
    size_t n = (size_t)own->count + (size_t)count;
    struct ad_slice *more = ad_calloc((size_t)count, sizeof *more);
    *out = (struct ad_slices){ad_calloc(n, sizeof *out->items), own->count};
    if (!out->items || !more) {
        ad_free(out->items);
        ad_free(more);
        return ad_error_memory(err, "list of weights", n * sizeof *more);
    }
    if (own->count > 0)
        memcpy(out->items, own->items, (size_t)own->count * sizeof *more);
    int at = 0;
    for (int i = 0; i < plan->nspares; i++) {
        const struct ad_spare *spare = &plan->spares[i];
        if (spare->lost == device)
            continue;
        const struct ad_slices *slices = &spare->plan->slices[ad_spare_device(spare, device)];
        if (slices->count > 0)
            memcpy(&more[at], slices->items, (size_t)slices->count * sizeof *more);
        at += slices->count;
    }
    out->count += add_new(out, own->count, more, count);
    ad_free(more);
    return ADAPS_OK;
}

/* --- other addresses --- */

void ad_spares_drop(struct ad_spare *spares, int count)
{
    for (int i = 0; spares && i < count; i++) {
        if (spares[i].plan)
            ad_cluster_fini(&spares[i].plan->cluster);
        ad_free(spares[i].plan);
    }
    ad_free(spares);
}

static enum adaps_status readdress(const struct ad_spare *spare, const struct ad_cluster *cluster,
                                   struct ad_spare *out, struct adaps_error *err)
{
    int device_of[AD_MAX_DEVICES];
    bool lost[AD_MAX_DEVICES] = {false};
    lost[spare->lost] = true;
    out->lost = spare->lost;
    out->plan = ad_calloc(1, sizeof *out->plan);
    if (!out->plan)
        return ad_error_memory(err, "plan", sizeof *out->plan);
    *out->plan = *spare->plan;
    out->plan->cluster = (struct ad_cluster){0};
    enum adaps_status status =
        ad_cluster_without(cluster, lost, &out->plan->cluster, device_of, err);
    return status == ADAPS_OK ? ad_plan_seal(out->plan, err) : status;
}

enum adaps_status ad_spares_readdress(const struct adaps_plan *plan,
                                      const struct ad_cluster *cluster, struct ad_spare **out,
                                      struct adaps_error *err)
{
    struct ad_spare *spares = ad_calloc((size_t)plan->nspares, sizeof *spares);
    enum adaps_status status =
        spares ? ADAPS_OK : ad_error_memory(err, "spares", (size_t)plan->nspares * sizeof *spares);
    for (int i = 0; i < plan->nspares && status == ADAPS_OK; i++)
        status = readdress(&plan->spares[i], cluster, &spares[i], err);
    if (status != ADAPS_OK) {
        ad_spares_drop(spares, plan->nspares);
        return status;
    }
    *out = spares;
    return ADAPS_OK;
}
