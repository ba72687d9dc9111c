/* The problem of a search: what is to be planned, for which devices, and what the search may use
 * and spend. */
#ifndef AD_SEARCH_PROBLEM_H
#define AD_SEARCH_PROBLEM_H

#include "blocks/blocks.h"
#include "schedule/schedule.h"

/* What a strategy minimises when it has a choice: the simulated latency, the bytes moved, the
 * memory of the device that needs most, the interval between the answers of a stream
 * (schedule/stream.h), or the energy of an inference (schedule/energy.h). The others break ties. */
enum ad_objective {
    AD_OBJECTIVE_LATENCY,
    AD_OBJECTIVE_TRAFFIC,
    AD_OBJECTIVE_MEMORY,
    AD_OBJECTIVE_THROUGHPUT,
    AD_OBJECTIVE_ENERGY,
    AD_OBJECTIVES,
    AD_OBJECTIVE_BALANCE = AD_OBJECTIVES /* several at once (struct ad_balance) */
};

/* "latency", "traffic", "memory", "throughput", "energy"; "balance". */
const char *ad_objective_name(enum ad_objective objective);

/* What several objectives are together: the largest of weight * (figure - best), and a little of
 * their sum. A figure is what ad_score has by objective. */
struct ad_balance {
    int64_t best[AD_OBJECTIVES];
    double weight[AD_OBJECTIVES]; /* 0: does not count */
};

struct ad_search_problem {
    const struct ad_graph *graph;
    const struct ad_blocks *blocks;
    const struct ad_cluster *cluster;
    double threshold;               /* ADaPS eq 3, 0..1 */
    bool split_h, split_w, split_c; /* --dims */
    bool
        window_around; /* adaps: the window of section 5.6 instead of eq 3 (search/paper/paper.h) */
    bool gather_type3; /* edgeflow, bbgrap and adaps run operators of type 3 (ADaPS Table 2) whole
                          on  one device; else those that keep rows where they are, such as Concat,
                          are  split as all others */
    bool input_f32;    /* inputs that may be pictures travel as float32, not as bytes */
    unsigned encodings; /* AD_ENCODING_BIT()s that all other values may travel in, too */
    bool in_order;      /* nothing is computed or sent early: the layout that is found runs in the
                           graph's order */
    enum ad_objective objective;
    const struct ad_balance *balance; /* of AD_OBJECTIVE_BALANCE; borrowed */
    int64_t latency_cap_ns;  /* the answer may take this long; 0: no cap, except under the objective
                                traffic: there the best single device's latency, if one device has
                                the memory */
    int64_t interval_cap_ns; /* answers of a stream may be so far apart; 0: no cap */
    double worth;            /* by this part of the plan's latency auto's several devices have to be
                                sooner than the best single one, or that one answers alone; 0: if
                                they are sooner at all. Only where later is always worse */
    const struct ad_assignment *from; /* strategy dn2pciot: where it starts; NULL: anywhere */
    /* What the search may spend. The same seed and evaluations give the same plan. A time limit
     * ends the improvement at a wall time; if it is the only limit, the improvement goes on until
     * then, and plans may differ from run to run. */
    uint64_t seed;         /* of random choices */
    int64_t evaluations;   /* layouts that auto's improvement may evaluate, and the largest number
                              of layouts that are enumerated; 0 = the default of each */
    int64_t effort;        /* multiple of auto's default number of evaluations; 0 = 1 */
    int64_t time_limit_ns; /* of auto's improvement, from the start of the search; 0 = none */
    int64_t deadline_ns;   /* the same as a time of ad_clock_ns(), for one of the searches of a run;
                              set by ad_search_run() */
};

/* The field `worth` for plans that people use. What is predicted of a shared medium is right within
 * some per cent (bench/results/NOTES.md), and others use it, too; elsewhere 0. */
double ad_search_worth(const struct ad_cluster *cluster);

/* The problem with one of so many parts of the time that is left until its deadline, if it has one.
 */
struct ad_search_problem ad_search_part(const struct ad_search_problem *problem, int parts);

/* Whether the plan is for a stream: several inferences in flight. */
static inline bool ad_search_streams(const struct ad_search_problem *problem)
{
    return problem->objective == AD_OBJECTIVE_THROUGHPUT || problem->interval_cap_ns > 0;
}

/* Whether later is always worse: what is later than the best needs no score. */
static inline bool ad_search_by_latency(const struct ad_search_problem *problem)
{
    return problem->objective == AD_OBJECTIVE_LATENCY && problem->interval_cap_ns == 0;
}

/* Whether inputs may travel as bytes. */
static inline bool ad_search_u8(const struct ad_search_problem *problem)
{
    return !problem->input_f32 && ad_picture_any(problem->graph);
}

/* The allowed encoding with the fewest bytes. */
enum ad_encoding ad_search_encoding(const struct ad_search_problem *problem);

/* The encoding that all links have while layouts are searched: among the allowed ones with fewer
 * bytes than float32, if there are any, the one that takes messages to the next device soonest,
 * encoding and decoding included, in the mean over all pairs of devices. Under the objective
 * traffic it is the one with the fewest bytes. */
enum ad_encoding ad_search_quickest(const struct ad_search_problem *problem);

#endif
