/* Shared by the two halves of the plan's reader. */
#ifndef AD_PLAN_UNPACK_H
#define AD_PLAN_UNPACK_H

#include "plan/internal.h"
#include "plan/plan.pb-c.h"

/* `what` names the thing in the message when the digest has not the right size. */
AD_MUST_CHECK enum adaps_status ad_plan_unpack_digest(const ProtobufCBinaryData *from,
                                                      struct ad_digest *to, const char *what,
                                                      struct adaps_error *err);

/* A graph that satisfies ad_graph_verify(), the caller's (ad_graph_free). m may be NULL: refused.
 */
AD_MUST_CHECK enum adaps_status
ad_plan_unpack_graph(const Adaps__Plan__Graph *m, struct ad_graph **out, struct adaps_error *err);

#endif
