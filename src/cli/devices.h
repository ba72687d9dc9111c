/* Which devices file a command works with, for all commands that take -d. */
#ifndef AD_CLI_DEVICES_H
#define AD_CLI_DEVICES_H

#include "cost/cluster.h"

/* Where the file was named, in the order in which these count. */
enum ad_devices_by {
    AD_DEVICES_NONE,
    AD_DEVICES_OPTION,      /* -d */
    AD_DEVICES_ENVIRONMENT, /* $ADAPS_DEVICES */
    AD_DEVICES_FOLDER,      /* adaps.conf of the current folder */
    AD_DEVICES_USER,        /* the user's cluster.conf, which adaps pair writes */
};

struct ad_cli_devices {
    char *path; /* NULL: there is none */
    enum ad_devices_by by;
};

/* Of -d, where it means no more than that. */
#define AD_DEVICES_HELP                                                                            \
    "the devices file (default: $ADAPS_DEVICES, that of adaps.conf,\n"                             \
    "or the paired devices)"

/* What a command says when it needs a file and there is none. */
#define AD_DEVICES_WANTED                                                                          \
    "no devices file: give one with -d, name one in $ADAPS_DEVICES or adaps.conf, or pair "        \
    "devices "                                                                                     \
    "(adaps pair)"

/* `option` is what -d says, or NULL. ADAPS_EINPUT: adaps.conf cannot be read. Fini frees. */
AD_MUST_CHECK enum adaps_status ad_cli_devices_find(const char *option, struct ad_cli_devices *out,
                                                    struct adaps_error *err);
/* The user's cluster.conf, or none. */
AD_MUST_CHECK enum adaps_status ad_cli_devices_find_user(struct ad_cli_devices *out,
                                                         struct adaps_error *err);
void ad_cli_devices_fini(struct ad_cli_devices *devices);

/* Whether somebody has named the file for this command: by -d or the environment. */
static inline bool ad_cli_devices_given(const struct ad_cli_devices *devices)
{
    return devices->by == AD_DEVICES_OPTION || devices->by == AD_DEVICES_ENVIRONMENT;
}

/* An error about the file: says where that was named, unless it was by -d. Status unchanged. */
enum adaps_status ad_cli_devices_blame(const struct ad_cli_devices *devices,
                                       struct adaps_error *err);

/* Finds and reads it. ADAPS_EUSAGE: there is none. */
AD_MUST_CHECK enum adaps_status ad_cli_devices_load(const char *option, struct ad_cluster *out,
                                                    struct ad_cli_devices *devices,
                                                    struct adaps_error *err);

/* $XDG_CONFIG_HOME/adaps/cluster.conf or ~/.config/adaps/cluster.conf; NULL without either, or
 * without memory. The caller's (ad_free). */
char *ad_cli_cluster_path(void);

#endif
