/* Conversion between types of elements: exact, or refused at the first element that does not fit.
 */
#include "base/convert.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <string.h>

#define CONVERTS(from_type, from, to_type, expected)                                               \
    do {                                                                                           \
        unsigned char room[sizeof(expected)];                                                      \
        size_t count = sizeof(from) / ad_type_bytes(from_type);                                    \
        ck_assert_uint_eq(sizeof(expected), count *ad_type_bytes(to_type));                        \
        ck_assert_uint_eq(ad_convert(from_type, from, to_type, room, count), count);               \
        ck_assert_mem_eq(room, expected, sizeof room);                                             \
    } while (0)

/* Element `index` is the first that cannot be converted. */
#define STOPS(from_type, from, to_type, index)                                                     \
    do {                                                                                           \
        unsigned char room[64];                                                                    \
        ck_assert_uint_eq(                                                                         \
            ad_convert(from_type, from, to_type, room, sizeof(from) / ad_type_bytes(from_type)),   \
            index);                                                                                \
    } while (0)

static const float floats[] = {0, 1, 127, 255};
static const uint8_t bytes[] = {0, 1, 127, 255};
static const int32_t integers[] = {0, 1, 127, 255};
static const int64_t longs[] = {0, 1, 127, 255};
static const uint8_t bools[] = {0, 1, 1, 0};
static const float bool_floats[] = {0, 1, 1, 0};

START_TEST(what_fits)
{
    CONVERTS(ADAPS_UINT8, bytes, ADAPS_FLOAT32, floats);
    CONVERTS(ADAPS_UINT8, bytes, ADAPS_INT32, integers);
    CONVERTS(ADAPS_INT32, integers, ADAPS_FLOAT32, floats);
    CONVERTS(ADAPS_INT32, integers, ADAPS_UINT8, bytes);
    CONVERTS(ADAPS_INT64, longs, ADAPS_FLOAT32, floats);
    CONVERTS(ADAPS_INT64, longs, ADAPS_INT32, integers);
    CONVERTS(ADAPS_FLOAT32, floats, ADAPS_UINT8, bytes);
    CONVERTS(ADAPS_FLOAT32, floats, ADAPS_INT64, longs);
    CONVERTS(ADAPS_BOOL, bools, ADAPS_FLOAT32, bool_floats);
    CONVERTS(ADAPS_FLOAT32, bool_floats, ADAPS_BOOL, bools);
    CONVERTS(ADAPS_BOOL, bools, ADAPS_BOOL, bools);
    const int8_t small[] = {-128, -1, 0, 127};
    const float small_floats[] = {-128, -1, 0, 127};
    CONVERTS(ADAPS_INT8, small, ADAPS_FLOAT32, small_floats);
    CONVERTS(ADAPS_FLOAT32, small_floats, ADAPS_INT8, small);
    const float odd[] = {NAN, INFINITY, -0.0f, 0x1p-149f};
    CONVERTS(ADAPS_FLOAT32, odd, ADAPS_FLOAT32, odd);
}
END_TEST

START_TEST(what_does_not)
{
    const float halves[] = {1, 2, 0.5f}, large[] = {255, 256}, negative[] = {0, -1};
    const float infinite[] = {-INFINITY}, none[] = {3, NAN}, edge[] = {0x1p31f};
    const int32_t odd[] = {1 << 24, (1 << 24) + 1}, wide[] = {-129};
    const int64_t far[] = {INT32_MAX, (int64_t)INT32_MAX + 1}, most[] = {INT64_MAX};
    const uint8_t two[] = {1, 0, 2}, high[] = {127, 128};
    STOPS(ADAPS_FLOAT32, halves, ADAPS_INT32, 2);
    STOPS(ADAPS_FLOAT32, large, ADAPS_UINT8, 1);
    STOPS(ADAPS_FLOAT32, negative, ADAPS_UINT8, 1);
    STOPS(ADAPS_FLOAT32, infinite, ADAPS_INT64, 0);
    STOPS(ADAPS_FLOAT32, none, ADAPS_INT64, 1);
    STOPS(ADAPS_FLOAT32, edge, ADAPS_INT32, 0);
    STOPS(ADAPS_INT32, odd, ADAPS_FLOAT32, 1);
    STOPS(ADAPS_INT32, wide, ADAPS_INT8, 0);
    STOPS(ADAPS_INT64, far, ADAPS_INT32, 1);
    STOPS(ADAPS_INT64, most, ADAPS_FLOAT32, 0);
    STOPS(ADAPS_BOOL, two, ADAPS_BOOL, 2);
    STOPS(ADAPS_BOOL, two, ADAPS_FLOAT32, 2);
    STOPS(ADAPS_UINT8, two, ADAPS_BOOL, 2);
    STOPS(ADAPS_UINT8, high, ADAPS_INT8, 1);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("convert");
    TCase *tc = tcase_create("types");
    tcase_add_test(tc, what_fits);
    tcase_add_test(tc, what_does_not);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
