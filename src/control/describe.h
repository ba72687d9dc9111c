/* Steps of a plan in words, for messages. */
#ifndef AD_CONTROL_DESCRIBE_H
#define AD_CONTROL_DESCRIBE_H

#include "plan/plan.h"

/* "COMPUTE conv3_1 rows 28:56", "COMPUTE conv1 .. pool1 ...", "RECV relu1 rows 27:28 from local0".
 * Steps are counted from 0; "the end" behind the last. Returns buf. */
char *ad_step_describe(const struct adaps_plan *plan, int device, int step, char *buf, size_t size);

/* "step 14 of 40 (...)", counted from 1. Returns buf. */
char *ad_step_where(const struct adaps_plan *plan, int device, int step, char *buf, size_t size);

#endif
