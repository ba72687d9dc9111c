/* Encodings of messages: what comes back, from which parts of buffers, and what becomes of bytes
 * that nobody encoded. */
#include "base/rng.h"
#include "exec/kernels/encode.h"
#include "exec/engine/internal.h"
#include "exec/kernels/half.h"
#include "support/run_suite.h"

#include <check.h>
#include <float.h>
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <xxhash.h>
#include <zfp.h>

/* What binary16 of these bits is. */
static double half_value(uint16_t bits)
{
    int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    double x = exponent == 31  ? (mantissa ? (double)NAN : (double)INFINITY)
               : exponent == 0 ? ldexp(mantissa, -24)
                               : ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -x : x;
}

/* The nearest of all finite binary16 numbers; of two, the even one. */
static uint16_t nearest_half(float x)
{
    uint16_t sign = signbit(x) ? 0x8000 : 0, lo = 0, hi = 0x7bff;
    double a = fabs((double)x);
    if (isnan(x) || isinf(x))
        return sign | (isnan(x) ? 0x7e00 : 0x7c00);
    while (lo < hi) { /* the largest that is not above */
        uint16_t mid = (uint16_t)((lo + hi + 1) / 2);
        if (half_value(mid) <= a)
            lo = mid;
        else
            hi = (uint16_t)(mid - 1);
    }
    double below = a - half_value(lo), above = half_value((uint16_t)(lo + 1)) - a;
    if (lo < 0x7bff && (above < below || (above == below && lo % 2)))
        lo++;
    return sign | lo;
}

START_TEST(test_half)
{
    enum { COUNT = 65536 };
    static float from[COUNT], back[COUNT];
    static uint16_t to[COUNT];
    static const float special[] = {
        0,          -0.0f,        1,          65504,    65519.996f,   65520,        1e30f,
        -1e30f,     INFINITY,     -INFINITY,  NAN,      1e-40f,       0x1p-24f,     0x1p-25f,
        -0x1p-25f,  0x1.8p-24f,   0x1.8p-25f, 0x1p-14f, 0x1.ffcp-15f, 0x1.ffep-15f, 0x1.002p0f,
        0x1.006p0f, 0x1.002002p0f};
    struct ad_rng rng = {12};
    for (int i = 0; i < COUNT; i++) { /* any bits; every other about the sizes that half has */
        uint32_t bits = (uint32_t)ad_rng_next(&rng);
        if (i % 2)
            bits = (bits & 0x807fffffu) | (100 + ad_rng_below(&rng, 44)) << 23;
        memcpy(&from[i], &bits, sizeof bits);
    }
    memcpy(from, special, sizeof special);
    ad_half_encode(from, to, COUNT);
    for (int i = 0; i < COUNT; i++)
        ck_assert_msg(to[i] == nearest_half(from[i]), "%a becomes %04x, not %04x", (double)from[i],
                      to[i], nearest_half(from[i]));
    for (int i = 0; i < COUNT; i++)
        to[i] = (uint16_t)i;
    ad_half_decode(to, back, COUNT);
    for (int i = 0; i < COUNT; i++) {
        float want = (float)half_value(to[i]);
        ck_assert(isnan(want) ? isnan(back[i]) : memcmp(&want, &back[i], sizeof want) == 0);
    }
    for (size_t count = 0; count < 40; count++) { /* nothing is written after the end */
        memset(to, 0xaa, sizeof to);
        ad_half_encode(from + 1, to + 1, count);
        ck_assert(to[0] == 0xaaaa && to[count + 1] == 0xaaaa);
        memset(back, 0xaa, sizeof back);
        ad_half_decode(to + 1, back + 1, count);
        ck_assert(((uint8_t *)&back[count + 1])[0] == 0xaa && ((uint8_t *)back)[3] == 0xaa);
    }
}
END_TEST

static void *copy_of(const struct ad_span_list *list, void *to)
{
    ad_spans_gather(list, to);
    return to;
}

/* Parts of buffers, in runs of any length: back where they came from, and nothing beside them. */
START_TEST(test_encode_spans)
{
    enum { SIDE = 9, ALL = SIDE * SIDE * 5 };
    struct ad_rng rng = {4};
    float data[2 * ALL], back[2 * ALL];
    float copy[2 * ALL];
    struct ad_encode_room room;
    int shrunk = 0;
    ck_assert_int_eq(
        ad_encode_room_init(&room, AD_ENCODING_BIT(AD_ENCODINGS) - 1, sizeof data, NULL), ADAPS_OK);
    for (int round = 0; round < 300; round++) {
        for (int i = 0; i < 2 * ALL; i++)
            data[i] = (int)ad_rng_below(&rng, 8) < round % 8
                          ? 0
                          : (float)(int)ad_rng_below(&rng, 2048) / 64.0f; /* exact as binary16 */
        memset(back, 0, sizeof back);
        int32_t h = (int32_t)ad_rng_below(&rng, SIDE), w = (int32_t)ad_rng_below(&rng, SIDE);
        int32_t c = (int32_t)ad_rng_below(&rng, 5);
        struct ad_region r = {h / 2, h + 1, w / 3, w + 1, c / 2, c + 1};
        struct ad_buffer from = {.lies = {0, SIDE, 0, SIDE, 0, 5}, .n = 2, .unit = 4, .data = data},
                         to = from;
        struct ad_span_list in, out;
        to.data = back;
        ck_assert_int_eq(ad_buffer_spans(&from, r, &in, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_buffer_spans(&to, r, &out, NULL), ADAPS_OK);
        static const enum ad_encoding encodings[] = {AD_ENCODING_LZ4, AD_ENCODING_F16,
                                                     AD_ENCODING_ZFP};
        enum ad_encoding encoding = encodings[round % 3];
        size_t size = ad_encode(encoding, &in, &room);
        ck_assert(size < ad_spans_bytes(&in));
        if (size > 0)
            ck_assert_int_eq(ad_decode(encoding, &room, size, &out, NULL), ADAPS_OK);
        else
            ad_spans_scatter(&out, copy_of(&in, copy));
        shrunk += encoding == AD_ENCODING_LZ4 && size > 0;
        for (int i = 0; i < 2 * ALL; i++) {
            int ch = i % 5, col = i / 5 % SIDE, row = i / 5 / SIDE % SIDE;
            bool inside =
                row >= r.h0 && row < r.h1 && col >= r.w0 && col < r.w1 && ch >= r.c0 && ch < r.c1;
            ck_assert(fabsf(back[i] - (inside ? data[i] : 0)) <=
                      (inside && encoding == AD_ENCODING_ZFP ? 0.1f : 0)); /* of up to 32 */
        }
        ad_free(in.spans);
        ad_free(out.spans);
    }
    ck_assert(shrunk > 15 && shrunk < 100);
    ad_encode_room_fini(&room);
}
END_TEST

/* Blocks that are cut short, damaged, or of other sizes: an error or any floats, nothing beside
 * them. */
START_TEST(test_broken_blocks)
{
    enum { COUNT = 600, AROUND = 16 };
    struct ad_rng rng = {5};
    float data[COUNT] = {0}, back[COUNT + 2 * AROUND];
    struct ad_span from = {data, 1, sizeof data, 0}, to = {back + AROUND, 1, sizeof data, 0};
    struct ad_span_list in = {.spans = &from, .count = 1}, out = {.spans = &to, .count = 1};
    struct ad_encode_room room;
    struct adaps_error err;
    uint8_t good[sizeof data];
    int refused = 0;
    for (int i = 0; i < COUNT; i += 3)
        data[i] = ad_rng_float(&rng);
    ck_assert_int_eq(
        ad_encode_room_init(&room, AD_ENCODING_BIT(AD_ENCODING_LZ4), sizeof data, NULL), ADAPS_OK);
    size_t size = ad_encode(AD_ENCODING_LZ4, &in, &room);
    ck_assert(size > 8 && size < sizeof data);
    memcpy(good, room.bytes, size);
    for (int round = 0; round < 4000; round++) {
        bool cut = round % 3 == 0;
        size_t n = cut ? 1 + ad_rng_below(&rng, (uint32_t)sizeof data - 1) : size;
        memcpy(room.bytes, good, size);
        for (int k = 0; !cut && k < 3; k++)
            ((uint8_t *)room.bytes)[ad_rng_below(&rng, (uint32_t)size)] ^= 1
                                                                           << ad_rng_below(&rng, 8);
        memset(back, 0x5a, sizeof back);
        enum adaps_status status = ad_decode(AD_ENCODING_LZ4, &room, n, &out, &err);
        ck_assert(status == ADAPS_OK || status == ADAPS_EAGENT);
        refused += status == ADAPS_EAGENT;
        if (status == ADAPS_EAGENT)
            ck_assert_ptr_nonnull(strstr(err.message, "no LZ4 block of 2400 bytes"));
        for (size_t i = 0; i < AROUND * sizeof *back; i++)
            ck_assert(((uint8_t *)back)[i] == 0x5a &&
                      ((uint8_t *)(back + COUNT + AROUND))[i] == 0x5a);
    }
    ck_assert_int_gt(refused, 1300);
    ck_assert_int_eq(ad_decode(AD_ENCODING_F16, &room, sizeof data / 2 - 2, &out, &err),
                     ADAPS_EAGENT);
    ad_encode_room_fini(&room);
}
END_TEST

/* What zfp makes of numbers of all sizes: 12 bits for each of 64, 16 for those left over; the same
 * bytes everywhere; near the numbers, by the largest of each block. */
START_TEST(test_zfp)
{
    enum { COUNT = 3 * AD_ZFP_BLOCK + 11 };
    struct ad_rng rng = {6};
    float data[COUNT], back[COUNT];
    struct ad_span from = {data, 1, sizeof data, 0}, to = {back, 1, sizeof data, 0};
    struct ad_span_list in = {.spans = &from, .count = 1}, out = {.spans = &to, .count = 1};
    struct ad_encode_room room;
    XXH64_hash_t all = 0;
    ck_assert_int_eq(
        ad_encode_room_init(&room, AD_ENCODING_BIT(AD_ENCODING_ZFP), sizeof data, NULL), ADAPS_OK);
    for (int round = 0; round < 400; round++) {
        float scale = ldexpf(1, (int)ad_rng_below(&rng, 26) - 12);
        for (int i = 0; i < COUNT; i++)
            data[i] = ad_rng_below(&rng, 3) ? scale * ad_rng_float(&rng) : 0;
        size_t size = ad_encode(AD_ENCODING_ZFP, &in, &room);
        ck_assert_uint_eq(size, 3 * 96 + 11 * 2);
        all = XXH3_64bits_withSeed(room.bytes, size, all);
        ck_assert_int_eq(ad_decode(AD_ENCODING_ZFP, &room, size, &out, NULL), ADAPS_OK);
        for (int i = 0; i < COUNT; i++)
            ck_assert_msg(fabsf(back[i] - data[i]) <= (i < 192 ? scale / 128 : scale / 2048),
                          "round %d, element %d: %g, not %g", round, i, back[i], data[i]);
    }
    ck_assert_uint_eq(all, UINT64_C(12976669894700186578));
    ad_encode_room_fini(&room);
}
END_TEST

/* What zfp cannot take travels as it is; what is next to nothing as nothing; of other sizes nothing
 * is decoded. */
START_TEST(test_zfp_edges)
{
    enum { COUNT = 2 * AD_ZFP_BLOCK + 3 };
    static const float never[] = {INFINITY, -INFINITY, NAN, 0x1p100f, -FLT_MAX};
    float data[COUNT] = {0}, back[COUNT];
    struct ad_span from = {data, 1, sizeof data, 0}, to = {back, 1, sizeof data, 0};
    struct ad_span_list in = {.spans = &from, .count = 1}, out = {.spans = &to, .count = 1};
    struct ad_encode_room room;
    struct adaps_error err;
    ck_assert_int_eq(
        ad_encode_room_init(&room, AD_ENCODING_BIT(AD_ENCODING_ZFP), sizeof data, NULL), ADAPS_OK);
    size_t size = ad_encode(AD_ENCODING_ZFP, &in, &room);
    ck_assert_uint_eq(size, 2 * 96 + 3 * 2);
    for (size_t k = 0; k < sizeof never / sizeof *never; k++)
        for (int i = 5; i < COUNT; i += 62) { /* in a block, and after the last as binary16 */
            data[i] = never[k];
            ck_assert_uint_eq(ad_encode(AD_ENCODING_ZFP, &in, &room), i < 128 ? 0 : size);
            data[i] = 0;
        }
    for (int i = 0; i < COUNT; i++)
        data[i] = i % 2 ? 0x1p-120f : -FLT_TRUE_MIN;
    ck_assert_uint_eq(ad_encode(AD_ENCODING_ZFP, &in, &room), size);
    ck_assert_int_eq(ad_decode(AD_ENCODING_ZFP, &room, size, &out, NULL), ADAPS_OK);
    for (int i = 0; i < COUNT; i++)
        ck_assert(back[i] == 0);
    for (size_t n = 1; n <= sizeof data; n++)
        if (n != size) {
            ck_assert_int_eq(ad_decode(AD_ENCODING_ZFP, &room, n, &out, &err), ADAPS_EAGENT);
            ck_assert_ptr_nonnull(strstr(err.message, "instead of 198 in zfp"));
        }
    ad_encode_room_fini(&room);
}
END_TEST

/* Any bytes of the right number make floats, without a look at what lies after them: a page that
 * nobody may read. */
START_TEST(test_zfp_hostile)
{
    enum { BLOCKS = 5, COUNT = BLOCKS * AD_ZFP_BLOCK, AROUND = 16, BYTES = BLOCKS * AD_ZFP_BYTES };
    struct ad_rng rng = {8};
    float back[COUNT + 2 * AROUND];
    struct ad_span to = {back + AROUND, 1, COUNT * sizeof *back, 0};
    struct ad_span_list out = {.spans = &to, .count = 1};
    struct ad_encode_room room, other;
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    char *pages = mmap(NULL, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(pages != MAP_FAILED && mprotect(pages + page, page, PROT_NONE) == 0);
    ck_assert_int_eq(
        ad_encode_room_init(&room, AD_ENCODING_BIT(AD_ENCODING_ZFP), to.run_bytes, NULL), ADAPS_OK);
    bitstream *was = zfp_stream_bit_stream(room.zfp);
    other = room;
    other.bytes = pages + page - BYTES;
    bitstream *bits = stream_open(other.bytes, BYTES);
    zfp_stream_set_bit_stream(room.zfp, bits);
    for (int round = 0; round < 3000; round++) {
        for (size_t i = 0; i < BYTES; i++)
            ((uint8_t *)other.bytes)[i] = round ? (uint8_t)ad_rng_below(&rng, 256) : 0xff;
        memset(back, 0x5a, sizeof back);
        ck_assert_int_eq(ad_decode(AD_ENCODING_ZFP, &other, BYTES, &out, NULL), ADAPS_OK);
        for (size_t i = 0; i < AROUND * sizeof *back; i++)
            ck_assert(((uint8_t *)back)[i] == 0x5a &&
                      ((uint8_t *)(back + COUNT + AROUND))[i] == 0x5a);
    }
    stream_close(bits);
    zfp_stream_set_bit_stream(room.zfp, was);
    ad_encode_room_fini(&room);
    munmap(pages, 2 * page);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("encode");
    TCase *tc = tcase_create("encode");
    tcase_set_timeout(tc, 60);
    tcase_add_test(tc, test_half);
    tcase_add_test(tc, test_encode_spans);
    tcase_add_test(tc, test_broken_blocks);
    tcase_add_test(tc, test_zfp);
    tcase_add_test(tc, test_zfp_edges);
    tcase_add_test(tc, test_zfp_hostile);
    suite_add_tcase(suite, tc);
    return run_suite(suite);
}
