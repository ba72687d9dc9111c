/* Shared by the two halves of the plan's reader. */
#ifndef AD_PLAN_UNPACK_H
#define AD_PLAN_UNPACK_H

#include "plan/internal.h"
#include "plan/plan.pb-c.h"

/* What protobuf may allocate: steps take about seven times their bytes, and a byte is a byte; an
 * empty message, two bytes in the file, takes up to a few hundred. */
#define AD_PLAN_BUDGET_FACTOR 12
#define AD_PLAN_BUDGET_BASE ((size_t)4 << 20)

/* `what` names the thing in the message when the digest has not the right size. */
AD_MUST_CHECK enum adaps_status ad_plan_unpack_digest(const ProtobufCBinaryData *from,
                                                      struct ad_digest *to, const char *what,
                                                      struct adaps_error *err);

/* A graph that satisfies ad_graph_verify(), the caller's (ad_graph_free). m may be NULL: refused.
 */
AD_MUST_CHECK enum adaps_status
ad_plan_unpack_graph(const Adaps__Plan__Graph *m, struct ad_graph **out, struct adaps_error *err);

#endif
