/* Energy: what an inference takes of the devices, by the clocks and their power (struct ad_power).
 *
 * A device that a plan uses, which computes, sends or receives, and the source draw idle power all
 * the time: from the input to the answer where inferences follow one after the other, from answer
 * to answer in a stream. More is drawn for each thread while tasks are computed, and while
 * messages occupy the device's port. A device without work may be switched off and counts nothing.
 *
 * Energies are in pJ, thousandths of a watt times ns, so sums are exact. INT64_MAX stands for all
 * that is more. */
#ifndef AD_SCHEDULE_ENERGY_H
#define AD_SCHEDULE_ENERGY_H

#include "schedule/stream.h"

struct ad_energy ad_energy_of(const struct ad_cluster *cluster, const struct ad_loads *loads);

/* In all; -1: not known. */
int64_t ad_energy_pj(const struct ad_energy *energy, int64_t time_ns);

/* The energy of a plan's inference. */
struct ad_energy_figures {
    int64_t all_pj;                    /* -1: not known */
    int64_t device_pj[AD_MAX_DEVICES]; /* 0: not in use; -1: not known */
};

/* Of an inference of a stream, in the mean over its deal; the stream's interval is known. With one
 * turn and one inference in flight, the time is that of the schedule. */
AD_MUST_CHECK enum adaps_status
ad_energy_figures(const struct ad_graph *graph, const struct ad_cluster *cluster,
                  const struct ad_schedule *first, const struct ad_stream *stream,
                  struct ad_energy_figures *out, struct adaps_error *err);

/* Of one inference by itself; -1: not known. */
AD_MUST_CHECK enum adaps_status ad_energy_alone(const struct ad_graph *graph,
                                                const struct ad_cluster *cluster,
                                                const struct ad_schedule *schedule, int64_t *pj,
                                                struct adaps_error *err);

#endif
