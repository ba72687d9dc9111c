/* Ends a wait of one thread from another one: to have it look again, or to have it give up. */
#ifndef AD_BASE_INTERRUPT_H
#define AD_BASE_INTERRUPT_H

#include "base/error.h"

#include <stdatomic.h>

struct ad_interrupt {
    int fd; /* readable: somebody has woken or cancelled it; -1: not initialised */
    atomic_int given_up;
};

/* ADAPS_EINTERNAL: no descriptor is left. */
AD_MUST_CHECK enum adaps_status ad_interrupt_init(struct ad_interrupt *interrupt,
                                                  struct adaps_error *err);
void ad_interrupt_fini(struct ad_interrupt *interrupt);

/* From any thread. The wait that goes on, or the next one, ends early. */
void ad_interrupt_wake(struct ad_interrupt *interrupt);

/* From any thread. All waits end at once, until ad_interrupt_reset(). */
void ad_interrupt_cancel(struct ad_interrupt *interrupt);
void ad_interrupt_reset(struct ad_interrupt *interrupt);

/* Of the thread that waits. Whether it was woken since the last time; whether it is cancelled. */
bool ad_interrupt_woken(struct ad_interrupt *interrupt);
bool ad_interrupt_cancelled(const struct ad_interrupt *interrupt);

#endif
