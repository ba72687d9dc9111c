/* What may make this machine slow or let it fail (Linux): power, heat, swap, quotas, the network.
 *
 * `root` stands before the paths of sysfs and procfs: "" for the machine itself, a folder for a
 * tree that was made up. What the machine does not say is not known, which is no error. */
#ifndef AD_BASE_HEALTH_H
#define AD_BASE_HEALTH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits of the firmware of Raspberry Pi boards ("vcgencmd get_throttled"). Each of these happens
 * now; AD_SINCE_BOOT further left: it has happened since boot. */
#define AD_UNDER_VOLTAGE 1u    /* the supply gives less than 4.63 V */
#define AD_FREQUENCY_CAPPED 2u /* the frequency is limited because of heat */
#define AD_THROTTLED 4u        /* the board slows itself down, because of heat or voltage */
#define AD_SOFT_TEMPERATURE 8u /* the soft limit of temperature is reached */
#define AD_SINCE_BOOT 16
#define AD_THROTTLE_BITS 0xf000fu

/* The bits in words, "under-voltage, throttled"; "" for none. Bits that have no name are left out.
 * Of what happens now; a caller shifts what has happened since boot. Returns buf. */
char *ad_throttle_words(uint32_t bits, char *buf, size_t size);

struct ad_health {
    bool power_known;   /* whether `throttled` is: */
    uint32_t throttled; /* bits as above */
    char governor[32];  /* of the processors' frequency; the slowest when they differ; "" */
    char driver[32];    /* of the frequency, "intel_pstate"; "" */
    char model[64];     /* of the board, "Raspberry Pi 4 Model B Rev 1.4"; "" */
    double quota_cores; /* processors that control groups allow; 0: no limit */
    bool swap_known;    /* whether these are: */
    uint64_t swap_total, swap_used, swapped; /* bytes; the last ones in and out, since boot */
    bool segments_known;                     /* whether these are: */
    uint64_t segments, repeated; /* TCP segments sent since boot; those of them sent again */
};
/* May wait for a program, vcgencmd, for half a second, where there is no file that says the same.
 */
void ad_health_look(const char *root, struct ad_health *out);

/* The network interface by which a connected socket talks to its other end. */
struct ad_interface {
    char name[32]; /* "" when not known */
    bool wireless;
    int mbit;         /* 0: not known */
    bool half_duplex; /* for sure */
    int mtu;          /* 0: not known */
};
void ad_interface_look(const char *root, int fd, struct ad_interface *out);

/* The same by the interface's name. */
void ad_interface_read(const char *root, const char *name, struct ad_interface *out);

#endif
