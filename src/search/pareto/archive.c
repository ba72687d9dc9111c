#include "search/pareto/archive.h"

bool ad_pareto_dominates(const struct ad_pareto_objectives *objectives, const int64_t *a,
                         const int64_t *b)
{
    bool better = false;
    for (int i = 0; i < objectives->count; i++) {
        enum ad_objective o = objectives->list[i];
        if (a[o] > b[o])
            return false;
        better = better || a[o] < b[o];
    }
    return better;
}

bool ad_pareto_equal(const struct ad_pareto_objectives *objectives, const int64_t *a,
                     const int64_t *b)
{
    for (int i = 0; i < objectives->count; i++)
        if (a[objectives->list[i]] != b[objectives->list[i]])
            return false;
    return true;
}

/* Whether no other one is better in this objective, nor as good and earlier. */
static bool is_end(enum ad_objective o, const int64_t *const *figure, int count, int which)
{
    for (int i = 0; i < count; i++)
        if (figure[i][o] < figure[which][o] || (figure[i][o] == figure[which][o] && i < which))
            return false;
    return true;
}

/* How far apart the next lower and the next higher figure are, of all; 0 without one of them. */
static double gap(enum ad_objective o, const int64_t *const *figure, int count, int which)
{
    double mine = (double)figure[which][o], below = -1, above = -1, least = mine, most = mine;
    for (int i = 0; i < count; i++) {
        double other = (double)figure[i][o];
        least = other < least ? other : least;
        most = other > most ? other : most;
        if (i == which)
            continue;
        if (other <= mine && (below < 0 || other > below))
            below = other;
        if (other >= mine && (above < 0 || other < above))
            above = other;
    }
    return below < 0 || above < 0 || most <= least ? 0 : (above - below) / (most - least);
}

int ad_pareto_most_crowded(const struct ad_pareto_objectives *objectives,
                           const int64_t *const *figure, int count)
{
    int crowded = -1;
    double smallest = 0;
    for (int i = 0; i < count; i++) {
        double distance = 0;
        bool end = false;
        for (int k = 0; k < objectives->count && !end; k++) {
            end = is_end(objectives->list[k], figure, count, i);
            distance += gap(objectives->list[k], figure, count, i);
        }
        if (!end && (crowded < 0 || distance <= smallest)) {
            crowded = i;
            smallest = distance;
        }
    }
    return crowded < 0 ? count - 1 : crowded;
}

enum adaps_status ad_archive_init(struct ad_archive *out,
                                  const struct ad_pareto_objectives *objectives,
                                  const struct ad_context *context, struct adaps_error *err)
{
    enum adaps_status status = ADAPS_OK;
    *out = (struct ad_archive){.objectives = objectives};
    for (int i = 0; i <= AD_ARCHIVE && status == ADAPS_OK; i++)
        status = ad_best_init(&out->best[i], context, err);
    if (status != ADAPS_OK)
        ad_archive_fini(out);
    return status;
}

void ad_archive_fini(struct ad_archive *archive)
{
    for (int i = 0; i <= AD_ARCHIVE; i++)
        ad_best_fini(&archive->best[i]);
    archive->count = 0;
}

/* Its place becomes the last free one; the others keep their order. */
static void drop(struct ad_archive *archive, int which)
{
    struct ad_best gone = archive->best[which];
    archive->count--;
    for (int i = which; i < archive->count; i++)
        archive->best[i] = archive->best[i + 1];
    archive->best[archive->count] = gone;
}

void ad_archive_see(void *data, const struct ad_layout *layout, const struct ad_score *score)
{
    struct ad_archive *archive = data;
    const int64_t *figure[AD_ARCHIVE + 1];
    if (score->excess_bytes > 0 || score->over_cap_ns > 0)
        return;
    for (int i = 0; i < archive->count; i++) {
        const int64_t *other = archive->best[i].score.figure;
        if (ad_pareto_dominates(archive->objectives, other, score->figure) ||
            ad_pareto_equal(archive->objectives, other, score->figure))
            return;
    }
    for (int i = archive->count - 1; i >= 0; i--)
        if (ad_pareto_dominates(archive->objectives, score->figure, archive->best[i].score.figure))
            drop(archive, i);
    struct ad_best *place = &archive->best[archive->count++];
    ad_layout_copy(layout, &place->layout);
    place->score = *score;
    place->valid = true;
    if (archive->count <= AD_ARCHIVE)
        return;
    for (int i = 0; i < archive->count; i++)
        figure[i] = archive->best[i].score.figure;
    drop(archive, ad_pareto_most_crowded(archive->objectives, figure, archive->count));
}
