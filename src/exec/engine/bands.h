/* Depthwise convolutions and the 1x1 convolutions before and after them, band of rows by band of
 * rows: what passes from one to the next is read while it is in the cache, and lies in the same
 * place for every band. Where a map is made in parts, rows that one part reads of another are
 * computed once more. Bands are tasks like others, so they change no bit. What a plan counts of
 * memory and time is that of whole layers, which is more. */
#ifndef AD_EXEC_ENGINE_BANDS_H
#define AD_EXEC_ENGINE_BANDS_H

#include "schedule/schedule.h"

/* A program as an engine executes it: the steps are those of the plan, with more tasks. */
struct ad_row_bands {
    struct ad_program program;
    bool *passing; /* by value: only a band of it is there at a time, from row 0 on */
};

/* Where what passes between such layers is more than twice `cache` (bytes, of all threads
 * together), they are cut into bands of which it is half of that. ADAPS_EINTERNAL without memory;
 * nothing is to be freed then. */
AD_MUST_CHECK enum adaps_status ad_row_bands_find(const struct ad_graph *graph,
                                                  const struct ad_program *program, size_t cache,
                                                  struct ad_row_bands *out,
                                                  struct adaps_error *err);
void ad_row_bands_fini(struct ad_row_bands *bands);

#endif
