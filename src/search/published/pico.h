/* PICO's two programmes; for pico.c and its tests. */
#ifndef AD_SEARCH_PUBLISHED_PICO_H
#define AD_SEARCH_PUBLISHED_PICO_H

#include "search/context.h"

/* Pieces: consecutive levels of the graph. An op's level is the length of the longest way to it
 * from an input. */
struct ad_pico_pieces {
    int *order;     /* the ops by level, then as in the graph */
    int *level_end; /* by level: the place in the order at which it ends */
    int nlevels;
    int *first_end; /* by level at which a piece begins: where it may end at the soonest */
    int *end;       /* by piece: the level at which it ends */
    int count;
    int64_t redundant_ns; /* of the piece with most: what two equal halves compute twice */
};

/* Levels that a piece has at most, where it need not have more to be one. */
#define AD_PIECE_LEVELS 5

/* seconds: of each whole op. Free with ad_pico_pieces_fini(), on failure, too. */
AD_MUST_CHECK enum adaps_status ad_pico_pieces_find(const struct ad_context *context,
                                                    const double *seconds,
                                                    struct ad_pico_pieces *out,
                                                    struct adaps_error *err);
void ad_pico_pieces_fini(struct ad_pico_pieces *pieces);

/* Whether levels [begin, end) may be a piece. */
bool ad_pico_pieces_may(const struct ad_pico_pieces *pieces, int begin, int end);

/* Pieces [begin, end) on so many devices. */
struct ad_pico_stage {
    int begin, end, devices;
};

/* Numbers of devices that a stage may have, ascending: all up to 8, then every fourth. */
#define AD_PICO_SIZES (8 + AD_MAX_DEVICES / 4)

/* The programme of stages, for equal devices. */
struct ad_pico {
    int npieces, ndevices;
    int nsizes, sizes[AD_PICO_SIZES];
    double *stage_s; /* ad_pico_stage_at() */
    int nstages;
    struct ad_pico_stage stages[AD_MAX_DEVICES];
    double period_s; /* of the longest of them: the shortest that there is; of equal ones that with
                        the least sum */
};

/* Seconds that pieces [begin, end) take sizes[size] devices. */
static inline double *ad_pico_stage_at(const struct ad_pico *p, int begin, int end, int size)
{
    return &p->stage_s[((size_t)begin * (size_t)(p->npieces + 1) + (size_t)end) *
                           (size_t)p->nsizes +
                       (size_t)size];
}

/* Finds the stages by stage_s. */
AD_MUST_CHECK enum adaps_status ad_pico_solve(struct ad_pico *pico, struct adaps_error *err);

#endif
