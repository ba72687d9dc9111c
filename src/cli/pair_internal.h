/* What the files of adaps pair share: pair.c (the command), pair_manual.c (without ssh),
 * pair_measure.c (its end). */
#ifndef AD_CLI_PAIR_INTERNAL_H
#define AD_CLI_PAIR_INTERNAL_H

#include "cli/pairing.h"

struct ad_pair {
    struct ad_pairing pairing;
    const char *key_file; /* of the controller; NULL: the default place */
    bool own, manual, no_measure;
    bool refresh;  /* no board was named: all are measured again */
    bool measured; /* which was done */
};

/* Asks the boards that are in cluster.conf now, and measures those that answer unless that was done
 * before. What fails is told. */
void ad_pair_measure(struct ad_pair *pair);

/* Without operands, prints what to type on a board and here; operands NAME=ADDRESS=KEY are boards
 * where that was done, which become part of cluster.conf. Returns an exit code; what is told later
 * on is in the pairing. */
int ad_pair_by_hand(struct ad_pair *pair, const struct ad_operands *operands);

/* Prints what to type on a board that is reached by nobody's ssh, so that it lets the others in. */
void ad_pair_tell_by_hand(const struct ad_pairing *pairing, const struct ad_pair_board *board);

/* Makes a board's section in cluster.conf say what is known of it. */
void ad_pair_note(struct ad_pair *pair, struct ad_pair_board *board);

/* Writes cluster.conf, and tells what fails. */
void ad_pair_save(struct ad_pair *pair);

#endif
