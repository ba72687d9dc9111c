/* Board files: one cost table, sections [cost] and [shapes]; see devices/boards/. */
#ifndef AD_COST_BOARD_H
#define AD_COST_BOARD_H

#include "cost/cluster.h"
#include "cost/ini_file.h"
#include "cost/shape.h"

/* The table of the x86 board (one core of a 2023 server), used where a devices file names no board
 * and where no file of that name is found. */
struct ad_cost_table ad_board_x86(void);

/* Whether `key` is a key of a cost table. If so the entry's value is put into the table; *status
 * tells whether it was well-formed. */
bool ad_board_entry(const struct ad_ini *ini, const struct ad_ini_entry *entry,
                    struct ad_cost_table *table, enum adaps_status *status,
                    struct adaps_error *err);

/* The rate of a class as files give it (GFLOP/s, millions of elements per second), and its key. */
double ad_board_rate(const struct ad_cost_table *table, enum ad_cost_class class, const char **key);

/* Adds an entry of a section of shapes, "SHAPE = ROWS:TIME ...". */
AD_MUST_CHECK enum adaps_status ad_board_shape(const struct ad_ini *ini,
                                               const struct ad_ini_entry *entry,
                                               struct ad_shapes *shapes, struct adaps_error *err);

/* Reads NAME.conf from boards/ or devices/boards/ beside the devices file, else from
 * devices/boards/ or ../share/adaps/boards/ beside the program, else from the installed data
 * folder. The reference to out->shapes is the caller's. ADAPS_EINPUT: not found (names the
 * folders), or what is wrong in it. */
AD_MUST_CHECK enum adaps_status ad_board_load(const char *devices_path, const char *name,
                                              struct ad_cost_table *out, struct adaps_error *err);

#endif
