/* The prediction compared with measurements: the plan's clocks with traced inferences. */
#ifndef AD_REPORT_PREDICT_H
#define AD_REPORT_PREDICT_H

#include "control/trace.h"

#include <stdio.h>

/* Traces of inferences of one plan. What is compared is the median over the inferences. */
struct ad_predict {
    const struct adaps_plan *plan;
    size_t room, runs;
    double *values;         /* [quantity * room + run], ns; NAN where it is not known */
    size_t *first;          /* by device: the quantity that is its first step's */
    int64_t uncertainty_ns; /* of a device's clock, the largest */
};

/* Room for so many inferences. */
AD_MUST_CHECK enum adaps_status ad_predict_init(struct ad_predict *out,
                                                const struct adaps_plan *plan, size_t runs,
                                                struct adaps_error *err);
void ad_predict_fini(struct ad_predict *predict);

/* Adds a trace, for which there must be room. Only its times are kept. */
AD_MUST_CHECK enum adaps_status
ad_predict_add(struct ad_predict *predict, const struct ad_trace *trace, struct adaps_error *err);

/* Tables of latency, devices and links: predicted, measured, error; and the step that errs most. */
AD_MUST_CHECK enum adaps_status ad_report_predict(struct ad_predict *predict, FILE *out,
                                                  struct adaps_error *err);
/* adaps-json(5), bench --predict. */
AD_MUST_CHECK enum adaps_status ad_report_predict_json(struct ad_predict *predict, FILE *out,
                                                       struct adaps_error *err);
/* A line per quantity: kind, name, step, predicted_ms, measured_ms, error_percent. */
AD_MUST_CHECK enum adaps_status ad_report_predict_tsv(struct ad_predict *predict, FILE *out,
                                                      struct adaps_error *err);

#endif
