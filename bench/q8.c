/* bench/q8 [NETWORK [LANES]]: layers of networks as convolutions of bytes and of floats, both ours
 * and direct, in turns on one thread: milliseconds of each, the best of some rounds, and the ratio.
 * LANES 8: in vectors of 8 floats; 7: likewise, without VNNI. */
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

#define ROUNDS 7

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

/* A layer in both forms. */
struct both {
    const struct layer *layer;
    int64_t out_size, inputs, outputs, pad;
    struct ad_window window;
    struct ad_conv conv;
    struct ad_depthwise depthwise;
    struct ad_q8_conv q8;
    struct ad_q8_depthwise q8_depthwise;
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

static void make_bytes(struct both *b)
{
    int64_t taps = b->layer->window * b->layer->window;
    int64_t depth = b->layer->inputs ? b->inputs : 1, size = b->layer->size;
    struct ad_q8 in = {.zero = 120, .scale = 0.1f}, to = {.zero = 3, .scale = 0.1f};
    uint8_t *x = b->rooms[3] = take((size_t)(size * size * b->inputs));
    uint8_t *y = b->rooms[4] = take((size_t)(b->out_size * b->out_size * b->outputs));
    uint8_t *kernel = take((size_t)(b->outputs * taps * depth));
    float *multipliers = take_floats((size_t)b->outputs);
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
    ad_free(kernel);
    ad_free(multipliers);
}

static void run(const struct both *b, bool bytes)
{
    if (b->layer->inputs && bytes)
        ad_q8_conv_run(&b->q8, NULL);
    else if (b->layer->inputs)
        ad_conv_run(&b->conv, NULL);
    else if (bytes)
        ad_q8_depthwise_run(&b->q8_depthwise, NULL);
    else
        ad_depthwise_run(&b->depthwise, NULL);
}

/* Milliseconds of both, in turns. */
static void measure(const struct layer *layer, double took[2])
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
    took[0] = took[1] = INFINITY;
    for (int round = 0; round < ROUNDS; round++)
        for (int bytes = 0; bytes < 2; bytes++) {
            int64_t start = ad_clock_ns();
            run(&b, bytes);
            took[bytes] = fmin(took[bytes], (double)(ad_clock_ns() - start) * 1e-6);
        }
    for (size_t i = 0; i < sizeof b.rooms / sizeof *b.rooms; i++)
        ad_free(b.rooms[i]);
}

int main(int argc, char **argv)
{
    double sum[2] = {0, 0};
    int lanes = argc > 2 ? atoi(argv[2]) : 16;
    if (lanes < 8)
        ad_processor_forbid(AD_HAS_AVX512F | AD_HAS_AVX512DQ | AD_HAS_AVX512_VNNI |
                            AD_HAS_AVX_VNNI);
    else
        ad_processor_limit_lanes(lanes);
    struct ad_choice choice = ad_choose(ad_processor(), AD_WORK_Q8_CONV, NULL);
    bool any = false;
    printf("bytes by %s\n%-12s %5s %6s %6s %3s %2s %9s %9s %6s\n", choice.instructions, "network",
           "size", "in", "out", "win", "st", "float ms", "byte ms", "ratio");
    for (size_t i = 0; i < LAYERS; i++) {
        const struct layer *l = &layers[i];
        double took[2];
        if (argc > 1 && strcmp(argv[1], l->network) != 0)
            continue;
        measure(l, took);
        any = true;
        printf("%-12s %5d %6d %6d %3d %2d %9.3f %9.3f %6.2f\n", l->network, (int)l->size,
               (int)l->inputs, (int)l->outputs, (int)l->window, (int)l->stride, took[0], took[1],
               took[1] / took[0]);
        for (int k = 0; k < 2; k++)
            sum[k] += took[k] * l->count;
        if (i + 1 == LAYERS || strcmp(l->network, l[1].network) != 0) {
            printf("%-12s %26s %9.3f %9.3f %6.2f\n", l->network, "all layers", sum[0], sum[1],
                   sum[1] / sum[0]);
            sum[0] = sum[1] = 0;
        }
    }
    if (!any)
        fprintf(stderr, "bench/q8: no network '%s': vgg16, resnet50 or mobilenetv2\n", argv[1]);
    return any ? 0 : 2;
}
