/* What the files of checks share. */
#ifndef AD_DOCTOR_JUDGE_H
#define AD_DOCTOR_JUDGE_H

#include "doctor/doctor.h"

/* What was found. */
void ad_judge(struct ad_finding *out, enum ad_verdict verdict, const char *fmt, ...)
    AD_PRINTF(3, 4);
/* What to do about it. */
void ad_advise(struct ad_finding *out, const char *fmt, ...) AD_PRINTF(2, 3);
/* The number behind it. expected: NAN when there is none. */
void ad_measured(struct ad_finding *out, double value, double expected, const char *unit);

/* --- check_reach.c --- */
void ad_judge_reach(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_key(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_protocol(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_version(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_session(const struct ad_patient *patient, struct ad_finding *out);

/* --- check_machine.c --- */
void ad_judge_clock(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_voltage(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_throttle(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_temperature(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_governor(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_threads(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_load(const struct ad_patient *patient, struct ad_finding *out);

/* --- check_memory.c --- */
void ad_judge_memory(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_swap(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_cache(const struct ad_patient *patient, struct ad_finding *out);

/* --- check_network.c --- */
void ad_judge_interface(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_mtu(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_loss(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_link(const struct ad_patient_pair *pair, struct ad_finding *out);
void ad_judge_rate_there(const struct ad_patient_pair *pair, struct ad_finding *out);
void ad_judge_rate_back(const struct ad_patient_pair *pair, struct ad_finding *out);
void ad_judge_latency(const struct ad_patient_pair *pair, struct ad_finding *out);

/* --- check_time.c --- */
void ad_judge_speed(const struct ad_patient *patient, struct ad_finding *out);
void ad_judge_together(const struct ad_patient_cluster *cluster, struct ad_finding *out);

#endif
