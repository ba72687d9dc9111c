/* The devices file (adaps-devices(5)): devices, their cost tables, and the links between them. */
#ifndef AD_COST_CLUSTER_H
#define AD_COST_CLUSTER_H

#include "base/error.h"
#include "base/mem.h"
#include "cost/encoding.h"
#include "ir/operators.h"

struct ad_shapes;

/* What a device draws, in thousandths of a watt; 0: not known. */
struct ad_power {
    int32_t idle_mw;    /* whatever it does */
    int32_t core_mw;    /* more, for each thread that computes */
    int32_t network_mw; /* more, while it sends or receives */
};

/* Whether all three are known. */
static inline bool ad_power_known(const struct ad_power *power)
{
    return power->idle_mw > 0 && power->core_mw > 0 && power->network_mw > 0;
}

/* One device's measured (or stated) numbers; times at full speed, all `threads` used. */
struct ad_cost_table {
    double rate[AD_COST_CLASSES]; /* MAC/s for convolutions and fc, elements/s otherwise;
                                     0 is that of ad_cost_stand_in() */
    double constant_s;            /* per operator */
    double memory_bw;             /* bytes/s */
    /* What a message takes of the processor at its sender and at its receiver besides copying it,
     * while it travels: system and interrupts, at the cost of what is computed then. */
    double message_s;
    double message_bw; /* and that per byte: bytes/s; 0: nothing */
    /* Network inputs put into the engine's buffers at the source (the network's order of elements
     * or a picture's bytes become the engine's), outputs taken out: elements/s; 0: no time. */
    double feed_rate, fetch_rate;
    struct ad_encoding_rates encoding;
    struct ad_power power;
    int threads; /* of a board's file: that the rates are of; 0: those of whatever device has it */
    int tile; /* pixels that a convolution computes at once, for parts of shapes; 0, 1: no steps */
    const struct ad_shapes *shapes; /* measured operators (cost/shape.h), which count more than
                                       rates; NULL: none. Borrowed: clusters own them */
    char source[128];               /* "measured 2026-11-20 ...", "data sheet: ..." */
};

struct ad_device {
    char name[64];
    char board[64];
    char address[128]; /* ZeroMQ endpoint, "" when the file has none */
    char key[41];      /* CURVE public key in Z85, "" when none */
    char ssh[128];     /* [USER@]HOST[:PORT] by which it was paired, "" when none */
    double speed;      /* factor on every rate of the table, (0, 1000] */
    uint64_t memory;   /* bytes usable for weights and activations; 0 = unlimited */
    int threads;       /* compute threads, 1..64 */
    bool source;       /* exactly one device: input starts and result ends here */
    struct ad_cost_table table;
};

/* Direction a -> b. Every device has one full-duplex port to a switch, which has queues: a message
 * occupies a's uplink and, not before, b's downlink for bytes / min(bandwidth of the pair) each,
 * and arrives latency later. On a shared medium (Wi-Fi) it occupies the medium instead: one message
 * at a time in the whole cluster. */
struct ad_link {
    double bandwidth; /* bytes per second */
    double latency;   /* seconds, one way */
};

#define AD_MAX_DEVICES 64

struct ad_cluster {
    struct ad_device *devices;
    int ndevices;                    /* 1..AD_MAX_DEVICES */
    struct ad_link *links;           /* [from * ndevices + to]; the diagonal is unused */
    int source;                      /* index */
    bool shared_medium;              /* medium = shared */
    struct ad_link common;           /* the file's [link]: of pairs it says nothing else of */
    const struct ad_shapes **shapes; /* by device: what this cluster owns, NULL for none */
};

/* Reads a devices file. Sections: [link], [link A B] (both directions), [NAME] with keys board,
 * address, key, ssh, memory, threads, speed, source; [shapes NAME]. Board tables are BOARD.conf in
 * folders beside the devices file, beside the program, or installed (cost/board.h); cost keys in
 * the device's section override single numbers. No board means x86, whose table is also built in.
 * Links that are not given are 100mbit and 0.3ms. When no device says `source = yes` the first is
 * it. Errors (ADAPS_EINPUT) name file, line, section, key, value and rule; unknown keys and
 * sections are errors. [link] also takes medium (switch or shared). */
AD_MUST_CHECK enum adaps_status ad_cluster_load(const char *path, struct ad_cluster *out,
                                                struct adaps_error *err);

/* Overrides every link; a value < 0 leaves that property. */
void ad_cluster_override_links(struct ad_cluster *cluster, double bandwidth, double latency);
AD_MUST_CHECK enum adaps_status ad_cluster_copy(const struct ad_cluster *from,
                                                struct ad_cluster *to, struct adaps_error *err);
/* The devices that are not `out`, of which there must be some, the source among them, with their
 * links. device_of: the device of `from`, by device of `to`. */
AD_MUST_CHECK enum adaps_status ad_cluster_without(const struct ad_cluster *from, const bool *out,
                                                   struct ad_cluster *to, int *device_of,
                                                   struct adaps_error *err);
AD_MUST_CHECK enum adaps_status ad_cluster_init(struct ad_cluster *out, int ndevices,
                                                struct adaps_error *err);
/* Device d becomes a copy of `from`, which may be another cluster's. */
void ad_cluster_set_device(struct ad_cluster *cluster, int d, const struct ad_device *from);
/* Adds a device like those of a board, with common links, without address and memory limit; the
 * first of a zeroed cluster becomes its source. devices_path: where boards are looked for
 * (cost/board.h). ADAPS_EINPUT: more than AD_MAX_DEVICES, or no such board. */
AD_MUST_CHECK enum adaps_status ad_cluster_add(struct ad_cluster *cluster, const char *devices_path,
                                               const char *name, const char *board,
                                               struct adaps_error *err);
/* Device d computes with so many threads from now on. Fewer take longer in proportion; more than
 * it had are as quick as those, unless its board says that its rates are of more. */
AD_MUST_CHECK enum adaps_status ad_cluster_use_threads(struct ad_cluster *cluster, int d,
                                                       int threads, struct adaps_error *err);
/* Gives device d these shapes, of which it takes over a reference. */
void ad_cluster_take_shapes(struct ad_cluster *cluster, int d, const struct ad_shapes *shapes);
/* ADAPS_EINPUT names the first device whose power is not known. */
AD_MUST_CHECK enum adaps_status ad_cluster_check_power(const struct ad_cluster *cluster,
                                                       struct adaps_error *err);
void ad_cluster_fini(struct ad_cluster *cluster);
/* Whether a device may have this name: 1 to 63 letters, digits, '.', '_', '-', and not "link". */
bool ad_cluster_may_name(const char *text);
int ad_cluster_find(const struct ad_cluster *cluster, const char *name); /* -1 when absent */

#endif
