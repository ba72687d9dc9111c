/* Where the templates exchange, and which ops they treat alike. Internal to search/. */
#ifndef AD_SEARCH_PATTERNS_H
#define AD_SEARCH_PATTERNS_H

#include "search/layout.h"

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

#define AD_MAX_GROUPS 10

/* What the patterns need to know of a terrain's ops; all arrays by op. */
struct ad_patterns {
    const struct ad_terrain *terrain;
    int *windows, *thin;    /* how many windows, or thin ops, there are up to it */
    bool *read, *thinnest;  /* AD_PIN_READ, AD_PIN_THIN */
    double *work, all_work; /* multiply-accumulates */
    int *group;             /* of ops whose outputs are of one height, or a part of these */
    int ngroups;            /* at least 1 */
};

/* Free with ad_patterns_fini(), also after a failure. */
AD_MUST_CHECK enum adaps_status ad_patterns_init(struct ad_patterns *out,
                                                 const struct ad_terrain *terrain,
                                                 struct adaps_error *err);
void ad_patterns_fini(struct ad_patterns *patterns);

/* Whether a pattern pins an op. */
bool ad_pattern_pins(const struct ad_patterns *patterns, enum ad_pattern pattern, int op);

#endif
