/* What this machine says of itself (Linux). */
#ifndef AD_BASE_MACHINE_H
#define AD_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

struct ad_machine {
    char kind[64]; /* "x86_64 Linux 6.1.0" */
    int cores;     /* that this process may use */
    double load1;
    char cpu[64];         /* "Cortex-A76", "" when unknown */
    double frequency_hz;  /* of the first core, now; NAN when unknown */
    double temperature_c; /* the hottest thermal zone; NAN when there is none */
    uint64_t memory_total, memory_available;
};
void ad_machine_look(struct ad_machine *out);

/* How many compute threads `cores` cores can run beside an agent's threads of communication.
 * Threads of the pool wait for each other, so one that is preempted holds up all. */
static inline int ad_machine_most_threads(int cores)
{
    return cores > 1 ? cores - 1 : 1;
}

/* The second-level cache of the first core, in bytes; 0 when unknown. */
size_t ad_machine_l2_bytes(void);

#endif
