/* Layouts that a user gives: what `adaps plan --json` prints (adaps-json(5)), or written by hand
 * (adaps-plan(1), "A layout of one's own"). */
#ifndef AD_SEARCH_GIVEN_LAYOUT_FILE_H
#define AD_SEARCH_GIVEN_LAYOUT_FILE_H

#include "schedule/stream.h"

#include <jansson.h>

/* A file, parsed. */
struct ad_layout_file {
    const char *path; /* borrowed */
    json_t *json;
    int nturns;       /* of a stream; 1: its layouts are those of one inference */
    const char **ops; /* the names of the operators that it lists; the JSON's */
    size_t nops;
};

/* ADAPS_EINPUT names path and line. On success the caller's (ad_layout_file_fini). */
AD_MUST_CHECK enum adaps_status ad_layout_file_open(const char *path, struct ad_layout_file *out,
                                                    struct adaps_error *err);
void ad_layout_file_fini(struct ad_layout_file *file);

/* Adds the operators that it lists and the graph does not have to names[0 .. *count), each once:
 * such as the import joined to others. There is room for file->nops. False without memory. */
AD_MUST_CHECK bool ad_layout_file_missing(const struct ad_layout_file *file,
                                          const struct ad_graph *graph, const char **names,
                                          size_t *count);

/* blocks: by op of the graph, in how many blocks it adds its input channels, as the entries'
 * "partial" say; 0: as it is. *any: some do. ADAPS_EINPUT names an entry that asks for what cannot
 * be. */
AD_MUST_CHECK enum adaps_status ad_layout_file_blocks(const struct ad_layout_file *file,
                                                      const struct ad_graph *graph, int32_t *blocks,
                                                      bool *any, struct adaps_error *err);

/* To which of several turns inferences are dealt: deal[AD_STREAM_DEALS], of which ndeal are set; 0
 * where there is one. */
AD_MUST_CHECK enum adaps_status ad_layout_file_deal(const struct ad_layout_file *file, int *deal,
                                                    int *ndeal, struct adaps_error *err);

/* The assignment of a turn (0: the first) of a graph to a cluster; the caller's
 * (ad_assignment_fini). Regions are allowed ones. Whether together they cover what is needed shows
 * when the schedule is built (ad_layout_file_explain()). ADAPS_EINPUT names the file, the entry and
 * what is wrong with it. */
AD_MUST_CHECK enum adaps_status ad_layout_file_read(const struct ad_layout_file *file, int turn,
                                                    const struct ad_graph *graph,
                                                    const struct ad_cluster *cluster,
                                                    struct ad_assignment *out,
                                                    struct adaps_error *err);

/* After ad_schedule_build() refused the assignment of a file: if some op or output reads what no
 * device computes, ADAPS_EINPUT that names both and the part; else `status` as it was. */
AD_MUST_CHECK enum adaps_status
ad_layout_file_explain(const struct ad_layout_file *file, int turn, const struct ad_graph *graph,
                       const struct ad_cluster *cluster, const struct ad_assignment *assignment,
                       enum adaps_status status, struct adaps_error *err);

#endif
