/* Spares in plan files. Shared by the reader and the writer. */
#ifndef AD_PLAN_SPARES_H
#define AD_PLAN_SPARES_H

#include "plan/internal.h"
#include "plan/plan.pb-c.h"

/* What a spare's message has, from and to the message of a whole plan. Lists and texts are
 * borrowed. To a plan: the other fields are those of the plan that it belongs to, without its
 * spares. */
void ad_plan_spare_from_work(const Adaps__Plan__Plan *work, Adaps__Plan__Spare *spare);
Adaps__Plan__Plan ad_plan_spare_to_work(const Adaps__Plan__Plan *plan,
                                        const Adaps__Plan__Spare *spare);

#endif
