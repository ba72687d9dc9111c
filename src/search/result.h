/* What a search returns, and how the best layout of a search becomes that. */
#ifndef AD_SEARCH_RESULT_H
#define AD_SEARCH_RESULT_H

#include "schedule/stream.h"
#include "search/eval.h"

struct ad_search_result {
    struct ad_graph *graph; /* of the plan, where that is not the problem's: sums are in blocks
                               (ir/partial.h), weights have no numbers; owned */
    struct ad_assignment assignment; /* of the first turn */
    struct ad_schedule schedule;     /* likewise */
    struct ad_layout layout;         /* that it comes from; nops 0: from none */
    struct ad_stream stream;         /* nturns 0: not known yet */
    struct ad_assignment *others;    /* of the turns after the first; owned */
    int nothers;
    struct ad_score
        score;          /* of the assignment; not set by strategies that have scores of their own */
    int64_t visited;    /* candidate assignments evaluated */
    double space_log10; /* log10 of the size of the space the strategy chooses from */
    double seconds;     /* spent */
    bool u8;            /* pictures may travel as bytes: a single device is timed with that, too */
    int64_t lower_bound_ns; /* no plan of this graph, nor of the problem's, answers sooner
                               (search/bound/bound.h) */
    double bound, gap; /* of strategy adaps: a lower bound of the paper's score (eq 11, ns) within
                          the window, and (score - bound) / score; NAN for others */
    char note[256];    /* the objective and its cap; the devices left out and what they would cost;
                          the certificate of strategy adaps */
};
void ad_search_result_fini(struct ad_search_result *result);

/* The graph that a result's steps are of. */
static inline const struct ad_graph *ad_search_result_graph(const struct ad_search_problem *problem,
                                                            const struct ad_search_result *result)
{
    return result->graph ? result->graph : problem->graph;
}

/* The problem with the graph of the result. */
struct ad_search_problem ad_search_problem_of(const struct ad_search_problem *problem,
                                              const struct ad_search_result *result);

/* The error of a schedule that needs more memory than devices have: names each of them, what it
 * needs and has, and the memory with which one would fit. Returns ADAPS_NO. */
enum adaps_status ad_search_refuse_memory(const struct ad_cluster *cluster, const char *strategy,
                                          const struct ad_schedule *schedule, int64_t least,
                                          struct adaps_error *err);

/* Builds the schedule of result->assignment and checks it. ADAPS_NO when it needs more memory than
 * a device has: names every such device, what it needs and has, and the smallest memory seen; or
 * when it takes longer than the cap. strategy: its name, for messages. */
AD_MUST_CHECK enum adaps_status ad_search_result_build(struct ad_eval *eval, const char *strategy,
                                                       struct ad_search_result *result);

/* The figures of a result, which is complete, by objective (struct ad_score): traffic in the mean
 * over its inferences. */
AD_MUST_CHECK enum adaps_status ad_search_figures(const struct ad_search_problem *problem,
                                                  const struct ad_search_result *result,
                                                  int64_t *figure, struct adaps_error *err);

/* What the note of a result says of every strategy: the objective and its cap, the devices left
 * out and what eval has seen them cost. */
void ad_search_result_note(const struct ad_eval *eval, struct ad_search_result *result);

/* The layout's assignment as the result, built as above, and its note. */
AD_MUST_CHECK enum adaps_status ad_search_result_of(struct ad_eval *eval, const char *strategy,
                                                    const struct ad_layout *layout,
                                                    struct ad_search_result *result);

/* Runs a search function on the problem and fills result from the best layout: assignment,
 * schedule, visited, space and note. ADAPS_NO as above. */
AD_MUST_CHECK enum adaps_status ad_search_layouts(const struct ad_search_problem *problem,
                                                  const char *strategy, ad_search_fn *search,
                                                  struct ad_search_result *result,
                                                  struct adaps_error *err);

#endif
