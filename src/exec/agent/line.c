#include "exec/agent/line.h"

#include <string.h>

static void take_out(struct ad_line *line, int i)
{
    line->count--;
    memmove(&line->items[i], &line->items[i + 1], (size_t)(line->count - i) * sizeof *line->items);
}

void ad_line_refresh(struct ad_line *line, int64_t now)
{
    for (int i = line->count - 1; i >= 0; i--)
        if (now - line->items[i].asked_ns > AD_LINE_SILENCE_NS)
            take_out(line, i);
}

int ad_line_place(const struct ad_line *line, int fd)
{
    for (int i = 0; i < line->count; i++)
        if (line->items[i].fd == fd)
            return i;
    return -1;
}

int ad_line_ask(struct ad_line *line, int fd, int64_t now)
{
    int place = ad_line_place(line, fd);
    if (place < 0 && line->count < AD_LINE_MOST) {
        place = line->count++;
        line->items[place].fd = fd;
    }
    if (place >= 0)
        line->items[place].asked_ns = now;
    return place;
}

void ad_line_put_first(struct ad_line *line, int fd, int64_t now)
{
    ad_line_leave(line, fd);
    if (line->count == AD_LINE_MOST)
        take_out(line, AD_LINE_MOST - 1);
    memmove(&line->items[1], &line->items[0], (size_t)line->count * sizeof *line->items);
    line->items[0].fd = fd;
    line->items[0].asked_ns = now;
    line->count++;
}

void ad_line_leave(struct ad_line *line, int fd)
{
    int place = ad_line_place(line, fd);
    if (place >= 0)
        take_out(line, place);
}
