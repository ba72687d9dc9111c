/* Rates, times and sizes as people write them. */
#include "base/units.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>

struct number {
    const char *text;
    double value; /* NAN: refused */
};

static const struct number rates[] = {
    {"10mbit", 1.25e6},   {"1gbit", 1.25e8},      {"100kbit", 12500}, {"800bit", 100},
    {"12.5MB/s", 12.5e6}, {"1GiB/s", 1073741824}, {"1 kB/s", 1000},   {"2KiB/s", 2048},
    {"3MiB/s", 3145728},  {"100 mbit/s", 12.5e6}, {"10MBIT", 1.25e6}, {".5gbit", 62.5e6},
    {"7B/s", 7},          {"2GB/s", 2e9},         {"10", NAN},        {"", NAN},
    {"mbit", NAN},        {"-1mbit", NAN},        {"0mbit", NAN},     {"10mbits", NAN},
    {"10MB", NAN},        {"1e400gbit", NAN},     {"nan mbit", NAN},  {"inf mbit", NAN},
    {"0x10mbit", NAN},    {"10 mbit x", NAN},     {"1e308GB/s", NAN},
};

static const struct number times[] = {
    {"0.3ms", 0.3e-3}, {"250us", 250e-6}, {"1s", 1},     {"0", 0},      {"0.0", 0},
    {"12ns", 12e-9},   {"3 ms", 3e-3},    {"0s", 0},     {"1", NAN},    {"-1ms", NAN},
    {"", NAN},         {"ms", NAN},       {"1min", NAN}, {"1ms2", NAN},
};

static const struct number sizes[] = {
    {"4GiB", 4294967296.0},
    {"512MB", 512e6},
    {"1024", 1024},
    {"1B", 1},
    {"2kB", 2000},
    {"2KiB", 2048},
    {"1.5MiB", 1572864},
    {"0", 0},
    {"1GB", 1e9},
    {"-1", NAN},
    {"1TB", NAN},
    {"", NAN},
    {"99999999GiB", 99999999.0 * 1073741824.0},
    {"99999999999GiB", NAN},
    {"4 GiB", 4294967296.0},
};

static void same(const char *text, bool accepted, double got, double want)
{
    if (isnan(want))
        ck_assert_msg(!accepted, "\"%s\" was taken as %g", text, got);
    else
        ck_assert_msg(accepted && fabs(got - want) <= 1e-12 * want, "\"%s\": %d, %g", text,
                      accepted, got);
}

START_TEST(rate)
{
    double got = 0;
    bool accepted = ad_parse_rate(rates[_i].text, &got);
    same(rates[_i].text, accepted, got, rates[_i].value);
}
END_TEST

START_TEST(time_value)
{
    double got = 0;
    bool accepted = ad_parse_time(times[_i].text, &got);
    same(times[_i].text, accepted, got, times[_i].value);
}
END_TEST

START_TEST(size)
{
    uint64_t got = 0;
    bool accepted = ad_parse_size(sizes[_i].text, &got);
    same(sizes[_i].text, accepted, (double)got, sizes[_i].value);
}
END_TEST

START_TEST(plain_numbers)
{
    double x;
    int64_t n;
    ck_assert(ad_parse_double("0.15", 0, 1, &x) && x == 0.15);
    ck_assert(ad_parse_double("1e-3", 0, 1, &x) && x == 1e-3);
    ck_assert(!ad_parse_double("1.01", 0, 1, &x));
    ck_assert(!ad_parse_double("-0.1", 0, 1, &x));
    ck_assert(!ad_parse_double("0.5x", 0, 1, &x));
    ck_assert(!ad_parse_double("", 0, 1, &x));
    ck_assert(!ad_parse_double("nan", 0, 1, &x));
    ck_assert(ad_parse_int("64", 1, 64, &n) && n == 64);
    ck_assert(ad_parse_int("-3", -3, 3, &n) && n == -3);
    ck_assert(!ad_parse_int("65", 1, 64, &n));
    ck_assert(!ad_parse_int("1.0", 1, 64, &n));
    ck_assert(!ad_parse_int(" 1", 1, 64, &n));
    ck_assert(!ad_parse_int("99999999999999999999", 0, INT64_MAX, &n));
}
END_TEST

START_TEST(formats)
{
    char text[32];
    ck_assert_str_eq(ad_format_bytes(1.24e6, text, sizeof text), "1.24 MB");
    ck_assert_str_eq(ad_format_bytes(12, text, sizeof text), "12 B");
    ck_assert_str_eq(ad_format_bytes(999999, text, sizeof text), "1.00 MB");
    ck_assert_str_eq(ad_format_rate(12.5e6, text, sizeof text), "100 mbit/s");
    ck_assert_str_eq(ad_format_ns(3.52e6, text, sizeof text), "3.52 ms");
    ck_assert_str_eq(ad_format_ns(0, text, sizeof text), "0 ns");
    ck_assert_str_eq(ad_format_ns(12345e9, text, sizeof text), "12345 s");
    ck_assert_str_eq(ad_format_pj(1.24e12, text, sizeof text), "1.24 J");
    ck_assert_str_eq(ad_format_pj(7.5e8, text, sizeof text), "750 uJ");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("units");
    TCase *c = tcase_create("parsing");
    tcase_add_loop_test(c, rate, 0, sizeof rates / sizeof *rates);
    tcase_add_loop_test(c, time_value, 0, sizeof times / sizeof *times);
    tcase_add_loop_test(c, size, 0, sizeof sizes / sizeof *sizes);
    tcase_add_test(c, plain_numbers);
    tcase_add_test(c, formats);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
