/* How long messages take, beside what the plan says, by times that agents send with every answer.
 * Only of plans by which one inference at a time is computed: in a stream of several, messages of
 * other inferences share the ports. */
#ifndef AD_CONTROL_LINK_WATCH_H
#define AD_CONTROL_LINK_WATCH_H

#include "plan/plan.h"

/* What a device says of an inference, by its own clock. */
struct ad_moves {
    int64_t begin_ns;
    int64_t *ns;  /* by SEND and RECV step of its program, since then: when the message was handed
                     over; when it was there, 0: not known, since nobody waited for it */
    size_t count; /* 0: it says nothing */
};

/* How many there are in a program. */
size_t ad_moves_count(const struct ad_program *program);

/* A device's clock minus the controller's, as far as it is known. */
struct ad_clock {
    double offset_ns, uncertainty_ns;
};

struct ad_link_watch;

/* ADAPS_NO: several inferences at a time. */
AD_MUST_CHECK enum adaps_status ad_link_watch_new(const struct adaps_plan *plan,
                                                  struct ad_link_watch **out,
                                                  struct adaps_error *err);
void ad_link_watch_free(struct ad_link_watch *watch); /* NULL is fine */

/* ratios: [from * ndevices + to], measured by planned time of the link's messages, 0 where nothing
 * is known. By the quickest of its messages a link is slower, if that took longer than the plan has
 * it with its waits, counted from when it was handed over and those before it had left its sender;
 * or faster, if it took less than it would take alone, counted from when it was handed over. Only
 * messages count whose receiver waited, that are among the link's large ones, that take a part of
 * the plan's time that matters, and more than the clocks may be off. moves, clocks: by device. */
void ad_link_watch_measure(struct ad_link_watch *watch, const struct ad_moves *moves,
                           const struct ad_clock *clocks, double *ratios);

#endif
