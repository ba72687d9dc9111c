/* The first step of PICO: the graph as a chain of pieces.
 *
 * A piece reads only itself and the piece before it. The paper finds the pieces
 * from the end of the graph: it tries all sets of ops that nothing but
 * themselves reads, up to a diameter, as the last piece, and goes on with the
 * rest, so that the largest redundancy is least. Interpreted: such a set is
 * whole levels of the graph. Then pieces are ranges, and the programme takes
 * them in order:
 *
 *   best(end) = min over begin of max(best(begin), redundancy of [begin, end))
 *
 * Of equal ones that with the most pieces is taken: the stages can then be cut
 * anywhere. The diameter is taken to be AD_PIECE_LEVELS levels; a piece that
 * has to be longer, because something is read from far behind, is as short as
 * can be. Redundancy is the time of what is computed twice when the piece is
 * divided into two equal halves. Inputs of the network may be read anywhere. */
#include "base/mem.h"
#include "search/published/pico.h"
#include "search/published/ranges.h"

#include <math.h>

void ad_pico_pieces_fini(struct ad_pico_pieces *pieces)
{
    ad_free(pieces->order);
    ad_free(pieces->level_end);
    ad_free(pieces->first_end);
    ad_free(pieces->end);
    *pieces = (struct ad_pico_pieces){0};
}

bool ad_pico_pieces_may(const struct ad_pico_pieces *pieces, int begin, int end)
{
    int first = pieces->first_end[begin];
    return end == first || (end > first && end - begin <= AD_PIECE_LEVELS);
}

/* level: [op]. */
static void find_levels(const struct ad_graph *graph, int *level, struct ad_pico_pieces *out)
{
    for (int i = 0; i < graph->nops; i++) {
        const struct ad_op *op = &graph->ops[i];
        level[i] = 0;
        for (int k = 0; k < op->ninputs; k++) {
            int producer = graph->values[op->inputs[k]].producer;
            if (producer >= 0 && level[producer] >= level[i])
                level[i] = level[producer] + 1;
        }
        out->nlevels = level[i] >= out->nlevels ? level[i] + 1 : out->nlevels;
    }
    for (int l = 0, n = 0; l < out->nlevels; l++) {
        for (int i = 0; i < graph->nops; i++)
            if (level[i] == l)
                out->order[n++] = i;
        out->level_end[l] = n;
    }
}

/* A piece that begins at a level has all that reads the levels before it. */
static void find_first_ends(const struct ad_graph *graph, const int *level,
                            struct ad_pico_pieces *out)
{
    for (int l = 0; l <= out->nlevels; l++)
        out->first_end[l] = l + 1;
    for (int i = 0; i < graph->nops; i++)
        for (int k = 0; k < graph->ops[i].ninputs; k++) {
            int producer = graph->values[graph->ops[i].inputs[k]].producer;
            int *first = producer < 0 ? NULL : &out->first_end[level[producer] + 1];
            if (first && level[i] + 1 > *first)
                *first = level[i] + 1;
        }
    for (int l = 1; l < out->nlevels; l++)
        if (out->first_end[l] < out->first_end[l - 1])
            out->first_end[l] = out->first_end[l - 1];
}

/* The best pieces before a level. */
struct best {
    int64_t redundant_ns; /* of the one with most */
    int count, begin;     /* how many; -1: none end there. Where the last one begins */
};

/* Tries all pieces that end at a level. best: [level]. */
static void try_end(struct ad_pico_pieces *pieces, struct ad_ranges *ranges, int end,
                    struct best *best)
{
    int first = 0;
    double whole_s = 0;
    while (!ad_pico_pieces_may(pieces, first, end) && first < end - 1)
        first++;
    ad_ranges_begin(ranges, pieces->level_end[end - 1]);
    best[end] = (struct best){INT64_MAX, -1, 0};
    for (int begin = end - 1; begin >= first; begin--) {
        while (ranges->begin > (begin > 0 ? pieces->level_end[begin - 1] : 0)) {
            ad_ranges_extend(ranges);
            whole_s += ranges->seconds[2 * pieces->order[ranges->begin]];
        }
        int64_t ns = llround(1e9 * (ranges->compute_s[0] + ranges->compute_s[1] - whole_s));
        ns = ns > best[begin].redundant_ns ? ns : best[begin].redundant_ns;
        bool better = ns < best[end].redundant_ns ||
                      (ns == best[end].redundant_ns && best[begin].count + 1 > best[end].count);
        if (better && best[begin].count >= 0 && ad_pico_pieces_may(pieces, begin, end))
            best[end] = (struct best){ns, best[begin].count + 1, begin};
    }
}

static enum adaps_status find(const struct ad_context *context, const double *seconds, int *level,
                              struct best *best, struct ad_pico_pieces *out,
                              struct adaps_error *err)
{
    const struct ad_graph *graph = context->problem->graph;
    struct ad_ranges ranges;
    find_levels(graph, level, out);
    find_first_ends(graph, level, out);
    enum adaps_status status =
        ad_ranges_init(&ranges, context, out->order, (double[]){1, 1}, 2, 0, err);
    for (int i = 0; i < graph->nops && status == ADAPS_OK; i++)
        ranges.seconds[2 * i] = ranges.seconds[2 * i + 1] = seconds[i];
    for (int end = 1; end <= out->nlevels && status == ADAPS_OK; end++)
        try_end(out, &ranges, end, best);
    ad_ranges_fini(&ranges);
    if (status != ADAPS_OK)
        return status;
    out->count = best[out->nlevels].count;
    out->redundant_ns = best[out->nlevels].redundant_ns;
    for (int k = out->count - 1, end = out->nlevels; k >= 0; k--) {
        out->end[k] = end;
        end = best[end].begin;
    }
    return ADAPS_OK;
}

enum adaps_status ad_pico_pieces_find(const struct ad_context *context, const double *seconds,
                                      struct ad_pico_pieces *out, struct adaps_error *err)
{
    size_t n = (size_t)context->problem->graph->nops + 1;
    *out = (struct ad_pico_pieces){.count = 0};
    int *level = ad_calloc(n, sizeof *level);
    struct best *best = ad_calloc(n + 1, sizeof *best);
    out->order = ad_calloc(n, sizeof *out->order);
    out->level_end = ad_calloc(n, sizeof *out->level_end);
    out->first_end = ad_calloc(n + 1, sizeof *out->first_end);
    out->end = ad_calloc(n, sizeof *out->end);
    enum adaps_status status = ADAPS_OK;
    if (!level || !best || !out->order || !out->level_end || !out->first_end || !out->end)
        status = ad_error_memory(err, "pieces", n * sizeof *level);
    else
        status = find(context, seconds, level, best, out, err);
    ad_free(level);
    ad_free(best);
    return status;
}
