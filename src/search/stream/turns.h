/* Candidates for the turns of a stream (schedule/stream.h), and how inferences are dealt to them.
 */
#ifndef AD_SEARCH_STREAM_TURNS_H
#define AD_SEARCH_STREAM_TURNS_H

#include "search/result.h"

/* A way to compute the whole network. */
struct ad_turn {
    struct ad_assignment assignment;
    struct ad_schedule schedule;
    struct ad_loads loads;
    int most;     /* inferences in flight that there is memory for, with buffers for one of them */
    double share; /* of all inferences, when they are mixed */
};

struct ad_turns {
    const struct ad_search_problem *problem;
    struct ad_turn *items;
    size_t room;
    int count;
    struct adaps_error *err;
};

void ad_turns_fini(struct ad_turns *turns);

/* The shortest interval that a stream of this turn alone could have. */
int64_t ad_turn_interval(const struct ad_turn *turn);

/* One more, with its schedule and loads; not when it lacks memory by itself, or is later than the
 * problem's cap. */
AD_MUST_CHECK enum adaps_status ad_turns_add(struct ad_turns *turns,
                                             const struct ad_assignment *assignment);

/* The shares of those in use with which the largest load, in the mean over the inferences, is
 * least, or the mean latency divided by the most that can be in flight, if that is more: a linear
 * programme. Those that are not in use get 0. *interval_ns: that load or latency. */
AD_MUST_CHECK enum adaps_status ad_turns_mix(struct ad_turns *turns, const bool *use,
                                             double *interval_ns);

/* A stream of the turns with a share: the result's schedule, assignment and stream. It is fitted
 * (search/stream/fit.h). ADAPS_NO: it lacks memory. */
AD_MUST_CHECK enum adaps_status ad_turns_stream(const struct ad_turns *turns,
                                                struct ad_search_result *result);

/* A stream of turns that are given, and to which inferences are dealt as deal[0 .. ndeal) says: the
 * same of the result. ADAPS_NO: it lacks memory. */
AD_MUST_CHECK enum adaps_status ad_turns_given(const struct ad_search_problem *problem,
                                               const struct ad_assignment *given, int count,
                                               const int *deal, int ndeal,
                                               struct ad_search_result *result,
                                               struct adaps_error *err);

#endif
