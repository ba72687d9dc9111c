#include "base/convert.h"

#include <math.h>
#include <string.h>

/* Any element as an integer or, only of float32, as a double. */
struct element {
    bool is_real;
    int64_t integer;
    double real;
};

/* Whether there is one: a bool that is neither 0 nor 1 is none. */
static bool get(enum adaps_type type, const unsigned char *from, size_t i, struct element *out)
{
    float f;
    int32_t n;
    out->is_real = type == ADAPS_FLOAT32;
    switch (type) {
    case ADAPS_FLOAT32:
        memcpy(&f, from + i * sizeof f, sizeof f);
        out->real = (double)f;
        return true;
    case ADAPS_UINT8:
        out->integer = from[i];
        return true;
    case ADAPS_INT8:
        out->integer = (signed char)from[i];
        return true;
    case ADAPS_INT32:
        memcpy(&n, from + i * sizeof n, sizeof n);
        out->integer = n;
        return true;
    case ADAPS_INT64:
        memcpy(&out->integer, from + i * sizeof out->integer, sizeof out->integer);
        return true;
    case ADAPS_BOOL:
        out->integer = from[i];
        return from[i] <= 1;
    }
    return false;
}

/* A double as an integer of the same value. */
static bool to_integer(double x, int64_t *out)
{
    if (!(x >= -0x1p63 && x < 0x1p63) || x != trunc(x))
        return false;
    *out = (int64_t)x;
    return true;
}

static bool put_float(const struct element *e, unsigned char *to, size_t i)
{
    float f = e->is_real ? (float)e->real : (float)e->integer;
    int64_t back;
    if (!e->is_real && (!to_integer((double)f, &back) || back != e->integer))
        return false;
    memcpy(to + i * sizeof f, &f, sizeof f);
    return true;
}

static bool put(const struct element *e, enum adaps_type type, unsigned char *to, size_t i)
{
    int64_t v = e->integer;
    int32_t n;
    if (type == ADAPS_FLOAT32)
        return put_float(e, to, i);
    if (e->is_real && !to_integer(e->real, &v))
        return false;
    switch (type) {
    case ADAPS_UINT8:
        to[i] = (unsigned char)v;
        return v >= 0 && v <= UINT8_MAX;
    case ADAPS_INT8:
        to[i] = (unsigned char)v;
        return v >= INT8_MIN && v <= INT8_MAX;
    case ADAPS_INT32:
        n = (int32_t)v;
        memcpy(to + i * sizeof n, &n, sizeof n);
        return v >= INT32_MIN && v <= INT32_MAX;
    case ADAPS_INT64:
        memcpy(to + i * sizeof v, &v, sizeof v);
        return true;
    case ADAPS_BOOL:
        to[i] = (unsigned char)v;
        return v == 0 || v == 1;
    case ADAPS_FLOAT32:
        break;
    }
    return false;
}

/* The usual case by itself, as fast as memory is: a picture's bytes. */
static size_t from_bytes(const unsigned char *from, unsigned char *to, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        float f = from[i];
        memcpy(to + i * sizeof f, &f, sizeof f);
    }
    return count;
}

size_t ad_convert(enum adaps_type from_type, const void *from, enum adaps_type to_type, void *to,
                  size_t count)
{
    struct element element;
    if (from_type == ADAPS_UINT8 && to_type == ADAPS_FLOAT32)
        return from_bytes(from, to, count);
    if (from_type == to_type && from_type != ADAPS_BOOL) {
        memcpy(to, from, count * ad_type_bytes(from_type));
        return count;
    }
    for (size_t i = 0; i < count; i++)
        if (!get(from_type, from, i, &element) || !put(&element, to_type, to, i))
            return i;
    return count;
}
