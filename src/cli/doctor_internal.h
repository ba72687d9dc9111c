/* Shared by the files of adaps doctor. */
#ifndef AD_CLI_DOCTOR_INTERNAL_H
#define AD_CLI_DOCTOR_INTERNAL_H

#include "cli/cli.h"
#include "doctor/doctor.h"

/* All that is known of a cluster. */
struct ad_examination {
    const struct ad_cluster *cluster;
    const struct ad_session_options *session;
    bool quick;                  /* nothing runs on agents */
    struct ad_patient *patients; /* by device */
    struct ad_patient_pair
        *pairs; /* each once, in the order of devices; of many, those with the source */
    int npairs;
    struct ad_patient_cluster together;
    char own_key[AD_KEY_BYTES];
};

/* Asks the agents and measures; what fails is a fact like others. session and plan (nullable: what
 * memory is compared with) are borrowed. ADAPS_EINPUT: this side's key file; ADAPS_EINTERNAL. */
AD_MUST_CHECK enum adaps_status ad_examination_make(const struct ad_cluster *cluster,
                                                    const struct ad_session_options *session,
                                                    const struct adaps_plan *plan, bool quick,
                                                    struct ad_examination *out,
                                                    struct adaps_error *err);
void ad_examination_free(struct ad_examination *examination);

/* A finding, and of what. */
struct ad_diagnosis {
    const char *id, *what;
    const struct ad_device *device, *peer; /* NULL: of no device, of no pair */
    struct ad_finding finding;
};
struct ad_diagnoses {
    struct ad_diagnosis *items; /* devices, pairs, the cluster */
    size_t count, capacity;
    int counts[AD_VERDICTS];
};
AD_MUST_CHECK enum adaps_status ad_diagnoses_make(const struct ad_examination *examination,
                                                  struct ad_diagnoses *out,
                                                  struct adaps_error *err);
void ad_diagnoses_free(struct ad_diagnoses *diagnoses);

/* For people, or adaps-json(5). Both return the exit code. */
int ad_doctor_print(const struct ad_examination *examination, const struct ad_diagnoses *diagnoses);
int ad_doctor_print_json(const struct ad_diagnoses *diagnoses);

#endif
