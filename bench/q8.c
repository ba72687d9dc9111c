/* bench/q8 [NETWORK [LANES]]: layers of networks as convolutions of bytes and of floats, both ours
 * and direct, and of bytes by XNNPACK (qc8: int8, a scale for each output channel), in turns on one
 * thread: milliseconds of each, the best of some rounds, the ratios of our bytes to both, and how
 * many of XNNPACK's bytes are others. LANES 8: ours in vectors of 8 floats; 7: likewise, without
 * VNNI. */
#include "base/clock.h"
#include "base/mem.h"
#include "base/rng.h"
#include "exec/kernels/choice.h"
#include "exec/kernels/conv.h"
#include "exec/kernels/depthwise.h"
#include "exec/kernels/l2.h"
#include "exec/kernels/q8_conv.h"
#include "exec/kernels/q8_depthwise.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xnnpack.h>

#define ROUNDS 7

enum form { FLOATS, BYTES, XNNPACK, FORMS };

static const struct layer {
    const char *network;
    int64_t size, inputs, outputs, window, stride; /* inputs 0: depthwise */
    int count;                                     /* so many in the network */
} layers[] = {
    {"vgg16", 224, 3, 64, 3, 1, 1},        {"vgg16", 224, 64, 64, 3, 1, 1},
    {"vgg16", 112, 64, 128, 3, 1, 1},      {"vgg16", 112, 128, 128, 3, 1, 1},
    {"vgg16", 56, 128, 256, 3, 1, 1},      {"vgg16", 56, 256, 256, 3, 1, 2},
    {"vgg16", 28, 256, 512, 3, 1, 1},      {"vgg16", 28, 512, 512, 3, 1, 2},
    {"vgg16", 14, 512, 512, 3, 1, 3},      {"vgg16", 1, 25088, 4096, 1, 1, 1},
    {"vgg16", 1, 4096, 4096, 1, 1, 1},     {"resnet50", 224, 3, 64, 7, 2, 1},
    {"resnet50", 56, 64, 64, 1, 1, 1},     {"resnet50", 56, 64, 64, 3, 1, 3},
    {"resnet50", 56, 64, 256, 1, 1, 4},    {"resnet50", 56, 256, 64, 1, 1, 2},
    {"resnet50", 56, 256, 128, 1, 1, 1},   {"resnet50", 56, 128, 128, 3, 2, 1},
    {"resnet50", 28, 128, 512, 1, 1, 4},   {"resnet50", 56, 256, 512, 1, 2, 1},
    {"resnet50", 28, 512, 128, 1, 1, 3},   {"resnet50", 28, 128, 128, 3, 1, 3},
    {"resnet50", 28, 512, 256, 1, 1, 1},   {"resnet50", 28, 256, 256, 3, 2, 1},
    {"resnet50", 14, 256, 1024, 1, 1, 6},  {"resnet50", 28, 512, 1024, 1, 2, 1},
    {"resnet50", 14, 1024, 256, 1, 1, 5},  {"resnet50", 14, 256, 256, 3, 1, 5},
    {"resnet50", 14, 1024, 512, 1, 1, 1},  {"resnet50", 14, 512, 512, 3, 2, 1},
    {"resnet50", 7, 512, 2048, 1, 1, 3},   {"resnet50", 14, 1024, 2048, 1, 2, 1},
    {"resnet50", 7, 2048, 512, 1, 1, 2},   {"resnet50", 7, 512, 512, 3, 1, 2},
    {"mobilenetv2", 224, 3, 32, 3, 2, 1},  {"mobilenetv2", 112, 0, 32, 3, 1, 1},
    {"mobilenetv2", 112, 32, 16, 1, 1, 1}, {"mobilenetv2", 112, 16, 96, 1, 1, 1},
    {"mobilenetv2", 112, 0, 96, 3, 2, 1},  {"mobilenetv2", 56, 96, 24, 1, 1, 1},
    {"mobilenetv2", 56, 24, 144, 1, 1, 2}, {"mobilenetv2", 56, 0, 144, 3, 1, 1},
    {"mobilenetv2", 56, 144, 24, 1, 1, 1}, {"mobilenetv2", 56, 0, 144, 3, 2, 1},
    {"mobilenetv2", 28, 144, 32, 1, 1, 1}, {"mobilenetv2", 28, 32, 192, 1, 1, 3},
    {"mobilenetv2", 28, 0, 192, 3, 1, 2},  {"mobilenetv2", 28, 192, 32, 1, 1, 2},
    {"mobilenetv2", 28, 0, 192, 3, 2, 1},  {"mobilenetv2", 14, 192, 64, 1, 1, 1},
    {"mobilenetv2", 14, 64, 384, 1, 1, 4}, {"mobilenetv2", 14, 0, 384, 3, 1, 4},
    {"mobilenetv2", 14, 384, 64, 1, 1, 3}, {"mobilenetv2", 14, 384, 96, 1, 1, 1},
    {"mobilenetv2", 14, 96, 576, 1, 1, 3}, {"mobilenetv2", 14, 0, 576, 3, 1, 2},
    {"mobilenetv2", 14, 576, 96, 1, 1, 2}, {"mobilenetv2", 14, 0, 576, 3, 2, 1},
    {"mobilenetv2", 7, 576, 160, 1, 1, 1}, {"mobilenetv2", 7, 160, 960, 1, 1, 3},
    {"mobilenetv2", 7, 0, 960, 3, 1, 3},   {"mobilenetv2", 7, 960, 160, 1, 1, 2},
    {"mobilenetv2", 7, 960, 320, 1, 1, 1}, {"mobilenetv2", 7, 320, 1280, 1, 1, 1},
};
#define LAYERS (sizeof layers / sizeof *layers)

static void *take(size_t n)
{
    void *p = ad_alloc_aligned(n + 64);
    if (!p) {
        fprintf(stderr, "bench/q8: out of memory\n");
        exit(1);
    }
    struct ad_rng rng = {n};
    for (size_t i = 0; i < n; i++)
        ((uint8_t *)p)[i] = (uint8_t)ad_rng_below(&rng, 256);
    return p;
}

static float *take_floats(size_t n)
{
    float *p = take(n * sizeof *p);
    struct ad_rng rng = {n};
    for (size_t i = 0; i < n; i++)
        p[i] = ad_rng_float(&rng) - 0.5f;
    return p;
}

/* A layer in all forms. */
struct both {
    const struct layer *layer;
    int64_t out_size, inputs, outputs, pad;
    struct ad_window window;
    struct ad_conv conv;
    struct ad_depthwise depthwise;
    struct ad_q8_conv q8;
    struct ad_q8_depthwise q8_depthwise;
    xnn_operator_t xnnpack;
    int8_t *xnnpack_out;
    void *rooms[8];
};

static void make_floats(struct both *b)
{
    int64_t taps = b->layer->window * b->layer->window;
    int64_t depth = b->layer->inputs ? b->inputs : 1, size = b->layer->size;
    float *x = b->rooms[0] = take_floats((size_t)(size * size * b->inputs));
    float *y = b->rooms[1] = take_floats((size_t)(b->out_size * b->out_size * b->outputs));
    float *kernel = take_floats((size_t)(b->outputs * taps * depth));
    struct ad_view in = {.data = x,
                         .n = 1,
                         .h = size,
                         .w = size,
                         .c = b->inputs,
                         .sh = size * b->inputs,
                         .sw = b->inputs};
    struct ad_view out = {.data = y,
                          .n = 1,
                          .h = b->out_size,
                          .w = b->out_size,
                          .c = b->outputs,
                          .sh = b->out_size * b->outputs,
                          .sw = b->outputs};
    size_t floats = 0;
    if (b->layer->inputs) {
        b->conv = (struct ad_conv){.in = in,
                                   .out = out,
                                   .window = b->window,
                                   .top = (int32_t)b->pad,
                                   .left = (int32_t)b->pad,
                                   .padded = b->pad > 0,
                                   .blocks = ad_conv_blocks(1, depth, b->outputs, taps),
                                   .clamp_min = 0,
                                   .clamp_max = INFINITY};
        if (!ad_conv_packed(&b->conv.blocks, &floats))
            exit(1);
        float *packed = b->rooms[2] = take_floats(floats);
        ad_conv_pack(packed, &b->conv.blocks, 0, 0, b->outputs, kernel, NULL);
        b->conv.packed = packed;
        b->conv.slice = ad_conv_slice(&b->conv.blocks, ad_l2_bytes(NULL) / 2);
    } else {
        b->depthwise = (struct ad_depthwise){.in = in,
                                             .out = out,
                                             .window = b->window,
                                             .top = (int32_t)b->pad,
                                             .left = (int32_t)b->pad,
                                             .multiplier = 1,
                                             .clamp_min = 0,
                                             .clamp_max = 6};
        b->depthwise.tiled = ad_depthwise_able(b->window.kw, b->window.sw, 1) &&
                             ad_choose_conv_lanes(ad_processor()) >= 8;
        if (!ad_depthwise_packed(&b->depthwise, b->outputs, &floats))
            exit(1);
        float *packed = b->rooms[2] = take_floats(floats);
        ad_depthwise_pack(&b->depthwise, b->outputs, packed, kernel, NULL);
        b->depthwise.packed = packed;
    }
    ad_free(kernel);
}

#define IN_ZERO (-8)
#define OUT_ZERO 3
#define IN_SCALE 0.1f
#define OUT_SCALE 0.2f

static void need(enum xnn_status status)
{
    if (status != xnn_status_success) {
        fprintf(stderr, "bench/q8: XNNPACK fails with status %d\n", (int)status);
        exit(1);
    }
}

/* XNNPACK calls inputs that lie in padding as we do: they are the zero point. kernel: rows of an
 * output channel each, the taps' inputs together. */
static void make_xnnpack(struct both *b, const int8_t *kernel, const float *scales, const int8_t *x)
{
    const struct ad_window *w = &b->window;
    size_t depth = b->layer->inputs ? (size_t)b->inputs : 1;
    uint32_t groups = b->layer->inputs ? 1 : (uint32_t)b->outputs;
    size_t outputs = b->layer->inputs ? (size_t)b->outputs : 1, size = (size_t)b->layer->size;
    int64_t along = (b->out_size - 1) * w->sh + w->kh - b->layer->size - b->pad;
    uint32_t before = (uint32_t)b->pad, after = along > 0 ? (uint32_t)along : 0;
    int32_t *bias = take((size_t)b->outputs * sizeof *bias);
    memset(bias, 0, (size_t)b->outputs * sizeof *bias);
    b->xnnpack_out = b->rooms[6] = take((size_t)(b->out_size * b->out_size * b->outputs));
#ifdef HAVE_XNN_RESHAPE
    size_t bytes = 0, alignment = 0;
    need(xnn_create_convolution2d_nhwc_qs8_qc8w(
        before, after, after, before, (uint32_t)w->kh, (uint32_t)w->kw, (uint32_t)w->sh,
        (uint32_t)w->sw, 1, 1, groups, depth, outputs, (size_t)b->inputs, (size_t)b->outputs,
        IN_ZERO, IN_SCALE, scales, kernel, bias, OUT_ZERO, OUT_SCALE, INT8_MIN, INT8_MAX, 0, NULL,
        NULL, &b->xnnpack));
    need(xnn_reshape_convolution2d_nhwc_qs8_qc8w(b->xnnpack, 1, size, size, &bytes, &alignment,
                                                 NULL, NULL, NULL));
    b->rooms[7] = bytes > 0 ? take(bytes) : NULL;
    need(xnn_setup_convolution2d_nhwc_qs8_qc8w(b->xnnpack, b->rooms[7], x, b->xnnpack_out));
#else
    need(xnn_create_convolution2d_nhwc_qc8(
        before, after, after, before, (uint32_t)w->kh, (uint32_t)w->kw, (uint32_t)w->sh,
        (uint32_t)w->sw, 1, 1, groups, depth, outputs, (size_t)b->inputs, (size_t)b->outputs,
        IN_ZERO, IN_SCALE, scales, kernel, bias, OUT_ZERO, OUT_SCALE, INT8_MIN, INT8_MAX, 0,
        &b->xnnpack));
    need(xnn_setup_convolution2d_nhwc_qc8(b->xnnpack, 1, size, size, x, b->xnnpack_out, NULL));
#endif
    ad_free(bias);
}

static void make_bytes(struct both *b)
{
    int64_t taps = b->layer->window * b->layer->window;
    int64_t depth = b->layer->inputs ? b->inputs : 1, size = b->layer->size;
    struct ad_q8 in = {.is_signed = true, .zero = IN_ZERO, .scale = IN_SCALE};
    struct ad_q8 to = {.is_signed = true, .zero = OUT_ZERO, .scale = OUT_SCALE};
    uint8_t *x = b->rooms[3] = take((size_t)(size * size * b->inputs));
    uint8_t *y = b->rooms[4] = take((size_t)(b->out_size * b->out_size * b->outputs));
    uint8_t *kernel = take((size_t)(b->outputs * taps * depth));
    float *scales = take_floats((size_t)b->outputs), *multipliers = take_floats((size_t)b->outputs);
    for (int64_t i = 0; i < b->outputs; i++) {
        scales[i] = (fabsf(scales[i]) + 0.25f) * 1e-3f;
        multipliers[i] = ad_q8_multiplier(IN_SCALE, scales[i], OUT_SCALE);
    }
    struct ad_q8_view view = {x, 1, size, size, b->inputs, 0, size * b->inputs, b->inputs};
    struct ad_q8_view out = {
        y, 1, b->out_size, b->out_size, b->outputs, 0, b->out_size * b->outputs, b->outputs};
    struct ad_q8_weights weights = {.data = kernel,
                                    .channel = taps * depth,
                                    .tap = depth,
                                    .input = 1,
                                    .is_signed = true,
                                    .multiplier = multipliers,
                                    .multiplier_step = 1};
    size_t bytes = 0;
    if (b->layer->inputs) {
        b->q8 = (struct ad_q8_conv){.in = view,
                                    .in_signed = true,
                                    .in_zero = in.zero,
                                    .out = ad_q8_out_bytes(&out, &to),
                                    .window = b->window,
                                    .top = (int32_t)b->pad,
                                    .left = (int32_t)b->pad,
                                    .shape = {1, b->outputs, taps, depth}};
        if (!ad_q8_conv_packed(&b->q8.shape, &bytes))
            exit(1);
        void *packed = b->rooms[5] = take(bytes);
        ad_q8_conv_pack(packed, &b->q8.shape, 0, 0, b->outputs, &weights, &in);
        b->q8.packed = packed;
        b->q8.slice = ad_q8_conv_slice(&b->q8.shape, ad_l2_bytes(NULL) / 2);
    } else {
        b->q8_depthwise = (struct ad_q8_depthwise){.in = view,
                                                   .in_signed = true,
                                                   .in_zero = in.zero,
                                                   .out = ad_q8_out_bytes(&out, &to),
                                                   .window = b->window,
                                                   .top = (int32_t)b->pad,
                                                   .left = (int32_t)b->pad};
        if (!ad_q8_depthwise_packed(&b->q8_depthwise, &bytes))
            exit(1);
        void *packed = b->rooms[5] = take(bytes);
        ad_q8_depthwise_pack(packed, &b->q8_depthwise, &weights);
        b->q8_depthwise.packed = packed;
    }
    make_xnnpack(b, (int8_t *)kernel, scales, (int8_t *)x);
    ad_free(kernel);
    ad_free(scales);
    ad_free(multipliers);
}

static void run(const struct both *b, enum form form)
{
    bool dense = b->layer->inputs;
    if (form == XNNPACK)
        need(xnn_run_operator(b->xnnpack, NULL));
    else if (form == BYTES && dense)
        ad_q8_conv_run(&b->q8, NULL);
    else if (form == BYTES)
        ad_q8_depthwise_run(&b->q8_depthwise, NULL);
    else if (dense)
        ad_conv_run(&b->conv, NULL);
    else
        ad_depthwise_run(&b->depthwise, NULL);
}

/* How many of XNNPACK's bytes are not ours. */
static int64_t differing(const struct both *b)
{
    int64_t n = b->out_size * b->out_size * b->outputs, differ = 0;
    const int8_t *ours = b->rooms[4];
    for (int64_t i = 0; i < n; i++)
        differ += ours[i] != b->xnnpack_out[i];
    return differ;
}

/* Milliseconds of each, in turns. */
static void measure(const struct layer *layer, double took[FORMS], int64_t *differ)
{
    struct both b = {.layer = layer};
    b.inputs = layer->inputs ? layer->inputs : layer->outputs;
    b.outputs = layer->outputs;
    b.pad = layer->window / 2;
    b.out_size = (layer->size + layer->stride - 1) / layer->stride;
    b.window = (struct ad_window){.kh = (int32_t)layer->window,
                                  .kw = (int32_t)layer->window,
                                  .sh = (int32_t)layer->stride,
                                  .sw = (int32_t)layer->stride,
                                  .dh = 1,
                                  .dw = 1};
    make_floats(&b);
    make_bytes(&b);
    for (int form = 0; form < FORMS; form++)
        took[form] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int form = 0; form < FORMS; form++) {
            int64_t start = ad_clock_ns();
            run(&b, (enum form)form);
            took[form] = fmin(took[form], (double)(ad_clock_ns() - start) * 1e-6);
        }
    *differ = differing(&b);
    xnn_delete_operator(b.xnnpack);
    for (size_t i = 0; i < sizeof b.rooms / sizeof *b.rooms; i++)
        ad_free(b.rooms[i]);
}

static void print_times(const double took[FORMS])
{
    printf(" %9.3f %9.3f %9.3f %6.2f %6.2f", took[FLOATS], took[BYTES], took[XNNPACK],
           took[BYTES] / took[FLOATS], took[BYTES] / took[XNNPACK]);
}

int main(int argc, char **argv)
{
    double sum[FORMS] = {0, 0, 0};
    int lanes = argc > 2 ? atoi(argv[2]) : 16;
    if (lanes < 8)
        ad_processor_forbid(AD_HAS_AVX512F | AD_HAS_AVX512DQ | AD_HAS_AVX512_VNNI |
                            AD_HAS_AVX_VNNI);
    else
        ad_processor_limit_lanes(lanes);
    struct ad_choice choice = ad_choose(ad_processor(), AD_WORK_Q8_CONV, NULL);
    bool any = false;
    need(xnn_initialize(NULL));
    printf("bytes by %s\n%-12s %5s %6s %6s %3s %2s %9s %9s %9s %6s %6s %7s\n", choice.instructions,
           "network", "size", "in", "out", "win", "st", "float ms", "byte ms", "XNN ms", "/float",
           "/XNN", "differ");
    for (size_t i = 0; i < LAYERS; i++) {
        const struct layer *l = &layers[i];
        double took[FORMS];
        int64_t differ;
        if (argc > 1 && strcmp(argv[1], l->network) != 0)
            continue;
        measure(l, took, &differ);
        any = true;
        printf("%-12s %5d %6d %6d %3d %2d", l->network, (int)l->size, (int)l->inputs,
               (int)l->outputs, (int)l->window, (int)l->stride);
        print_times(took);
        printf(" %7lld\n", (long long)differ);
        for (int k = 0; k < FORMS; k++)
            sum[k] += took[k] * l->count;
        if (i + 1 == LAYERS || strcmp(l->network, l[1].network) != 0) {
            printf("%-12s %26s", l->network, "all layers");
            print_times(sum);
            printf("\n");
            memset(sum, 0, sizeof sum);
        }
    }
    if (!any)
        fprintf(stderr, "bench/q8: no network '%s': vgg16, resnet50 or mobilenetv2\n", argv[1]);
    return any ? 0 : 2;
}
