/* Tensors and pictures in files: what is read, what is refused and how, and that no damaged file
 * does harm (run under ASan and UBSan to mean something). */
#include "base/file.h"
#include "base/mem.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/tensor_io.h"
#include "support/run_suite.h"

#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char folder[] = "test_tensor_io.XXXXXX";
static char *in_folder(const char *name)
{
    static char path[4][128];
    static int next;
    char *p = path[next++ % 4];
    snprintf(p, sizeof path[0], "%s/%s", folder, name);
    return p;
}

static void write_file(const char *path, const void *data, size_t size)
{
    FILE *f = fopen(path, "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(data, 1, size, f), size);
    ck_assert_int_eq(fclose(f), 0);
}

/* A graph of one value which is both input and output; enough for tensor_io. */
static struct ad_value the_value;
static int the_index;
static const char *the_metadata[8];
static struct ad_graph graph_of(int rank, const int64_t *dims)
{
    memset(&the_value, 0, sizeof the_value);
    the_value.name = "x";
    the_value.type = ADAPS_FLOAT32;
    the_value.rank = rank;
    memcpy(the_value.dims, dims, sizeof *dims * (size_t)rank);
    return (struct ad_graph){.name = "g",
                             .values = &the_value,
                             .nvalues = 1,
                             .inputs = &the_index,
                             .ninputs = 1,
                             .outputs = &the_index,
                             .noutputs = 1,
                             .metadata = the_metadata};
}

#define DIMS(...)                                                                                  \
    (sizeof((int64_t[]){__VA_ARGS__}) / sizeof(int64_t)), (const int64_t[])                        \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }

static struct ad_tensor counting(int rank, const int64_t *dims)
{
    struct ad_tensor t;
    ck_assert_int_eq(ad_tensor_init(&t, rank, dims, NULL), ADAPS_OK);
    for (size_t i = 0; i < t.count; i++)
        t.data[i] = (float)i * 0.25f - 3;
    return t;
}

static void assert_same(const struct ad_tensor *a, const struct ad_tensor *b)
{
    ck_assert_int_eq(a->rank, b->rank);
    for (int i = 0; i < a->rank; i++)
        ck_assert_int_eq(a->dims[i], b->dims[i]);
    ck_assert_uint_eq(ad_tensor_compare(a->data, b->data, a->count).differ, 0);
}

static void assert_refused(const void *data, size_t size, const char *why)
{
    struct ad_tensor t;
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_npy_parse(data, size, "bad.npy", ADAPS_FLOAT32, &t, &err), ADAPS_EINPUT);
    ck_assert_msg(strstr(err.message, why) && strstr(err.message, "bad.npy"), "'%s' lacks '%s'",
                  err.message, why);
}

/* A file of this version, dictionary and data. */
static size_t make_npy(unsigned char *buf, int version, const char *dictionary, const void *data,
                       size_t size)
{
    size_t n = strlen(dictionary), head = version == 1 ? 10 : 12;
    memset(buf, 0, head);
    memcpy(buf, "\x93NUMPY", 6);
    buf[6] = (unsigned char)version;
    buf[8] = (unsigned char)(n & 0xff);
    buf[9] = (unsigned char)(n >> 8);
    memcpy(buf + head, dictionary, n);
    memcpy(buf + head + n, data, size);
    return head + n + size;
}

START_TEST(npy_round_trip)
{
    const int64_t dims[] = {2, 3, 1, 5, 2, 1, 1, 2};
    for (int rank = 0; rank <= AD_MAX_RANK; rank++) {
        struct ad_tensor t = counting(rank, dims), back;
        ck_assert_int_eq(ad_npy_save(in_folder("t.npy"), &t, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_npy_load(in_folder("t.npy"), ADAPS_FLOAT32, &back, NULL), ADAPS_OK);
        assert_same(&t, &back);
        ad_tensor_fini(&t);
        ad_tensor_fini(&back);
    }
}
END_TEST

/* Every element type, the values of which are known; every version of the format. */
START_TEST(npy_types)
{
    static const struct {
        const char *descr;
        const char *bytes;
        size_t size;
        float expected[2];
    } cases[] = {
        {"<f4", "\0\0\x80\x3f\0\0\0\xc0", 8, {1, -2}},
        {"<f8", "\0\0\0\0\0\0\xf8\x3f\0\0\0\0\0\0\0\xc0", 16, {1.5f, -2}},
        {"<f2", "\x00\x3c\x01\x80", 4, {1, -0x1p-24f}},
        {"<f2", "\xff\x7b\x00\xfc", 4, {65504, -INFINITY}},
        {"|u1", "\x07\xff", 2, {7, 255}},
        {"|i1", "\x07\xff", 2, {7, -1}},
        {"|b1", "\x00\x01", 2, {0, 1}},
        {"<u2", "\x01\x02\xff\xff", 4, {513, 65535}},
        {"<i2", "\x01\x02\xff\xff", 4, {513, -1}},
        {"=u4", "\x01\0\0\0\xff\xff\xff\xff", 8, {1, 4294967296.f}},
        {"<i4", "\x01\0\0\0\xff\xff\xff\xff", 8, {1, -1}},
        {"<u8", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, {1, 0x1p63f}},
        {"<i8", "\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x80", 16, {1, -0x1p63f}},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        for (int version = 1; version <= 3; version++) {
            unsigned char buf[256];
            char dictionary[128];
            struct ad_tensor t;
            struct adaps_error err = {0};
            snprintf(dictionary, sizeof dictionary,
                     "{'shape': (2,), \"fortran_order\": False, 'descr': '%s'}\n", cases[k].descr);
            size_t size = make_npy(buf, version, dictionary, cases[k].bytes, cases[k].size);
            ck_assert_msg(ad_npy_parse(buf, size, "t.npy", ADAPS_FLOAT32, &t, &err) == ADAPS_OK,
                          "%s: %s", cases[k].descr, err.message);
            ck_assert_int_eq(t.rank, 1);
            ck_assert_msg(t.data[0] == cases[k].expected[0] && t.data[1] == cases[k].expected[1],
                          "%s: %g %g", cases[k].descr, (double)t.data[0], (double)t.data[1]);
            ad_tensor_fini(&t);
        }
}
END_TEST

START_TEST(npy_refusals)
{
    static const struct {
        const char *dictionary, *why;
    } cases[] = {
        {"{'descr': '<f4', 'fortran_order': True, 'shape': (2, 1), }", "Fortran order"},
        {"{'descr': '>f4', 'fortran_order': False, 'shape': (2,), }", "big-endian"},
        {"{'descr': '<c8', 'fortran_order': False, 'shape': (1,), }", "'<c8' is not supported"},
        {"{'descr': '<f1', 'fortran_order': False, 'shape': (8,), }", "'<f1' is not supported"},
        {"{'descr': '<i3', 'fortran_order': False, 'shape': (8,), }", "'<i3' is not supported"},
        {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }", "structured"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (3,), }", "8 bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", "8 bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, }", "descr, fortran_order and shape"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2,), 'more': 1}", "'more'"},
        {"{'descr': '<f4', 'descr': '<f4', 'shape': (2,), }", "'descr'"},
        {"{'descr': '<f4', 'fortran_order': Maybe, 'shape': (2,), }", "True or False"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (-2,), }", "a dimension"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (2 2), }", "',' or ')'"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }",
         "dimension 0 is out of range"},
        {"{'descr': '<f8', 'fortran_order': False, "
         "'shape': (2147483647, 2147483647, 2147483647), }",
         "too large"},
        {"{'descr': '<f8', 'fortran_order': False, 'shape': (2147483647, 2147483647, 2), }",
         "bytes of data"},
        {"{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,2), }",
         "more than 8 dimensions"},
        {"", "'{'"},
    };
    unsigned char buf[512];
    const float data[2] = {1, 2};
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        size_t size = make_npy(buf, 1, cases[k].dictionary, data, sizeof data);
        assert_refused(buf, size, cases[k].why);
    }
    size_t size = make_npy(buf, 4, "{}", data, 0);
    assert_refused(buf, size, "version 4");
    size = make_npy(buf, 1, "{}", data, 0);
    buf[9] = 0x7f;
    assert_refused(buf, size, "cut short");
    memset(buf + 8, 0xff, 4);
    buf[6] = 2;
    assert_refused(buf, size, "over the limit");
    assert_refused("NUMPY", 5, "not a .npy file");
}
END_TEST

/* A picture whose channels and pixels all differ. */
static struct ad_image pattern(int width, int height, int channels)
{
    struct ad_image image = {width, height, channels, NULL};
    image.pixels = ad_calloc((size_t)(width * height * channels), 1);
    ck_assert_ptr_nonnull(image.pixels);
    for (int i = 0; i < width * height * channels; i++)
        image.pixels[i] = (uint8_t)(i * 7 + i / 5);
    return image;
}

START_TEST(image_formats)
{
    static const char *const names[] = {"p.png", "p.bmp", "p.ppm", "p.PNG", "p.jpeg"};
    for (size_t k = 0; k < sizeof names / sizeof *names; k++)
        for (int channels = 1; channels <= 3; channels += 2) {
            struct ad_image image = pattern(9, 5, channels), back;
            struct ad_image_shape wanted = {9, 5, channels, false};
            if (strcmp(names[k], "p.jpeg") == 0) /* lossy: smooth content comes through */
                memset(image.pixels, 100, (size_t)(9 * 5 * channels));
            ck_assert_int_eq(ad_image_save(in_folder(names[k]), &image, NULL), ADAPS_OK);
            ck_assert_int_eq(ad_image_load(in_folder(names[k]), &wanted, &back, NULL), ADAPS_OK);
            ck_assert_int_eq(back.width, 9);
            ck_assert_int_eq(back.height, 5);
            for (int i = 0; i < 9 * 5 * channels; i++)
                ck_assert_msg(image.pixels[i] == back.pixels[i], "%s, %d channels: byte %d: %d, %d",
                              names[k], channels, i, image.pixels[i], back.pixels[i]);
            ad_image_fini(&image);
            ad_image_fini(&back);
        }
}
END_TEST

START_TEST(image_grey_ppm)
{
    struct ad_image grey = pattern(4, 3, 1), back;
    struct ad_image_shape wanted = {4, 3, 3, false};
    struct adaps_error err = {0};
    ck_assert_int_eq(ad_image_save(in_folder("g.pgm"), &grey, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_image_load(in_folder("g.pgm"), &wanted, &back, NULL), ADAPS_OK);
    for (int i = 0; i < 36; i++)
        ck_assert_int_eq(back.pixels[i], grey.pixels[i / 3]);
    ck_assert_int_eq(ad_image_save(in_folder("g.pgm"), &back, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "one channel"));
    ad_image_fini(&grey);
    ad_image_fini(&back);
}
END_TEST

START_TEST(picture_to_tensor)
{
    struct ad_image image = pattern(6, 4, 3);
    struct ad_graph graph = graph_of(DIMS(1, 3, 4, 6));
    struct ad_tensor t;
    the_metadata[0] = "adaps.mean", the_metadata[1] = "0.5, 0.25,0";
    the_metadata[2] = "adaps.std", the_metadata[3] = "2";
    ck_assert_int_eq(ad_image_save(in_folder("c.png"), &image, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("c.png"), false, &t, NULL), ADAPS_OK);
    const float mean[3] = {0.5f, 0.25f, 0};
    for (size_t c = 0; c < 3; c++)
        for (size_t i = 0; i < 24; i++)
            ck_assert_float_eq(t.data[c * 24 + i],
                               ((float)image.pixels[i * 3 + c] / 255.0f - mean[c]) / 2.0f);
    ad_tensor_fini(&t);
    static const char *const bad[][2] = {{"0.1,0.2", "1"}, {"1,2,3,4", "1"}, {"x", "1"},
                                         {"0", "0"},       {"0", "1,1,-1"},  {"0", ""},
                                         {"1,,2", "1"}};
    for (size_t k = 0; k < sizeof bad / sizeof *bad; k++) {
        struct adaps_error err = {0};
        the_metadata[1] = bad[k][0], the_metadata[3] = bad[k][1];
        ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("c.png"), false, &t, &err),
                         ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "model metadata adaps."));
    }
    memset(the_metadata, 0, sizeof the_metadata);
    ad_image_fini(&image);
}
END_TEST

START_TEST(picture_of_another_size)
{
    struct ad_image image = {8, 6, 1, ad_calloc(48, 1)};
    struct ad_graph graph = graph_of(DIMS(1, 1, 3, 4));
    struct ad_tensor t;
    struct adaps_error err = {0};
    memset(image.pixels, 51, 48);
    ck_assert_int_eq(ad_image_save(in_folder("s.png"), &image, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("s.png"), false, &t, &err),
                     ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "8 x 6"));
    ck_assert_ptr_nonnull(strstr(err.message, "4 x 3"));
    ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("s.png"), true, &t, &err), ADAPS_OK);
    for (size_t i = 0; i < t.count; i++)
        ck_assert_float_eq_tol(t.data[i], 0.2f, 1e-6f);
    ad_tensor_fini(&t);
    ad_image_fini(&image);

    graph = graph_of(DIMS(1, 2, 3, 4));
    ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("s.png"), true, &t, &err),
                     ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "1x2x3x4"));
}
END_TEST

/* Sizes at which a resizer's arithmetic is likely to go wrong; a constant picture stays constant.
 */
START_TEST(resize_extremes)
{
    static const int sizes[][4] = {{1, 1, 640, 480},    {32768, 1, 28, 28},  {1, 32768, 7, 3},
                                   {4099, 13, 13, 401}, {2, 2, 1, 1},        {3, 1000, 1000, 3},
                                   {640, 480, 1, 1},    {224, 224, 223, 225}};
    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
        const int *s = sizes[k];
        struct ad_image image = {s[0], s[1], 1, ad_calloc((size_t)(s[0] * s[1]), 1)}, back;
        struct ad_image_shape wanted = {s[2], s[3], 1, true};
        memset(image.pixels, 200, (size_t)(s[0] * s[1]));
        ck_assert_int_eq(ad_image_save(in_folder("e.pgm"), &image, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_image_load(in_folder("e.pgm"), &wanted, &back, NULL), ADAPS_OK);
        ck_assert_int_eq(back.width, s[2]);
        ck_assert_int_eq(back.height, s[3]);
        for (int i = 0; i < s[2] * s[3]; i++)
            ck_assert_int_eq(back.pixels[i], 200);
        ad_image_fini(&image);
        ad_image_fini(&back);
    }
}
END_TEST

START_TEST(picture_bombs)
{
    struct ad_image_shape wanted = {4, 4, 1, true};
    struct ad_image image;
    struct adaps_error err = {0};
    static const char *const headers[] = {"P5\n30000 30000\n255\n", "P5\n32768 32768\n255\n"};
    for (size_t k = 0; k < 2; k++) {
        ck_assert_int_eq(ad_image_parse(headers[k], strlen(headers[k]), "b", &wanted, &image, &err),
                         ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "over the limit"));
    }
    static const char huge[] = "P5\n2147483647 2147483647\n255\n";
    ck_assert_int_eq(ad_image_parse(huge, sizeof huge - 1, "b", &wanted, &image, &err),
                     ADAPS_EINPUT);
    ck_assert_int_eq(ad_image_parse("GIF89a", 6, "b.gif", &wanted, &image, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "b.gif"));
}
END_TEST

/* What stb alone would write past its arrays for, or read as black or as whatever is in memory. */
START_TEST(hostile_pictures)
{
    struct ad_image_shape wanted = {4, 4, 1, false};
    struct ad_image image;
    struct adaps_error err = {0};
    uint8_t jpeg[64] = {0xff, 0xff, 0xd8, 0xff, 0xc4, 0x00, 0x30, 0x00};
    memset(jpeg + 8, 0x20, 16); /* 512 codes */
    ck_assert_int_eq(ad_image_parse(jpeg + 1, sizeof jpeg - 1, "h.jpg", &wanted, &image, &err),
                     ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "Huffman"));
    ck_assert_int_eq(ad_image_parse(jpeg, sizeof jpeg, "h.jpg", &wanted, &image, &err),
                     ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "unknown format"));

    static const char *const names[] = {"t.bmp", "t.ppm"};
    for (size_t k = 0; k < 2; k++) {
        void *data;
        size_t size;
        image = pattern(4, 4, 3);
        ck_assert_int_eq(ad_image_save(in_folder(names[k]), &image, NULL), ADAPS_OK);
        ad_image_fini(&image);
        ck_assert_int_eq(ad_file_read(in_folder(names[k]), 1000, &data, &size, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_image_parse(data, size - 1, names[k], &wanted, &image, &err),
                         ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "cut short"));
        ad_free(data);
    }
}
END_TEST

START_TEST(tensor_to_picture)
{
    struct ad_graph graph = graph_of(DIMS(1, 1, 1, 6));
    struct ad_tensor t = counting(DIMS(1, 1, 1, 6));
    const float values[6] = {-1, 0, 0.5f, 1, 7, NAN};
    const uint8_t levels[6] = {0, 0, 128, 255, 255, 0};
    struct ad_image_shape wanted = {6, 1, 1, false};
    struct ad_image back;
    memcpy(t.data, values, sizeof values);
    ck_assert_int_eq(ad_tensor_io_save(&graph, 0, in_folder("o.png"), &t, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_image_load(in_folder("o.png"), &wanted, &back, NULL), ADAPS_OK);
    ck_assert_mem_eq(back.pixels, levels, sizeof levels);
    ad_image_fini(&back);
    ad_tensor_fini(&t);

    struct adaps_error err = {0};
    t = counting(DIMS(1, 10));
    ck_assert_int_eq(ad_tensor_io_save(&graph, 0, in_folder("o.png"), &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "1x10"));
    ck_assert_int_eq(ad_tensor_io_save(&graph, 0, in_folder("o.txt"), &t, &err), ADAPS_EINPUT);
    ck_assert_ptr_nonnull(strstr(err.message, "o.txt"));
    ad_tensor_fini(&t);
}
END_TEST

START_TEST(shapes)
{
    static const char *const names[] = {"a.npy", "a.pb"};
    for (size_t k = 0; k < 2; k++) {
        struct ad_graph graph = graph_of(DIMS(1, 3, 2, 2));
        struct ad_tensor full = counting(DIMS(1, 3, 2, 2)), part = counting(DIMS(3, 2, 2));
        struct ad_tensor wrong = counting(DIMS(3, 4, 4)), back;
        struct adaps_error err = {0};
        char *path = in_folder(names[k]);
        ck_assert_int_eq(ad_tensor_io_save(&graph, 0, path, &full, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_tensor_io_load(&graph, 0, path, false, &back, NULL), ADAPS_OK);
        assert_same(&full, &back);
        ad_tensor_fini(&back);
        ck_assert_int_eq(ad_tensor_io_save(&graph, 0, path, &part, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_tensor_io_load(&graph, 0, path, false, &back, NULL), ADAPS_OK);
        assert_same(&full, &back);
        ad_tensor_fini(&back);
        ck_assert_int_eq(ad_tensor_io_save(&graph, 0, path, &wrong, NULL), ADAPS_OK);
        ck_assert_int_eq(ad_tensor_io_load(&graph, 0, path, false, &back, &err), ADAPS_EINPUT);
        ck_assert_ptr_nonnull(strstr(err.message, "3x4x4"));
        ck_assert_ptr_nonnull(strstr(err.message, "1x3x2x2"));
        ck_assert_ptr_nonnull(strstr(err.message, path));
        ad_tensor_fini(&full);
        ad_tensor_fini(&part);
        ad_tensor_fini(&wrong);
    }
    struct ad_graph graph = graph_of(DIMS(2, 3));
    struct ad_tensor part = counting(DIMS(3)), back;
    ck_assert_int_eq(ad_npy_save(in_folder("b.npy"), &part, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_load(&graph, 0, in_folder("b.npy"), false, &back, NULL),
                     ADAPS_EINPUT);
    ad_tensor_fini(&part);
}
END_TEST

START_TEST(random_inputs)
{
    struct ad_graph graph = graph_of(DIMS(1, 3, 20, 20));
    int both[2] = {0, 0};
    struct ad_tensor a, b, c, d;
    graph.inputs = both;
    graph.ninputs = 2;
    ck_assert_int_eq(ad_tensor_io_random(&graph, 0, 5, &a, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_random(&graph, 0, 5, &b, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_random(&graph, 0, 6, &c, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_tensor_io_random(&graph, 1, 5, &d, NULL), ADAPS_OK);
    assert_same(&a, &b);
    ck_assert_uint_gt(ad_tensor_compare(a.data, c.data, a.count).differ, 1000);
    ck_assert_uint_gt(ad_tensor_compare(a.data, d.data, a.count).differ, 1000);
    double sum = 0;
    for (size_t i = 0; i < a.count; i++) {
        ck_assert(a.data[i] >= 0 && a.data[i] < 1);
        sum += (double)a.data[i];
    }
    ck_assert_double_eq_tol(sum / (double)a.count, 0.5, 0.05);
    ad_tensor_fini(&a);
    ad_tensor_fini(&b);
    ad_tensor_fini(&c);
    ad_tensor_fini(&d);
}
END_TEST

/* Loads a damaged file; whatever comes is either fine or an error with a message. */
static void try_file(const struct ad_graph *graph, const char *path, const void *data, size_t size)
{
    struct ad_tensor t;
    struct adaps_error err = {0};
    write_file(path, data, size);
    enum adaps_status status = ad_tensor_io_load(graph, 0, path, true, &t, &err);
    if (status == ADAPS_OK)
        ad_tensor_fini(&t);
    else
        ck_assert_msg(status == ADAPS_EINPUT && err.message[0], "%s: status %d, '%s'", path, status,
                      err.message);
}

START_TEST(damaged_files)
{
    static const char *const names[] = {"f.npy", "f.pb", "f.png", "f.jpg", "f.bmp", "f.ppm"};
    const char *name = names[_i];
    struct ad_graph graph = graph_of(DIMS(1, 3, 12, 10));
    struct ad_tensor t = counting(DIMS(1, 3, 12, 10));
    char path[128];
    void *data;
    size_t size;
    for (size_t i = 0; i < t.count; i++)
        t.data[i] = (float)((i * 37) % 256) / 255.0f;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    ck_assert_int_eq(ad_tensor_io_save(&graph, 0, path, &t, NULL), ADAPS_OK);
    ck_assert_int_eq(ad_file_read(path, 1 << 20, &data, &size, NULL), ADAPS_OK);
    unsigned char *bytes = data;
    for (size_t n = 0; n < size; n += n < 200 ? 1 : 17)
        try_file(&graph, path, bytes, n);
    static const unsigned char flips[] = {0x01, 0x10, 0x80, 0xff};
    for (size_t i = 0; i < size; i += i < 200 ? 1 : 7)
        for (size_t k = 0; k < sizeof flips; k++) {
            bytes[i] ^= flips[k];
            try_file(&graph, path, bytes, size);
            bytes[i] ^= flips[k];
        }
    ad_free(data);
    ad_tensor_fini(&t);
}
END_TEST

/* Each allocation fails in turn: an error every time, never a crash or a leak, then success. */
START_TEST(no_memory)
{
    static const char *const names[] = {"m.npy", "m.png", "m.jpg", "m.pb"};
    struct ad_graph graph = graph_of(DIMS(1, 3, 5, 4));
    struct ad_tensor t = counting(DIMS(1, 3, 5, 4));
    for (size_t k = 0; k < sizeof names / sizeof *names; k++) {
        enum adaps_status saved = ADAPS_EINTERNAL, loaded = ADAPS_EINTERNAL;
        long n = 0;
        while (saved != ADAPS_OK && ++n < 500) {
            ad_mem_fail_after(n);
            saved = ad_tensor_io_save(&graph, 0, in_folder(names[k]), &t, NULL);
            ad_mem_fail_after(0);
        }
        ck_assert_msg(saved == ADAPS_OK && n > 1, "%s: saved %d after %ld", names[k], saved, n);
        for (n = 0; loaded != ADAPS_OK && ++n < 500;) {
            struct ad_tensor back;
            ad_mem_fail_after(n);
            loaded = ad_tensor_io_load(&graph, 0, in_folder(names[k]), false, &back, NULL);
            ad_mem_fail_after(0);
            if (loaded == ADAPS_OK)
                ad_tensor_fini(&back);
        }
        ck_assert_msg(loaded == ADAPS_OK && n > 1, "%s: loaded %d after %ld", names[k], loaded, n);
    }
    ad_tensor_fini(&t);
}
END_TEST

int main(void)
{
    if (!mkdtemp(folder)) {
        perror(folder);
        return EXIT_FAILURE;
    }
    Suite *suite = suite_create("tensor_io");
    TCase *tests = tcase_create("all");
    tcase_set_timeout(tests, 120);
    tcase_add_test(tests, npy_round_trip);
    tcase_add_test(tests, npy_types);
    tcase_add_test(tests, npy_refusals);
    tcase_add_test(tests, image_formats);
    tcase_add_test(tests, image_grey_ppm);
    tcase_add_test(tests, picture_to_tensor);
    tcase_add_test(tests, picture_of_another_size);
    tcase_add_test(tests, resize_extremes);
    tcase_add_test(tests, picture_bombs);
    tcase_add_test(tests, hostile_pictures);
    tcase_add_test(tests, tensor_to_picture);
    tcase_add_test(tests, shapes);
    tcase_add_test(tests, random_inputs);
    tcase_add_loop_test(tests, damaged_files, 0, 6);
    tcase_add_test(tests, no_memory);
    suite_add_tcase(suite, tests);
    int status = run_suite(suite);
    char command[64];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    if (system(command) != 0)
        status = EXIT_FAILURE;
    return status;
}
