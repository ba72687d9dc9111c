/* What adaps top shows, as lines of text: for a terminal, and for --once. */
#ifndef AD_CLI_TOP_VIEW_H
#define AD_CLI_TOP_VIEW_H

#include "cli/top_watch.h"

enum ad_top_sort { AD_TOP_BY_FILE, AD_TOP_BY_NAME, AD_TOP_BY_BUSY, AD_TOP_BY_RATE, AD_TOP_SORTS };
/* "file", "name", "busy", "rate". */
const char *ad_top_sort_name(enum ad_top_sort sort);

enum ad_top_style { AD_TOP_PLAIN, AD_TOP_TITLE, AD_TOP_HEAD, AD_TOP_GOOD, AD_TOP_DIM, AD_TOP_BAD };

/* A part of a line that looks another way: characters, not bytes. */
struct ad_top_span {
    int from, to;
    enum ad_top_style style;
};

struct ad_top_line {
    char text[1024]; /* UTF-8, without control characters */
    enum ad_top_style style;
    struct ad_top_span spans[3];
    int nspans;
};

struct ad_top_view {
    const struct ad_cluster *cluster;
    const struct ad_top_device *devices; /* in the order of the cluster */
    int width;                           /* columns; lines have at most so many characters */
    enum ad_top_sort sort;
};

/* Makes the lines, an array that is the caller's (ad_free). ADAPS_EINTERNAL: no memory. */
AD_MUST_CHECK enum adaps_status ad_top_view_make(const struct ad_top_view *view,
                                                 struct ad_top_line **lines, int *count,
                                                 struct adaps_error *err);

/* Bytes of the first n characters of a text. */
size_t ad_top_prefix(const char *text, int n);

#endif
