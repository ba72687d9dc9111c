/* A second, slow opinion about geometry: which input elements an output element reads, from the
 * operators' definitions, element by element. Shares no code with fusion/. */
#ifndef TESTS_NAIVE_READS_H
#define TESTS_NAIVE_READS_H

#include "ir/graph.h"

/* Called for every element h, w, c of input k that is read (some of them more than once). */
typedef void ad_naive_visit(void *self, int k, int h, int w, int c);

/* All reads of the output element h, w, c of one image. An operator without a spatial rule reads
 * all inputs for any element. */
void ad_naive_reads(const struct ad_graph *graph, const struct ad_op *op, int h, int w, int c,
                    ad_naive_visit *visit, void *self);

/* Whether computing the box h0:h1, w0:w1, c0:c1 (not empty) by itself is allowed
 * (see ad_region_allowed). */
bool ad_naive_allowed(const struct ad_graph *graph, const struct ad_op *op, int h0, int h1, int w0,
                      int w1, int c0, int c1);

#endif
