/* Where the templates exchange, and which ops they treat alike. */
#ifndef AD_SEARCH_AUTO_PATTERNS_H
#define AD_SEARCH_AUTO_PATTERNS_H

#include "search/context.h"

enum ad_pattern {
    AD_PIN_ALL,     /* every op exchanges */
    AD_PIN_CUTS,    /* ops where all paths meet */
    AD_PIN_WINDOWS, /* convolutions and pools */
    AD_PIN_SECOND,  /* every second of these */
    AD_PIN_FOURTH,
    AD_PIN_EIGHTH,
    AD_PIN_NONE,
    AD_PIN_READ,  /* what windows of several pixels read */
    AD_PIN_THIN,  /* between two of these windows the op with the fewest bytes in a row */
    AD_PIN_THIN2, /* every second of these */
    AD_PIN_THIN4,
    AD_PATTERNS
};

/* Bands are of whole rows. Staggered boundaries lie a part of a row before the place that the
 * shares give in some ops, and as much after it in the others: a device whose share of 14 rows
 * is 5.5 gets 5 rows in some ops and 6 in others. */
enum ad_stagger {
    AD_STAGGER_NONE,
    AD_STAGGER_SEGMENTS, /* before in every second segment */
    AD_STAGGER_WINDOWS,  /* before for convolutions of several pixels */
    AD_STAGGER_REST,     /* before for all others */
    AD_STAGGERS
};

#define AD_MAX_GROUPS 16

/* What the patterns need to know of a context's ops; all arrays by op. */
struct ad_patterns {
    const struct ad_context *context;
    int *windows, *thin;    /* how many windows, or thin ops, there are up to the op */
    bool *read, *thinnest;  /* AD_PIN_READ, AD_PIN_THIN */
    double *work, all_work; /* multiply-accumulates */
    int *enlargements;      /* ops that make a map higher on the way to the op */
    int *group;   /* of ops of one height after as many enlargements, or a part of these */
    int ngroups;  /* at least 1 */
    double *done; /* by op: the part of its group's work up to it and with it, 0 to 1 */
};

/* Free with ad_patterns_fini(), also after a failure. */
AD_MUST_CHECK enum adaps_status ad_patterns_init(struct ad_patterns *out,
                                                 const struct ad_context *context,
                                                 struct adaps_error *err);
void ad_patterns_fini(struct ad_patterns *patterns);

/* Whether a pattern pins an op. */
bool ad_pattern_pins(const struct ad_patterns *patterns, enum ad_pattern pattern, int op);

/* On which side of where shares put them an op's boundaries lie: -1 before, 1 after, 0 neither. */
int ad_pattern_side(const struct ad_patterns *patterns, enum ad_stagger stagger, int op);

#endif
