/* The facts of which checks judge. Times are seconds. */
#ifndef AD_DOCTOR_PATIENT_H
#define AD_DOCTOR_PATIENT_H

#include "control/probe.h"
#include "cost/cluster.h"
#include "doctor/reach.h"
#include "wire/keys.h"

/* What was predicted of an inference, and what it took. */
struct ad_foretold {
    bool tried; /* false: not asked for, or not possible; why: */
    const char *why;
    bool failed; /* with: */
    struct adaps_error err;
    double predicted_s, measured_s;
};

struct ad_patient {
    const struct ad_device *device;
    const char *version;        /* of this side's package */
    char own_key[AD_KEY_BYTES]; /* public, of this side; "" without one */
    bool answered;              /* else: */
    struct ad_contact reach;    /* and: */
    struct adaps_error err;
    enum ad_agent_trouble trouble;
    int protocol;
    struct ad_agent_status status; /* before anything was measured */
    struct ad_agent_health health;
    bool looked_again; /* after everything was measured: */
    struct ad_agent_health later;
    double later_s; /* how long after */
    bool planned;   /* there is a plan, in which it needs so much memory: */
    uint64_t needed;
    struct ad_foretold trial; /* computing, alone */
};

struct ad_patient_pair {
    const struct ad_device *a, *b;
    struct ad_link there, back; /* as the devices file has them */
    const char *why;            /* why nothing was measured; NULL: it was, or: */
    bool failed;
    struct adaps_error err;
    struct ad_link_times times;
};

struct ad_patient_cluster {
    int devices;              /* that the plan was for */
    struct ad_foretold trial; /* answering, together */
};

#endif
