/* JSON by jansson. Building blocks return NULL without memory; jansson's packing passes that on, so
 * a report checks once, in ad_report_json_print(). */
#ifndef AD_REPORT_JSON_H
#define AD_REPORT_JSON_H

#include "plan/plan.h"

#include <jansson.h>
#include <stdio.h>

/* Appends item, taking it over; NULL (the list released) when either failed. */
json_t *ad_report_json_append(json_t *list, json_t *item);

/* Sets key of an object, taking value over; NULL (the object released) when either failed. */
json_t *ad_report_json_set(json_t *object, const char *key, json_t *value);
json_t *ad_report_json_text(const char *s); /* cleaned: JSON must be UTF-8 */
json_t *
ad_report_json_region(struct ad_region region); /* [h0, h1, w0, w1, c0, c1], null when empty */
json_t *ad_report_json_dims(int rank, const int64_t *dims);
json_t *ad_report_json_ms(int64_t ns);
json_t *ad_report_json_number(double value); /* null for NAN and infinities, which JSON lacks */
json_t *ad_report_json_real(double value);   /* the largest finite number for these */
json_t *ad_report_json_finite(double value); /* null for these */
json_t *ad_report_json_joules(int64_t pj);   /* null for -1, not known */
json_t *ad_report_json_digest(const struct ad_digest *digest);

/* What adaps plan --json and adaps show --json have in common. NULL: err says why. */
json_t *ad_report_json_plan(const struct adaps_plan *plan, struct adaps_error *err);

/* Writes root, indented, with a newline, and releases it; NULL is ADAPS_EINTERNAL, no memory. */
AD_MUST_CHECK enum adaps_status ad_report_json_print(json_t *root, FILE *out,
                                                     struct adaps_error *err);

#endif
