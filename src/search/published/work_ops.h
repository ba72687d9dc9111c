/* The ops of a network as a work graph, and its partitionings as layouts. A vertex is a band of an
 * op's output: rows, columns of a map without rows to part, or channels, where there are no others
 * or where weights are more than values. Inputs lie on the source, which also takes the outputs. */
#ifndef AD_SEARCH_PUBLISHED_WORK_OPS_H
#define AD_SEARCH_PUBLISHED_WORK_OPS_H

#include "search/context.h"
#include "search/published/work_graph.h"

struct ad_work_ops {
    const struct ad_context *context;
    struct ad_work_graph graph;
    int *first;       /* [nops + 1]: an op's vertices, in the order of its bands */
    int *op;          /* by vertex: -1: of an input, or what takes the outputs */
    enum ad_dim *dim; /* by op: of its bands */
    bool *fixed;      /* by vertex */
    int64_t *limit;   /* the graph's, which may be changed */
    struct ad_arena arena;
};

/* Of the context's problem. Free with ad_work_ops_fini(), on failure, too. */
AD_MUST_CHECK enum adaps_status ad_work_ops_init(struct ad_work_ops *out,
                                                 const struct ad_context *context,
                                                 struct adaps_error *err);
void ad_work_ops_fini(struct ad_work_ops *ops);

/* What a layout can hold: along an op's bands the devices ascend. data: struct ad_work_ops. As
 * ad_kl_options.allows. */
bool ad_work_ops_allows(const void *data, const int *part, int v, int to);

/* Makes them ascend, with as many bands of each op on each device as before. Vertices that are
 * fixed go to the source. */
void ad_work_ops_sort(const struct ad_work_ops *ops, int *part);

/* part: each band where an assignment has most of it; ascending. */
void ad_work_ops_of(const struct ad_work_ops *ops, const struct ad_assignment *assignment,
                    int *part);

/* Every op exchanged, in the bands of part, which must ascend. */
void ad_work_ops_layout(const struct ad_work_ops *ops, const int *part, struct ad_layout *layout);

#endif
