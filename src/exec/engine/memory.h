/* Offsets of buffers in one arena: two blocks may share bytes when they never live at the same
 * time.
 *
 * Time is the index of a task or transfer in a device's program. Greedy by size: the largest block
 * first, each into the tightest gap left by the placed blocks whose life meets its own. */
#ifndef AD_EXEC_ENGINE_MEMORY_H
#define AD_EXEC_ENGINE_MEMORY_H

#include "base/error.h"

#define AD_MEMORY_ALIGN 64

struct ad_extent {
    size_t bytes;    /* without slack */
    int first, last; /* life, both ends included; first <= last */
    size_t offset;   /* out: a multiple of AD_MEMORY_ALIGN */
};

/* Places `count` blocks, each followed by at least `slack` bytes of its own; *total is the size of
 * the arena. ADAPS_EINTERNAL without memory or when the sum of sizes exceeds SIZE_MAX. */
AD_MUST_CHECK enum adaps_status ad_memory_plan(struct ad_extent *blocks, size_t count, size_t slack,
                                               size_t *total, struct adaps_error *err);

#endif
