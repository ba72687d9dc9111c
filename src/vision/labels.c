#include "vision/labels.h"
#include "base/file.h"
#include "base/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_CLASSES 65536
#define MOST_BYTES ((size_t)4 << 20)

static const char coco[] =
    "person,bicycle,car,motorcycle,airplane,bus,train,truck,boat,traffic light,fire hydrant,"
    "stop sign,parking meter,bench,bird,cat,dog,horse,sheep,cow,elephant,bear,zebra,giraffe,"
    "backpack,umbrella,handbag,tie,suitcase,frisbee,skis,snowboard,sports ball,kite,"
    "baseball bat,baseball glove,skateboard,surfboard,tennis racket,bottle,wine glass,cup,fork,"
    "knife,spoon,bowl,banana,apple,sandwich,orange,broccoli,carrot,hot dog,pizza,donut,cake,"
    "chair,couch,potted plant,bed,dining table,toilet,tv,laptop,mouse,remote,keyboard,"
    "cell phone,microwave,oven,toaster,sink,refrigerator,book,clock,vase,scissors,teddy bear,"
    "hair drier,toothbrush";

/* Makes room for classes 0..class. */
static enum adaps_status reach(struct ad_labels *labels, int class, struct adaps_error *err)
{
    for (size_t count = (size_t)labels->count; count <= (size_t) class; count++) {
        if (!ad_grow(&labels->names, count, &labels->capacity, sizeof *labels->names))
            return ad_error_memory(err, "names of classes", count * sizeof *labels->names);
        labels->names[count] = NULL;
        labels->count++;
    }
    return ADAPS_OK;
}

static enum adaps_status add(struct ad_labels *labels, int class, const char *name, size_t length,
                             struct adaps_error *err)
{
    if (class < 0 || class >= MOST_CLASSES)
        return ad_error_set(err, ADAPS_EINPUT, "class %d: at most %d classes can have names", class,
                            MOST_CLASSES);
    enum adaps_status status = reach(labels, class, err);
    if (status != ADAPS_OK)
        return status;
    char *copy = ad_arena_alloc(&labels->arena, length + 1, 1);
    if (!copy)
        return ad_error_memory(err, "name of a class", length + 1);
    memcpy(copy, name, length);
    labels->names[class] = copy;
    return ADAPS_OK;
}

/* "a,b,c" or a name a line. */
static enum adaps_status add_list(struct ad_labels *labels, const char *text, char separator,
                                  struct adaps_error *err)
{
    const char between[] = {separator, '\0'};
    enum adaps_status status = ADAPS_OK;
    for (const char *p = text; status == ADAPS_OK && *p;) {
        size_t length = strcspn(p, between), kept = length;
        while (kept > 0 && p[kept - 1] == '\r')
            kept--;
        status = add(labels, labels->count, p, kept, err);
        p += length + (p[length] != '\0');
    }
    return status;
}

/* A text in quotes as Python writes it, into out (as long as the rest of the text). Returns what
 * comes after it, NULL when it is none. */
static const char *read_quoted(const char *p, char *out, size_t *length)
{
    char quote = *p++;
    size_t n = 0;
    if (quote != '\'' && quote != '"')
        return NULL;
    for (; *p && *p != quote; p++) {
        if (*p == '\\' && p[1])
            p++;
        out[n++] = *p;
    }
    *length = n;
    return *p ? p + 1 : NULL;
}

static const char *skip_blanks(const char *p)
{
    return p + strspn(p, " \t\r\n");
}

/* "{0: 'person', 1: 'car'}" or "['person', 'car']". False: it is neither. */
static bool read_names(struct ad_labels *labels, const char *text, char *name,
                       enum adaps_status *status, struct adaps_error *err)
{
    const char *p = skip_blanks(text);
    bool numbered = *p == '{';
    char end = numbered ? '}' : ']';
    if (*p != '{' && *p != '[')
        return false;
    p = skip_blanks(p + 1);
    for (long class = 0; *p != end; class ++) {
        size_t length;
        if (numbered) {
            char *after;
            class = strtol(p, &after, 10);
            if (after == p || class < 0 || class >= MOST_CLASSES)
                return false;
            p = skip_blanks(after);
            if (*p++ != ':')
                return false;
            p = skip_blanks(p);
        }
        p = read_quoted(p, name, &length);
        if (!p)
            return false;
        *status = add(labels, (int)class, name, length, err);
        if (*status != ADAPS_OK)
            return true;
        p = skip_blanks(p);
        if (*p == ',')
            p = skip_blanks(p + 1);
        else if (*p != end)
            return false;
    }
    return true;
}

enum adaps_status ad_labels_of_graph(struct ad_labels *out, const struct ad_graph *graph,
                                     struct adaps_error *err)
{
    const char *list = ad_graph_metadata(graph, "adaps.labels");
    const char *names = ad_graph_metadata(graph, "names");
    enum adaps_status status = ADAPS_OK;
    memset(out, 0, sizeof *out);
    if (list) {
        status = add_list(out, list, ',', err);
    } else if (names) {
        char *name = ad_calloc(strlen(names) + 1, 1);
        if (!name)
            return ad_error_memory(err, "names of classes", strlen(names) + 1);
        if (!read_names(out, names, name, &status, err))
            status =
                ad_error_set(err, ADAPS_EINPUT,
                             "model metadata names = '%.60s': {0: 'NAME', ...} expected", names);
        ad_free(name);
    }
    if (status != ADAPS_OK)
        ad_labels_fini(out);
    return status;
}

enum adaps_status ad_labels_load(struct ad_labels *out, const char *path, struct adaps_error *err)
{
    void *text;
    size_t size;
    memset(out, 0, sizeof *out);
    enum adaps_status status = ad_file_read(path, MOST_BYTES, &text, &size, err);
    if (status != ADAPS_OK)
        return status;
    if (memchr(text, '\0', size))
        status = ad_error_set(err, ADAPS_EINPUT, "%s: not a text file", path);
    if (status == ADAPS_OK)
        status = add_list(out, text, '\n', err);
    ad_free(text);
    if (status != ADAPS_OK)
        ad_labels_fini(out);
    return status;
}

enum adaps_status ad_labels_coco(struct ad_labels *out, struct adaps_error *err)
{
    memset(out, 0, sizeof *out);
    enum adaps_status status = add_list(out, coco, ',', err);
    if (status != ADAPS_OK)
        ad_labels_fini(out);
    return status;
}

int ad_labels_find(const struct ad_labels *labels, const char *name)
{
    int64_t number;
    for (int i = 0; i < labels->count; i++)
        if (labels->names[i] && strcmp(labels->names[i], name) == 0)
            return i;
    return ad_parse_int(name, 0, MOST_CLASSES - 1, &number) ? (int)number : -1;
}

const char *ad_labels_name(const struct ad_labels *labels, int class, char *buf, size_t size)
{
    if (class >= 0 && class < labels->count && labels->names[class])
        return labels->names[class];
    snprintf(buf, size, "%d", class);
    return buf;
}

void ad_labels_fini(struct ad_labels *labels)
{
    ad_free(labels->names);
    ad_arena_fini(&labels->arena);
    memset(labels, 0, sizeof *labels);
}
