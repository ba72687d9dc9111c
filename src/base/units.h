/* Rates, times and sizes as people write them. Numbers are decimal with an optional fraction; a
 * space may stand before the unit; letters' case does not matter except as shown. */
#ifndef AD_BASE_UNITS_H
#define AD_BASE_UNITS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "10mbit", "1gbit", "100kbit", "12.5MB/s", "1GiB/s", "800bit": bytes per second, from 1 (8bit) to
 * 1e15.
 * Bits: bit kbit mbit gbit, with or without /s; bytes: B/s kB/s MB/s GB/s KiB/s MiB/s GiB/s.
 * false when the text is not one of these. */
bool ad_parse_rate(const char *text, double *bytes_per_s);

/* "0.3ms", "250us", "1s", "0" (only zero may go without a unit): seconds, >= 0. Units: ns us ms s.
 */
bool ad_parse_time(const char *text, double *seconds);

/* "4GiB", "512MB", "1024": bytes. Units: B kB MB GB KiB MiB GiB, none = bytes. */
bool ad_parse_size(const char *text, uint64_t *bytes);

/* A plain decimal number without trailing text, within [lo, hi]. */
bool ad_parse_double(const char *text, double lo, double hi, double *out);
bool ad_parse_int(const char *text, int64_t lo, int64_t hi, int64_t *out);

/* Writes a short human form ("1.24 MB", "100 mbit/s", "3.52 ms") and returns buf. */
char *ad_format_bytes(double bytes, char *buf, size_t size);
char *ad_format_rate(double bytes_per_s, char *buf, size_t size);
char *ad_format_ns(double ns, char *buf, size_t size);
char *ad_format_pj(double pj, char *buf, size_t size); /* "1.24 J" */

#endif
