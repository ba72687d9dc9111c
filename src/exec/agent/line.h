/* The controllers that wait until the present session ends, in the order in which they came. One
 * that waits asks again and again by its connection; one that does not, or whose connection ends,
 * is forgotten. */
#ifndef AD_EXEC_AGENT_LINE_H
#define AD_EXEC_AGENT_LINE_H

#include <stdbool.h>
#include <stdint.h>

#define AD_LINE_MOST 32
#define AD_LINE_SILENCE_NS ((int64_t)3000000000) /* after it one is forgotten */

struct ad_line {
    struct {
        int fd; /* of its connection */
        int64_t asked_ns;
    } items[AD_LINE_MOST];
    int count;
};

/* Forgets those who have not asked for too long. */
void ad_line_refresh(struct ad_line *line, int64_t now);

/* How many are before this one; -1: it is not in line. */
int ad_line_place(const struct ad_line *line, int fd);

/* It asks: it keeps its place, or gets the last one. Returns as ad_line_place(); -1: no room. */
int ad_line_ask(struct ad_line *line, int fd, int64_t now);

/* It gets the first place, whatever it had. */
void ad_line_put_first(struct ad_line *line, int fd, int64_t now);

void ad_line_leave(struct ad_line *line, int fd);

#endif
