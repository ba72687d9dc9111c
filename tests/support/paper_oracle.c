#include "support/paper_oracle.h"

#include <math.h>
#include <string.h>

#define ORACLE_LIMIT 1e7

/* Every layout of a layer, one after the other. */
struct list {
    struct ad_paper_interval *cuts; /* [layout * ndevices + device] */
    size_t count, room;
};

static void list_device(const struct ad_paper_model *m, int layer, int d,
                        struct ad_paper_interval *cuts, struct list *list)
{
    size_t n = (size_t)m->ndevices;
    if (d == m->ndevices) {
        if (list->count < list->room)
            memcpy(&list->cuts[list->count * n], cuts, n * sizeof *cuts);
        list->count++;
        return;
    }
    struct ad_paper_interval starts = ad_paper_starts(m, layer, d);
    for (cuts[d].s = starts.s; cuts[d].s <= starts.e; cuts[d].s++) {
        struct ad_paper_interval ends = ad_paper_ends(m, layer, d, cuts[d].s);
        for (cuts[d].e = ends.s; cuts[d].e <= ends.e; cuts[d].e++)
            list_device(m, layer, d + 1, cuts, list);
    }
}

static enum adaps_status list_layer(const struct ad_paper_model *m, int layer, struct list *out,
                                    struct adaps_error *err)
{
    struct ad_paper_interval cuts[AD_PAPER_DEVICES];
    double count = round(pow(10, ad_paper_log10_count(m, layer)));
    if (count > ORACLE_LIMIT)
        return ad_error_set(err, ADAPS_NO, "layer %d has %.4g layouts; 10^7 can be enumerated",
                            layer, count);
    *out = (struct list){.room = (size_t)count};
    out->cuts = ad_calloc(out->room, (size_t)m->ndevices * sizeof *out->cuts);
    if (!out->cuts)
        return ad_error_memory(err, "layouts", out->room * sizeof *out->cuts);
    list_device(m, layer, 0, cuts, out);
    if (out->count == out->room)
        return ADAPS_OK;
    return ad_error_set(err, ADAPS_EINTERNAL, "layer %d: %zu layouts counted, %zu enumerated",
                        layer, out->room, out->count);
}

static const struct ad_paper_interval *layout_of(const struct ad_paper_model *m,
                                                 const struct list *lists, int layer, size_t k)
{
    return &lists[layer].cuts[k * (size_t)m->ndevices];
}

typedef enum adaps_status oracle_fn(const struct ad_paper_model *m, const struct list *lists,
                                    struct ad_paper_result *out, struct adaps_error *err);

/* All combinations, counted up like an odometer. */
static enum adaps_status all_combinations(const struct ad_paper_model *m, const struct list *lists,
                                          struct ad_paper_result *out, struct adaps_error *err)
{
    size_t n = (size_t)m->nlayers, width = (size_t)m->ndevices;
    double product = 1;
    for (size_t l = 0; l < n; l++)
        product *= (double)lists[l].count;
    if (product > ORACLE_LIMIT)
        return ad_error_set(err, ADAPS_NO, "there are %.4g layouts; 10^7 can be enumerated",
                            product);
    size_t *at = ad_calloc(n, sizeof *at);
    struct ad_paper_interval *cuts = ad_calloc(n * width, sizeof *cuts);
    if (!at || !cuts) {
        ad_free(at);
        ad_free(cuts);
        return ad_error_memory(err, "layouts", n * width * sizeof *cuts);
    }
    for (size_t turned = 0; turned < n;) {
        for (size_t l = 0; l < n; l++)
            memcpy(&cuts[l * width], layout_of(m, lists, (int)l, at[l]), width * sizeof *cuts);
        int64_t score = ad_paper_score(m, cuts);
        out->visited++;
        if (score < out->score) {
            out->score = score;
            memcpy(out->cuts, cuts, n * width * sizeof *cuts);
        }
        for (turned = 0; turned < n && ++at[turned] == lists[turned].count; turned++)
            at[turned] = 0;
    }
    ad_free(at);
    ad_free(cuts);
    return ADAPS_OK;
}

/* Backwards: the least cost of the layers from here on by this layer's layout. */
static enum adaps_status layer_by_layer(const struct ad_paper_model *m, const struct list *lists,
                                        struct ad_paper_result *out, struct adaps_error *err)
{
    struct ad_arena arena = {0};
    enum adaps_status status = ADAPS_OK;
    size_t n = (size_t)m->nlayers, start = 0;
    int64_t **togo = ad_arena_alloc(&arena, n, sizeof *togo);
    size_t **follow = ad_arena_alloc(&arena, n, sizeof *follow);
    for (int l = m->nlayers - 1; l >= 0 && togo && follow; l--) {
        togo[l] = ad_arena_alloc(&arena, lists[l].count, sizeof **togo);
        follow[l] = ad_arena_alloc(&arena, lists[l].count, sizeof **follow);
        if (!togo[l] || !follow[l]) {
            status = ad_error_memory(err, "layouts", lists[l].count * sizeof **togo);
            goto out;
        }
        for (size_t a = 0; a < lists[l].count; a++) {
            const struct ad_paper_interval *here = layout_of(m, lists, l, a);
            int64_t least = l + 1 < m->nlayers ? INT64_MAX : 0;
            for (size_t b = 0; l + 1 < m->nlayers && b < lists[l + 1].count; b++) {
                int64_t t =
                    togo[l + 1][b] + ad_paper_data_cost(m, l, here, layout_of(m, lists, l + 1, b));
                if (t < least) {
                    least = t;
                    follow[l][a] = b;
                }
            }
            togo[l][a] = least + ad_paper_layer_cost(m, l, here);
            out->visited++;
        }
    }
    if (!togo || !follow) {
        status = ad_error_memory(err, "layouts", n * sizeof *togo);
        goto out;
    }
    for (size_t a = 0; a < lists[0].count; a++)
        if (togo[0][a] < out->score) {
            out->score = togo[0][a];
            start = a;
        }
    for (int l = 0; l < m->nlayers; l++) {
        memcpy(&out->cuts[ad_paper_at(m, l, 0)], layout_of(m, lists, l, start),
               (size_t)m->ndevices * sizeof *out->cuts);
        start = follow[l][start];
    }
out:
    ad_arena_fini(&arena);
    return status;
}

static enum adaps_status run_oracle(oracle_fn *oracle, const struct ad_paper_problem *problem,
                                    struct ad_paper_result *out, struct adaps_error *err)
{
    struct ad_paper_model m;
    struct list *lists = NULL;
    enum adaps_status status = ad_paper_model_init(&m, problem, err);
    if (status != ADAPS_OK)
        return status;
    status = ad_paper_result_init(out, &m, err);
    if (status != ADAPS_OK)
        goto out;
    out->space_log10 = ad_paper_space(&m);
    lists = ad_calloc((size_t)m.nlayers, sizeof *lists);
    if (!lists) {
        status = ad_error_memory(err, "layouts", (size_t)m.nlayers * sizeof *lists);
        goto out;
    }
    for (int l = 0; l < m.nlayers && status == ADAPS_OK; l++)
        status = list_layer(&m, l, &lists[l], err);
    if (status == ADAPS_OK)
        status = oracle(&m, lists, out, err);
    out->proven = true;
    out->bound = (double)out->score;
out:
    for (int l = 0; lists && l < m.nlayers; l++)
        ad_free(lists[l].cuts);
    ad_free(lists);
    if (status != ADAPS_OK)
        ad_paper_result_fini(out);
    ad_paper_model_fini(&m);
    return status;
}

enum adaps_status ad_paper_exhaustive(const struct ad_paper_problem *problem,
                                      struct ad_paper_result *out, struct adaps_error *err)
{
    return run_oracle(all_combinations, problem, out, err);
}

enum adaps_status ad_paper_dp(const struct ad_paper_problem *problem, struct ad_paper_result *out,
                              struct adaps_error *err)
{
    return run_oracle(layer_by_layer, problem, out, err);
}
