/* What of a band can be computed before all that it reads has arrived: the rows that are ready with
 * each chunk of the network's inputs, and the core that needs no message of an early op (pieces.h).
 * Forwards over the ops: the cuts of those before are known. Internal to schedule/. */
#ifndef AD_SCHEDULE_ARRIVALS_H
#define AD_SCHEDULE_ARRIVALS_H

#include "schedule/pieces.h"

#define AD_MAX_FOLLOWED 16 /* of an op with more inputs it is not known what is ready */

/* While the inputs come in chunks: devices on which they have not all come. */
struct ad_input_wait {
    uint64_t devices;              /* bits */
    int64_t spent[AD_MAX_DEVICES]; /* ns computed since the inputs began to come */
};

void ad_arrivals_begin(struct ad_pieces *p, struct ad_input_wait *out);

/* Another op is computed. */
void ad_arrivals_computed(struct ad_pieces *p, int op, struct ad_cut *cut,
                          struct ad_input_wait *wait);

/* The rows up to which an op's band can be computed with each chunk of the inputs. */
void ad_arrivals_rows(struct ad_pieces *p, int op, int device, struct ad_ready_rows *out);

/* The stamp of what is known of a value's ready rows; 0: it has none. */
uint64_t ad_arrivals_rows_stamp(const struct ad_pieces *p, int value);

/* The core of an op's band, into the cut. None where it is less than a third of the band, or not of
 * its width. */
void ad_arrivals_core(struct ad_pieces *p, int op, int device, struct ad_cut *cut);

/* What the cores of an op depend on: two numbers per input. */
void ad_arrivals_core_key(const struct ad_pieces *p, const struct ad_op *op, uint64_t *key);

#endif
