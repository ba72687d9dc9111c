/* Tables of measured shapes: found by hash, interpolated from the most similar of the class. */
#include "cost/cost.h"
#include "base/round.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#define NEIGHBOURS 4
#define FEATURES 6

struct entry {
    struct ad_shape_time time;
    enum ad_cost_class class;
    double units_per_pixel;
    double features[FEATURES];
};

struct ad_shapes {
    atomic_int references;
    struct entry *items;
    size_t count, room;
    int32_t *slots; /* open addressing: index + 1, 0 = empty; nslots is a power of two */
    size_t nslots;
    int32_t *samples; /* indices of the entries to interpolate from, by class */
    size_t first[AD_COST_CLASSES + 1];
};

struct ad_shapes *ad_shapes_new(void)
{
    struct ad_shapes *shapes = ad_calloc(1, sizeof *shapes);
    if (shapes)
        atomic_store(&shapes->references, 1);
    return shapes;
}

struct ad_shapes *ad_shapes_ref(const struct ad_shapes *shapes)
{
    struct ad_shapes *s = (struct ad_shapes *)shapes;
    if (s)
        atomic_fetch_add(&s->references, 1);
    return s;
}

void ad_shapes_unref(const struct ad_shapes *shapes)
{
    struct ad_shapes *s = (struct ad_shapes *)shapes;
    if (!s || atomic_fetch_sub(&s->references, 1) > 1)
        return;
    ad_free(s->items);
    ad_free(s->slots);
    ad_free(s->samples);
    ad_free(s);
}

size_t ad_shapes_count(const struct ad_shapes *shapes)
{
    return shapes ? shapes->count : 0;
}

const struct ad_shape_time *ad_shapes_item(const struct ad_shapes *shapes, size_t i)
{
    return &shapes->items[i].time;
}

/* --- making --- */

enum ad_cost_class ad_cost_class_of_kind(enum ad_op_kind kind, int winograd, int groups,
                                         bool depthwise, bool quantised)
{
    enum ad_cost_class class = ad_operator_of(kind)->class;
    if (winograd > 0)
        return AD_COST_WINOGRAD;
    if (ad_kind_has(kind, AD_FIELD_GROUPS) && groups > 1)
        class = depthwise ? AD_COST_DEPTHWISE : AD_COST_GROUPED;
    if (!quantised || ad_operator_of(kind)->quantised != AD_QUANTISED_SUMMED)
        return class;
    return class == AD_COST_FC          ? AD_COST_INT8_FC
           : class == AD_COST_DEPTHWISE ? AD_COST_INT8_DEPTHWISE
                                        : AD_COST_INT8_CONV;
}

enum ad_cost_class ad_shape_class(const struct ad_shape *s)
{
    return ad_cost_class_of_kind(s->kind, (int)s->winograd, (int)s->groups, s->groups == s->ic,
                                 s->quantised != 0);
}

static double whole_pixels(const struct ad_shape *s)
{
    return (double)s->n * s->oh * s->ow;
}

static double log2_of(double x)
{
    return ad_round_coarse(log2(x));
}

/* What makes shapes similar, scaled so that a difference of 1 weighs the same in each feature. */
static void fill_features(const struct ad_shape *s, double out[FEATURES])
{
    const struct ad_operator *row = ad_operator_of(s->kind);
    bool maps = row->h == AD_REACH_ALL, dense = maps && row->measure == AD_PER_MAC;
    double map = (double)s->ih * s->iw;
    double inputs = dense ? map * s->ic : s->ic;
    out[0] = 1.5 * log2_of(s->kh ? (double)s->kh * s->kw : maps && !dense ? map : 1);
    out[1] = log2_of(inputs / (s->groups > 1 ? s->groups : 1));
    out[2] = 0.7 * log2_of(s->oc);
    out[3] = 0.5 * log2_of(whole_pixels(s));
    out[4] = s->winograd ? s->winograd : s->kh ? log2_of((double)s->sh * s->sw) : 0;
    out[5] = 4.0 * s->kind + 2.0 * (row->activation ? s->function : 0) +
             1.0 * (row->elementwise ? s->detail : 0);
}

static uint64_t hash(const struct ad_shape *s)
{
    const int32_t *words = (const int32_t *)s;
    uint64_t h = 0;
    for (size_t i = 0; i < sizeof *s / sizeof *words; i++)
        h = (h ^ (uint32_t)words[i]) * 0x9e3779b97f4a7c15u, h ^= h >> 29;
    return h;
}

/* More rows never take less, nor more per row. */
static void put_in_order(struct ad_shape_time *t)
{
    for (int i = t->npoints - 2; i >= 0; i--) {
        struct ad_shape_point *p = &t->points[i], *next = &t->points[i + 1];
        p->seconds = fmax(p->seconds, next->seconds * p->rows / next->rows);
        p->seconds = fmin(p->seconds, next->seconds);
    }
}

enum adaps_status ad_shapes_add(struct ad_shapes *shapes, const struct ad_shape_time *time,
                                struct adaps_error *err)
{
    struct entry entry = {.time = *time, .class = ad_shape_class(&time->shape)};
    size_t i = 0;
    put_in_order(&entry.time);
    entry.units_per_pixel = ad_shape_units(&time->shape) / whole_pixels(&time->shape);
    fill_features(&time->shape, entry.features);
    while (i < shapes->count &&
           memcmp(&shapes->items[i].time.shape, &time->shape, sizeof time->shape) != 0)
        i++;
    if (i == AD_SHAPES_MAX)
        return ad_error_set(err, ADAPS_EINPUT, "more than %d shapes", AD_SHAPES_MAX);
    if (i == shapes->count) {
        if (!ad_grow(&shapes->items, shapes->count, &shapes->room, sizeof *shapes->items))
            return ad_error_memory(err, "shapes", shapes->count * sizeof *shapes->items);
        shapes->count++;
    }
    shapes->items[i] = entry;
    return ADAPS_OK;
}

/* Whether other shapes are interpolated from this one: not when its time includes a function. */
static bool is_sample(const struct entry *e)
{
    if (e->time.points[e->time.npoints - 1].seconds <= AD_SHAPE_NO_TIME)
        return false; /* it was timed as a part of another */
    return !ad_function_follows(e->time.shape.kind, (enum ad_function)e->time.shape.function);
}

static void sort_samples(struct ad_shapes *shapes)
{
    size_t n = 0;
    for (int class = 0; class < AD_COST_CLASSES; class ++) {
        shapes->first[class] = n;
        for (size_t i = 0; i < shapes->count; i++)
            if ((int)shapes->items[i].class == class && is_sample(&shapes->items[i]))
                shapes->samples[n++] = (int32_t)i;
    }
    shapes->first[AD_COST_CLASSES] = n;
}

enum adaps_status ad_shapes_finish(struct ad_shapes *shapes, struct adaps_error *err)
{
    size_t nslots = 16;
    while (nslots < 2 * shapes->count)
        nslots *= 2;
    int32_t *slots = ad_calloc(nslots, sizeof *slots);
    int32_t *samples = ad_calloc(shapes->count + 1, sizeof *samples);
    if (!slots || !samples) {
        ad_free(slots);
        ad_free(samples);
        return ad_error_memory(err, "shapes", nslots * sizeof *slots);
    }
    ad_free(shapes->slots);
    ad_free(shapes->samples);
    shapes->slots = slots;
    shapes->nslots = nslots;
    shapes->samples = samples;
    for (size_t i = 0; i < shapes->count; i++) {
        size_t slot = hash(&shapes->items[i].time.shape) & (nslots - 1);
        while (slots[slot])
            slot = (slot + 1) & (nslots - 1);
        slots[slot] = (int32_t)i + 1;
    }
    sort_samples(shapes);
    return ADAPS_OK;
}

static bool same_time(const struct ad_shape_time *a, const struct ad_shape_time *b)
{
    if (a->npoints != b->npoints || memcmp(&a->shape, &b->shape, sizeof a->shape) != 0)
        return false;
    for (int i = 0; i < a->npoints; i++)
        if (a->points[i].rows != b->points[i].rows || a->points[i].seconds != b->points[i].seconds)
            return false;
    return true;
}

bool ad_shapes_same(const struct ad_shapes *a, const struct ad_shapes *b)
{
    size_t n = ad_shapes_count(a);
    if (a == b || n != ad_shapes_count(b))
        return a == b;
    for (size_t i = 0; i < n; i++)
        if (!same_time(&a->items[i].time, &b->items[i].time))
            return false;
    return true;
}

/* --- asking --- */

static const struct entry *find(const struct ad_shapes *shapes, const struct ad_shape *shape)
{
    if (!shapes || shapes->nslots == 0)
        return NULL;
    for (size_t slot = hash(shape) & (shapes->nslots - 1); shapes->slots[slot];
         slot = (slot + 1) & (shapes->nslots - 1)) {
        const struct entry *e = &shapes->items[shapes->slots[slot] - 1];
        if (memcmp(&e->time.shape, shape, sizeof *shape) == 0)
            return e;
    }
    return NULL;
}

const struct ad_shape_time *ad_shapes_find(const struct ad_shapes *shapes,
                                           const struct ad_shape *shape)
{
    const struct entry *e = find(shapes, shape);
    return e ? &e->time : NULL;
}

/* Pixels up to the next tile. */
static double tiled(double pixels, int tile)
{
    return tile > 1 ? ceil(pixels / tile - 1e-9) * tile : pixels;
}

/* Time of the first pixels of a measured shape, all channels: piecewise linear through its points,
 * before the first along the line through the first two, after the last in proportion. */
static double seconds_at(const struct ad_shape_time *t, double pixels, double constant, int tile)
{
    const struct ad_shape_point *p = t->points;
    double x1 = tiled((double)p[0].rows * t->shape.ow, tile), t1 = p[0].seconds, x0 = 0, t0;
    double x = tiled(pixels, tile);
    int i = 1;
    t0 = fmin(constant, t1);
    if (t->npoints > 1 && x < x1) { /* the line backwards, to no less than the constant */
        double x2 = tiled((double)p[1].rows * t->shape.ow, tile);
        double at0 = x2 > x1 ? t1 - (p[1].seconds - t1) * x1 / (x2 - x1) : t1;
        t0 = fmax(t0, fmin(at0, t1));
    }
    while (x > x1 && i < t->npoints) {
        x0 = x1;
        t0 = t1;
        x1 = tiled((double)p[i].rows * t->shape.ow, tile);
        t1 = p[i++].seconds;
    }
    if (x > x1)
        return t1 * x / x1;
    return x1 > x0 ? t0 + (t1 - t0) * (x - x0) / (x1 - x0) : t1;
}

/* The share of the time that a slice of the channels costs. The narrowest are widened
 * (exec/kernels/xnn.h). */
static double channel_share(const struct ad_shape *s, double channels)
{
    bool dense = ad_kind_has(s->kind, AD_FIELD_WEIGHT) && s->groups <= 1;
    if (dense && channels < 16)
        channels = 16;
    return channels < s->oc ? channels / s->oc : 1;
}

static double exact_seconds(const struct entry *e, struct ad_shape_part part, double constant,
                            int tile)
{
    const struct ad_shape *s = &e->time.shape;
    double whole = whole_pixels(s);
    double all = seconds_at(&e->time, part.pixels, constant, tile);
    if (part.pixels < whole) /* a part never takes less than its share: see ad_shapes_add() */
        all = fmax(all, seconds_at(&e->time, whole, constant, tile) * part.pixels / whole);
    double base = fmin(constant, all);
    return base + (all - base) * channel_share(s, part.channels);
}

/* Seconds per unit of a sample at so many pixels, without the constant. */
static double pace(const struct entry *e, double pixels, double constant, int tile)
{
    double t = seconds_at(&e->time, pixels, constant, tile);
    return fmax(t - constant, 0) / (pixels * e->units_per_pixel);
}

struct neighbour {
    const struct entry *entry;
    double distance; /* squared */
};

/* The nearest samples of the class, nearest first; returns how many. */
static int find_neighbours(const struct ad_shapes *shapes, const struct ad_shape *shape,
                           struct neighbour out[NEIGHBOURS])
{
    enum ad_cost_class class = ad_shape_class(shape);
    double features[FEATURES];
    int n = 0;
    fill_features(shape, features);
    for (size_t k = shapes->first[class]; k < shapes->first[class + 1]; k++) {
        const struct entry *e = &shapes->items[shapes->samples[k]];
        double distance = 0;
        for (int f = 0; f < FEATURES; f++)
            distance += (features[f] - e->features[f]) * (features[f] - e->features[f]);
        if (n == NEIGHBOURS && out[n - 1].distance <= distance)
            continue; /* the farthest goes */
        int at = n < NEIGHBOURS ? n++ : n - 1;
        for (; at > 0 && out[at - 1].distance > distance; at--)
            out[at] = out[at - 1];
        out[at] = (struct neighbour){e, distance};
    }
    return n;
}

static double interpolated_seconds(const struct ad_shapes *shapes, const struct ad_shape *shape,
                                   struct ad_shape_part part, double constant, int tile)
{
    struct neighbour near[NEIGHBOURS];
    int n = find_neighbours(shapes, shape, near);
    double here = 0, whole = 0, weights = 0, pixels = whole_pixels(shape);
    if (n == 0)
        return -1;
    for (int i = 0; i < n; i++) {
        double weight = 1 / (near[i].distance + 0.05);
        here += weight * pace(near[i].entry, part.pixels, constant, tile);
        whole += weight * pace(near[i].entry, pixels, constant, tile);
        weights += weight;
    }
    double units = ad_shape_units(shape) / pixels * part.pixels;
    return constant + units * fmax(here, whole) / weights * channel_share(shape, part.channels);
}

double ad_shapes_seconds(const struct ad_shapes *shapes, const struct ad_shape *shape,
                         struct ad_shape_part part, double constant, int tile, bool *exact)
{
    const struct entry *e = find(shapes, shape);
    if (ad_shape_class(shape) != AD_COST_CONV && ad_shape_class(shape) != AD_COST_GROUPED)
        tile = 1;
    *exact = e != NULL;
    if (!shapes || shapes->nslots == 0 || part.pixels <= 0)
        return -1;
    return e ? exact_seconds(e, part, constant, tile)
             : interpolated_seconds(shapes, shape, part, constant, tile);
}
