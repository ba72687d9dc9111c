/* What is wrong with a cluster: facts of its devices and links (patient.h) go in, and each check of
 * a table makes a finding of them. Checks only judge; src/cli/doctor_examine.c gets the facts. */
#ifndef AD_DOCTOR_DOCTOR_H
#define AD_DOCTOR_DOCTOR_H

#include "doctor/patient.h"

enum ad_verdict {
    AD_VERDICT_UNKNOWN, /* the device does not say, or it was not tried */
    AD_VERDICT_OK,
    AD_VERDICT_WARNING, /* it works, and could be better */
    AD_VERDICT_BAD,     /* it does not work, or far worse than planned */
    AD_VERDICTS
};

/* "unknown", "ok", "warning", "bad". */
const char *ad_verdict_name(enum ad_verdict verdict);

/* Texts of strangers in it are not clean. */
struct ad_finding {
    enum ad_verdict verdict;
    char found[400];
    char advice[400];       /* what to do, a command where there is one; "" when nothing is */
    double value, expected; /* NAN where there is none; both in: */
    const char *unit;       /* "s", "bytes", "C", ...; "" without a value */
};

/* A row of the tables. id: does not change from version to version. */
struct ad_device_check {
    const char *id;
    const char *what;   /* in a few words */
    bool of_its_answer; /* only for a device that has answered */
    bool measured;      /* not when agents are only asked */
    void (*judge)(const struct ad_patient *patient, struct ad_finding *out);
};
struct ad_pair_check {
    const char *id;
    const char *what;
    bool of_its_times; /* only when messages between the two were timed */
    void (*judge)(const struct ad_patient_pair *pair, struct ad_finding *out);
};
struct ad_cluster_check {
    const char *id;
    const char *what;
    void (*judge)(const struct ad_patient_cluster *cluster, struct ad_finding *out);
};
/* Each ends with a row without id. */
extern const struct ad_device_check ad_device_checks[];
extern const struct ad_pair_check ad_pair_checks[];
extern const struct ad_cluster_check ad_cluster_checks[];

/* One check of one device, pair or cluster; `out` is initialised. False: it is not for it. */
bool ad_doctor_device(const struct ad_device_check *check, const struct ad_patient *patient,
                      struct ad_finding *out);
bool ad_doctor_pair(const struct ad_pair_check *check, const struct ad_patient_pair *pair,
                    struct ad_finding *out);
void ad_doctor_cluster(const struct ad_cluster_check *check,
                       const struct ad_patient_cluster *cluster, struct ad_finding *out);

#endif
