/* The devices file that pairing writes, cluster.conf: what is changed in it is as if by hand, and
 * what others wrote there stays. Lines whose comment begins with "measured", "not measured" or "as
 * told" are those that measuring writes, and are written again. */
#ifndef AD_PAIR_CONF_H
#define AD_PAIR_CONF_H

#include "cost/cluster.h"
#include "cost/ini_edit.h"

struct ad_conf {
    char *path, *before; /* owned; before: what the file has, "" when it is not there */
    struct ad_ini_edit edit;
    struct ad_cluster cluster; /* as the file was when it was opened; no devices without it */
    int lock;                  /* of the folder; -1: none */
};

/* Reads it and keeps other processes from changing it meanwhile; without a file it begins empty.
 * ADAPS_EINPUT: what a devices file is refused for, the folder cannot be made, or somebody else is
 * at it; ADAPS_EUSAGE: no place for it. After a failure fini is still right. */
AD_MUST_CHECK enum adaps_status ad_conf_open(struct ad_conf *conf, const char *path,
                                             struct adaps_error *err);
void ad_conf_fini(struct ad_conf *conf);

/* Writes it when it is another text than before, and removes it when no device is left. *changed is
 * nullable. ADAPS_EINPUT, ADAPS_EINTERNAL. */
AD_MUST_CHECK enum adaps_status ad_conf_save(struct ad_conf *conf, bool *changed,
                                             struct adaps_error *err);

/* Takes a device out, with its links and shapes. */
void ad_conf_drop(struct ad_conf *conf, const char *name);

/* Takes over what adaps profile wrote of the same devices. */
void ad_conf_take_measured(struct ad_conf *conf, const char *text);

/* Whether there is something measured of every device and every pair of devices of the cluster. */
bool ad_conf_is_measured(const struct ad_conf *conf, const struct ad_cluster *cluster);

#endif
