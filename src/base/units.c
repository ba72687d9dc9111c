#include "base/units.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

struct unit {
    const char *name;
    double scale;
};

static const struct unit rate_units[] = {
    {"bit", 1.0 / 8},   {"kbit", 1e3 / 8},   {"mbit", 1e6 / 8},     {"gbit", 1e9 / 8},
    {"bit/s", 1.0 / 8}, {"kbit/s", 1e3 / 8}, {"mbit/s", 1e6 / 8},   {"gbit/s", 1e9 / 8},
    {"B/s", 1},         {"kB/s", 1e3},       {"MB/s", 1e6},         {"GB/s", 1e9},
    {"KiB/s", 1024},    {"MiB/s", 1048576},  {"GiB/s", 1073741824}, {NULL, 0},
};
static const struct unit time_units[] = {
    {"ns", 1e-9}, {"us", 1e-6}, {"ms", 1e-3}, {"s", 1}, {NULL, 0},
};
static const struct unit size_units[] = {
    {"", 1},       {"B", 1},         {"kB", 1e3},         {"MB", 1e6}, {"GB", 1e9},
    {"KiB", 1024}, {"MiB", 1048576}, {"GiB", 1073741824}, {NULL, 0},
};

/* A decimal number at the start of text; *rest is what follows, after spaces. No hex, inf or nan.
 */
static bool leading_number(const char *text, double *value, const char **rest)
{
    const char *p = text;
    if (*p == '-' || *p == '+')
        p++;
    if (!isdigit((unsigned char)*p) && !(*p == '.' && isdigit((unsigned char)p[1])))
        return false;
    if (p[0] == '0' && (p[1] == 'x' || p[1] == 'X'))
        return false;
    char *end;
    errno = 0;
    *value = strtod(text, &end);
    if (errno == ERANGE || !isfinite(*value))
        return false;
    while (*end == ' ')
        end++;
    *rest = end;
    return true;
}

static bool parse_with_units(const char *text, const struct unit *units, double *out)
{
    const char *rest;
    double value;
    if (!leading_number(text, &value, &rest))
        return false;
    for (const struct unit *u = units; u->name; u++)
        if (strcasecmp(rest, u->name) == 0) {
            *out = value * u->scale;
            return isfinite(*out);
        }
    return false;
}

bool ad_parse_rate(const char *text, double *bytes_per_s)
{
    return parse_with_units(text, rate_units, bytes_per_s) && *bytes_per_s >= 1 &&
           *bytes_per_s <= 1e15;
}

bool ad_parse_time(const char *text, double *seconds)
{
    if (ad_parse_double(text, 0, 0, seconds))
        return true;
    return parse_with_units(text, time_units, seconds) && *seconds >= 0;
}

bool ad_parse_size(const char *text, uint64_t *bytes)
{
    double value;
    if (!parse_with_units(text, size_units, &value) || value < 0 || value >= 9.2e18)
        return false;
    *bytes = (uint64_t)value;
    return true;
}

bool ad_parse_double(const char *text, double lo, double hi, double *out)
{
    const char *rest;
    return leading_number(text, out, &rest) && *rest == '\0' && *out >= lo && *out <= hi;
}

bool ad_parse_int(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    char *end;
    if (!isdigit((unsigned char)*text) && !(*text == '-' && isdigit((unsigned char)text[1])))
        return false;
    errno = 0;
    long long value = strtoll(text, &end, 10);
    if (errno == ERANGE || *end != '\0' || value < lo || value > hi)
        return false;
    *out = value;
    return true;
}

static char *format_scaled(double value, double step, const char *const *names, size_t count,
                           char *buf, size_t size)
{
    size_t i = 0;
    while (i + 1 < count && value >= step * 0.99995) {
        value /= step;
        i++;
    }
    int decimals = value >= 99.995 || (i == 0 && value == floor(value)) ? 0
                   : value >= 9.9995                                    ? 1
                                                                        : 2;
    snprintf(buf, size, "%.*f %s", decimals, value, names[i]);
    return buf;
}

char *ad_format_bytes(double bytes, char *buf, size_t size)
{
    static const char *const names[] = {"B", "kB", "MB", "GB", "TB"};
    return format_scaled(bytes, 1000, names, 5, buf, size);
}

char *ad_format_rate(double bytes_per_s, char *buf, size_t size)
{
    static const char *const names[] = {"bit/s", "kbit/s", "mbit/s", "gbit/s"};
    return format_scaled(bytes_per_s * 8, 1000, names, 4, buf, size);
}

char *ad_format_ns(double ns, char *buf, size_t size)
{
    static const char *const names[] = {"ns", "us", "ms", "s"};
    return format_scaled(ns, 1000, names, 4, buf, size);
}

char *ad_format_pj(double pj, char *buf, size_t size)
{
    static const char *const names[] = {"pJ", "nJ", "uJ", "mJ", "J"};
    return format_scaled(pj, 1000, names, 5, buf, size);
}
