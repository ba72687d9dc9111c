/* What people see: tables, JSON, pictures. Nothing here computes; everything is read off a graph or
 * a plan. All functions write to `out` and return ADAPS_OK, or ADAPS_EINTERNAL when writing fails.
 */
#ifndef AD_REPORT_REPORT_H
#define AD_REPORT_REPORT_H

#include "control/trace.h"
#include "search/pareto/pareto.h"
#include "search/strategies/compare.h"

#include <stdio.h>

/* adaps inspect: per op name, type, class 1/2/3, output dims, MACs, weights, block; totals. */
AD_MUST_CHECK enum adaps_status ad_report_inspect(const struct ad_graph *graph,
                                                  const struct ad_blocks *blocks, FILE *out,
                                                  struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_inspect_json(const struct ad_graph *graph,
                                                       const struct ad_blocks *blocks, FILE *out,
                                                       struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_inspect_dot(const struct ad_graph *graph,
                                                      const struct ad_blocks *blocks, FILE *out,
                                                      struct adaps_error *err);

/* adaps plan: the summary of a plan: per device share, busy, memory, weights, bytes in and out;
 * predicted latency, best single device, bytes and messages, search effort, why. */
AD_MUST_CHECK enum adaps_status ad_report_plan(const struct adaps_plan *plan, FILE *out,
                                               struct adaps_error *err);

/* {"strategy":…,"predicted_ms":…,"bytes":…,"messages":…,"memory_bytes":[…],"visited":…,"search_s":…,
 *  "lower_bound_ms":…,"single_ms":…,"single_device":…,"devices":[…],"layouts":[{"op":…,"value":…,"regions":[…]}]}
 */
AD_MUST_CHECK enum adaps_status ad_report_plan_json(const struct adaps_plan *plan, FILE *out,
                                                    struct adaps_error *err);

/* adaps plan --strategy all: a row per strategy with a plan, then why the others have none. JSON:
 * {"strategies":[{"strategy":…,"predicted_ms":…,"bytes":…,"messages":…,"memory_bytes":[…],"visited":…,
 *  "search_s":…,"lower_bound_ms":…} or {"strategy":…,"error":…}, …]} */
AD_MUST_CHECK enum adaps_status ad_report_compare(const struct ad_comparison *items, int count,
                                                  const struct ad_cluster *cluster, FILE *out,
                                                  struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_compare_json(const struct ad_comparison *items, int count,
                                                       const struct ad_cluster *cluster, FILE *out,
                                                       struct adaps_error *err);

/* adaps plan --pareto: a row per plan of the front, by number; the same as JSON; and a picture with
 * a panel for each two objectives. files: where plan i was written; NULL: nowhere. */
AD_MUST_CHECK enum adaps_status ad_report_pareto(const struct ad_pareto *front,
                                                 const struct ad_cluster *cluster, FILE *out,
                                                 struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_pareto_json(const struct ad_pareto *front,
                                                      const struct ad_cluster *cluster,
                                                      char *const *files, FILE *out,
                                                      struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_pareto_svg(const struct ad_pareto *front, FILE *out,
                                                     struct adaps_error *err);

/* adaps show: the steps of every device with regions and predicted times. */
AD_MUST_CHECK enum adaps_status ad_report_steps(const struct adaps_plan *plan, FILE *out,
                                                struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_steps_json(const struct adaps_plan *plan, FILE *out,
                                                     struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_plan_dot(const struct adaps_plan *plan, FILE *out,
                                                   struct adaps_error *err);
/* The predicted timeline: SVG picture, Chrome trace JSON (Perfetto). The page is report/page/page.h. */
AD_MUST_CHECK enum adaps_status ad_report_svg(const struct adaps_plan *plan, FILE *out,
                                              struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_trace(const struct adaps_plan *plan, FILE *out,
                                                struct adaps_error *err);
/* The same of one inference as it was measured. */
AD_MUST_CHECK enum adaps_status ad_report_measured_trace(const struct adaps_plan *plan,
                                                         const struct ad_trace *trace, FILE *out,
                                                         struct adaps_error *err);

/* adaps simulate: per device busy, idle, waiting; per link bytes and use; the critical steps. */
AD_MUST_CHECK enum adaps_status ad_report_simulation(const struct adaps_plan *plan, FILE *out,
                                                     struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_report_simulation_json(const struct adaps_plan *plan, FILE *out,
                                                          struct adaps_error *err);

/* ad_step_text() (plan/step_text.h), made safe for terminals. Returns buf. */
char *ad_report_step(const struct adaps_plan *plan, int device, int step, char *buf, size_t size);

#endif
