/* What this machine says of itself (Linux). */
#ifndef AD_BASE_MACHINE_H
#define AD_BASE_MACHINE_H

#include <stddef.h>
#include <stdint.h>

/* A kind of cores of an ARM processor, as /proc/cpuinfo numbers it. */
#define AD_CORE_ARM 0x41 /* implementer */
#define AD_CORE_KINDS 4
struct ad_cpu_core {
    unsigned implementer, part;
};

struct ad_cpu {
    char name[64]; /* "Cortex-A76", "Intel(R) N100"; of several kinds the first core's; "" when
                      unknown */
    struct ad_cpu_core cores[AD_CORE_KINDS]; /* ARM: each kind once, in the order of the cores */
    int ncores;
};
void ad_machine_cpu(struct ad_cpu *out);

/* "Cortex-A76"; NULL when it is none of the usual ones. */
const char *ad_core_name(const struct ad_cpu_core *core);

struct ad_machine {
    char kind[64]; /* "x86_64 Linux 6.1.0" */
    int cores;     /* that this process may use */
    double load1;
    char cpu[64];                            /* its name, as above */
    double frequency_hz;                     /* of the first core, now; NAN when unknown */
    double temperature_c;                    /* the hottest thermal zone; NAN when there is none */
    uint64_t memory_total, memory_available; /* bytes; at most what control groups leave */
    uint64_t memory_most;                    /* with swap, where no control group says otherwise */
};
void ad_machine_look(struct ad_machine *out);

/* Which board this machine is (devices/boards/), "" when it is none that is known. */
void ad_machine_board(char *out, size_t size);

/* The same by what a device tree calls the machine ("Raspberry Pi 5 Model B Rev 1.0", "" without
 * one), the processor's name, and the machine's architecture ("x86_64"). */
const char *ad_machine_board_named(const char *model, const char *cpu, const char *architecture);
/* The same, with load, memory, frequency and temperature as the files below the folder `root` say
 * (base/health.h). */
void ad_machine_look_below(const char *root, struct ad_machine *out);

/* The cores that this process may use, at least 1. */
int ad_machine_cores(void);

/* How many compute threads `cores` cores can run beside an agent's threads of communication.
 * Threads of the pool wait for each other, so one that is preempted holds up all. */
static inline int ad_machine_most_threads(int cores)
{
    return cores > 1 ? cores - 1 : 1;
}

/* The second-level cache of the first core, in bytes; 0 when unknown. */
size_t ad_machine_l2_bytes(void);

#endif
