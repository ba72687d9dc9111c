/* Averages and resizing of bytes against bytes of ONNX Runtime, halves between two bytes among
 * them. */
#include "exec/kernels/q8_resample.h"
#include "exec/kernels/q8_rows.h"
#include "support/run_suite.h"

#include <check.h>
#include <string.h>

#define H 7
#define W 9
#define MOST 600

struct pool {
    struct ad_q8 in, out;
    int32_t figures[8]; /* window, strides, padding: top, left, bottom, right */
    bool counts;
    uint8_t want[MOST];
};

enum coordinates { HALF_PIXEL, ASYMMETRIC, ALIGN_CORNERS };
struct resize {
    struct ad_q8 in, out;
    enum ad_method method;
    enum coordinates coordinates;
    int64_t size[2];
    uint8_t want[MOST];
};

#include "q8_golden.h"

static void fill(uint8_t in[H * W], const struct ad_q8 *is)
{
    for (int i = 0; i < H * W; i++)
        in[i] = (uint8_t)((i * i * 37 + i * 11 + 5) ^ (is->is_signed ? 0x80 : 0));
}

static struct ad_q8_view view_of(uint8_t *data, int64_t h, int64_t w)
{
    return (struct ad_q8_view){data, 1, h, w, 1, h * w, w, 1};
}

START_TEST(average)
{
    const struct pool *g = &pools[_i];
    const int32_t *f = g->figures;
    uint8_t in[H * W], got[MOST] = {0};
    struct ad_q8_pooling p = {.average = true,
                              .count_include_pad = g->counts,
                              .window = {.kh = f[0],
                                         .kw = f[1],
                                         .sh = f[2],
                                         .sw = f[3],
                                         .dh = 1,
                                         .dw = 1,
                                         .pt = f[4],
                                         .pl = f[5],
                                         .real_pb = f[6],
                                         .real_pr = f[7]},
                              .in = view_of(in, H, W),
                              .in_is = g->in,
                              .out_is = g->out,
                              .size_h = H,
                              .size_w = W};
    struct ad_q8_view out =
        view_of(got, (H + f[4] + f[6] - f[0]) / f[2] + 1, (W + f[5] + f[7] - f[1]) / f[3] + 1);
    p.out = ad_q8_out_bytes(&out, &g->out);
    fill(in, &g->in);
    ad_q8_pooling_run(&p, NULL);
    ck_assert_mem_eq(got, g->want, (size_t)(out.h * out.w));
}
END_TEST

static struct ad_positions positions_of(enum coordinates how, int64_t in, int64_t out)
{
    switch (how) {
    case HALF_PIXEL:
        return (struct ad_positions){2 * in, in - out, 2 * out};
    case ASYMMETRIC:
        return (struct ad_positions){in, 0, out};
    case ALIGN_CORNERS:
        return (struct ad_positions){in - 1, 0, out - 1};
    }
    return (struct ad_positions){1, 0, 1};
}

START_TEST(resize)
{
    const struct resize *g = &resizes[_i];
    uint8_t in[H * W], got[MOST] = {0};
    struct ad_q8_resample r = {
        .how = {.method = g->method, .edge = AD_EDGE_REPEAT, .cubic = -0.75f},
        .in = view_of(in, H, W),
        .out = view_of(got, g->size[0], g->size[1]),
        .in_is = g->in,
        .out_is = g->out,
        .size = {H, W, 1},
        .outputs = {g->size[0], g->size[1]}};
    for (int k = 0; k < 2; k++)
        r.how.axis[k] = positions_of(g->coordinates, r.size[k], r.outputs[k]);
    r.how.axis[AD_ALONG_C] = (struct ad_positions){1, 0, 1};
    fill(in, &g->in);
    ck_assert_int_eq(ad_q8_resample_init(&r, NULL), ADAPS_OK);
    ad_q8_resample_run(&r, NULL);
    ad_q8_resample_fini(&r);
    ck_assert_mem_eq(got, g->want, (size_t)(g->size[0] * g->size[1]));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("q8_golden");
    TCase *c = tcase_create("q8_golden");
    tcase_add_loop_test(c, average, 0, sizeof pools / sizeof *pools);
    tcase_add_loop_test(c, resize, 0, sizeof resizes / sizeof *resizes);
    suite_add_tcase(suite, c);
    return run_suite(suite);
}
