/* Whether what is measured of devices and links stays what a plan predicts. Neither clocks nor
 * sockets: it is told ratios and answers by them alone.
 *
 * The ratio of a subject (a device, a link) in an inference is measured by predicted time: 2 is
 * half as fast. Its level is the ratio that is taken for granted, 1 at first. A subject is away
 * when the median of its latest AD_DRIFT_MEDIAN ratios is more than AD_DRIFT_BAND times its level,
 * or less than its level by so much. It drifts when it has been away to the same side for as many
 * inferences in a row as drifts must last, and half a median more, by which noise may lengthen what
 * does not last. That is AD_DRIFT_LASTS, and twice as many after each drift that was settled, until
 * all have been calm for a while: so what comes and goes is not followed for ever. */
#ifndef AD_CONTROL_DRIFT_H
#define AD_CONTROL_DRIFT_H

#include "base/error.h"

#define AD_DRIFT_LASTS 20    /* inferences */
#define AD_DRIFT_DOUBLINGS 5 /* of these, at most */
#define AD_DRIFT_CALM 4      /* times as many without any subject away: AD_DRIFT_LASTS again */
#define AD_DRIFT_MEDIAN 9    /* ratios: four that are off do not matter */
#define AD_DRIFT_BAND 1.25   /* noise of 10 % moves the median of nine by 4 % */
#define AD_DRIFT_KEPT AD_DRIFT_LASTS

struct ad_drift_subject {
    double ratios[AD_DRIFT_KEPT]; /* the latest, by count modulo their number */
    int64_t count;
    double level;
    int side;     /* where it is away to: 1 slower, -1 faster, 0 not away */
    int64_t away; /* inferences in a row, on that side */
};

struct ad_drift {
    struct ad_drift_subject *subjects;
    int nsubjects;
    int64_t lasts; /* how long a drift must last now */
    int64_t calm;  /* inferences in a row with nothing away */
};

AD_MUST_CHECK enum adaps_status ad_drift_init(struct ad_drift *out, int nsubjects,
                                              struct adaps_error *err);
void ad_drift_fini(struct ad_drift *drift);

/* A ratio of this inference; one that is not above 0 and finite is no measurement. */
void ad_drift_observe(struct ad_drift *drift, int subject, double ratio);

/* The inference is over. -1: nothing drifts; else the subject that is furthest from its level of
 * those that drift or have been away for half as long. Goes on to say so until that is settled. */
int ad_drift_next(struct ad_drift *drift);

/* The median of the ratios that are kept; its level when there are none. */
double ad_drift_ratio(const struct ad_drift *drift, int subject);

/* What was found is settled: the present ratios become the levels. */
void ad_drift_accept(struct ad_drift *drift);

/* Another plan is in use: ratios are forgotten, and levels are 1. */
void ad_drift_restart(struct ad_drift *drift);

#endif
