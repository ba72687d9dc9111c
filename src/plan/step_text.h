/* Steps of a plan, of one of its turns, in words, for messages, reports and pictures. Names are as
 * the plan has them: who prints to a terminal cleans them. All return buf. */
#ifndef AD_PLAN_STEP_TEXT_H
#define AD_PLAN_STEP_TEXT_H

#include "plan/plan.h"

/* What a step works on: "conv1", "conv1 .. relu3 (5 ops)", or a value's name. */
char *ad_step_subject(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                      size_t size);

/* The region that it sends, receives, or computes last: "rows 28:56, channels 0:8", "all". */
char *ad_step_region(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                     size_t size);

/* All of it: "COMPUTE conv1 .. pool1 (3 ops) rows 28:56", "RECV relu1 rows 27:28 from local0". */
char *ad_step_text(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                   size_t size);

/* "step 14 of 40 (RECV relu1 rows 27:28 from local0)", counted from 1; for errors. A step outside
 * of the program is its first or last; "no step" where there are none. */
char *ad_step_where(const struct adaps_plan *plan, int turn, int device, int step, char *buf,
                    size_t size);

#endif
