/* Emulated speeds that change as inferences are computed, as those of a board that gets too hot. */
#ifndef AD_EXEC_AGENT_SPEEDS_H
#define AD_EXEC_AGENT_SPEEDS_H

#include "base/error.h"

#define AD_SPEEDS_MOST 8

struct ad_speeds {
    double first; /* fraction of full speed, (0, 1] */
    int nchanges;
    struct ad_speed_change {
        int64_t after; /* inferences that this agent has begun */
        double speed;
    } changes[AD_SPEEDS_MOST]; /* ascending */
};

/* changes: "N:F,...", or NULL: none. ADAPS_EUSAGE: not such a text, or numbers of inferences that
 * do not ascend. */
AD_MUST_CHECK enum adaps_status ad_speeds_parse(double first, const char *changes,
                                                struct ad_speeds *out, struct adaps_error *err);

/* The speed of an inference before which so many were begun. */
double ad_speeds_at(const struct ad_speeds *speeds, int64_t begun);

/* Whether some of them is emulated. */
bool ad_speeds_emulated(const struct ad_speeds *speeds);

#endif
