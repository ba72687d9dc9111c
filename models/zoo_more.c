/*
 * Networks of the zoo whose graphs are no chains of blocks: dense and squeezed concatenations, a
 * detector with a passthrough, and a searched network with gates. See zoo_nets.c.
 */
#include "zoo_layers.h"

/* ---- DenseNet: Huang et al., CVPR 2017; layers and names are torchvision's ---- */

enum { GROWTH = 32, BOTTLENECK = 4 * GROWTH, MOST_LAYERS = 24 };

/* Batch normalisation and rectifier of what is there, a 1x1 convolution to 128 channels, a 3x3 one
 * to 32 new ones. */
static zoo_value dense_layer(struct zoo *z, zoo_value x, const char *name)
{
    x = zoo_relu(z, zoo_bn(z, x, NAME("%s.norm1", name), 1, 1e-5));
    x = zoo_relu(z, zoo_conv_bn(z, x, NAME("%s.conv1", name), NAME("%s.norm2", name), 1, 1e-5,
                                CONV(BOTTLENECK, 1)));
    return zoo_conv(z, x, NAME("%s.conv2", name),
                    CONV(GROWTH, 3, .ph = 1, .pw = 1, .nobias = true));
}

/* Every layer reads the input and what all layers before it have made. */
static zoo_value dense_block(struct zoo *z, zoo_value x, const char *name, int layers)
{
    zoo_value parts[MOST_LAYERS + 1] = {x};

    for (int i = 0; i < layers; i++) {
        parts[i + 1] = dense_layer(z, x, NAME("%s.denselayer%d", name, i + 1));
        x = zoo_concat(z, i + 2, parts);
    }
    return x;
}

/* Half of the channels, half of the height and width. */
static zoo_value transition(struct zoo *z, zoo_value x, const char *name)
{
    int half = zoo_channels(z, x) / 2;

    x = zoo_relu(z, zoo_bn(z, x, NAME("%s.norm", name), 1, 1e-5));
    x = zoo_conv(z, x, NAME("%s.conv", name), CONV(half, 1, .nobias = true));
    return zoo_avgpool(z, x, 2, 2, 0);
}

void zoo_densenet121(struct zoo *z)
{
    static const int layers[] = {6, 12, MOST_LAYERS, 16};
    zoo_value x = zoo_input(z, 3, 224, 224);

    x = zoo_conv_bn(z, x, "features.conv0", "features.norm0", 1, 1e-5,
                    CONV(64, 7, .stride = 2, .ph = 3, .pw = 3));
    x = zoo_maxpool(z, zoo_relu(z, x), 3, 2, 1);
    for (int i = 0; i < 4; i++) {
        x = dense_block(z, x, NAME("features.denseblock%d", i + 1), layers[i]);
        if (i < 3)
            x = transition(z, x, NAME("features.transition%d", i + 1));
    }
    x = zoo_relu(z, zoo_bn(z, x, "features.norm5", 1, 1e-5));
    x = zoo_flatten(z, zoo_global_avgpool(z, x));
    zoo_output(z, zoo_gemm(z, x, "classifier", 1000));
}

/* ---- SqueezeNet 1.1: Iandola et al., arXiv:1602.07360; torchvision's squeezenet1_1 ---- */

static zoo_value rectified(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p)
{
    return zoo_relu(z, zoo_conv(z, x, name, p));
}

/* 1x1 to few channels, then 1x1 and 3x3 side by side. */
static zoo_value fire(struct zoo *z, zoo_value x, const char *name, int squeeze, int expand)
{
    zoo_value y[2];

    x = rectified(z, x, NAME("%s.squeeze", name), CONV(squeeze, 1));
    y[0] = rectified(z, x, NAME("%s.expand1x1", name), CONV(expand, 1));
    y[1] = rectified(z, x, NAME("%s.expand3x3", name), CONV(expand, 3, .ph = 1, .pw = 1));
    return zoo_concat(z, 2, y);
}

/* The published pools round their size up, which for this input is the same. */
void zoo_squeezenet(struct zoo *z)
{
    static const struct {
        int at, squeeze, expand;
        bool pool; /* before it */
    } modules[] = {{3, 16, 64, true},    {4, 16, 64, false},  {6, 32, 128, true},
                   {7, 32, 128, false},  {9, 48, 192, true},  {10, 48, 192, false},
                   {11, 64, 256, false}, {12, 64, 256, false}};
    zoo_value x = zoo_input(z, 3, 224, 224);

    x = rectified(z, x, "features.0", CONV(64, 3, .stride = 2));
    for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
        if (modules[i].pool)
            x = zoo_maxpool(z, x, 3, 2, 0);
        x = fire(z, x, NAME("features.%d", modules[i].at), modules[i].squeeze, modules[i].expand);
    }
    x = rectified(z, x, "classifier.1", CONV(1000, 1));
    zoo_output(z, zoo_flatten(z, zoo_global_avgpool(z, x)));
}

/* ---- YOLOv2: Redmon and Farhadi, CVPR 2017; the VOC model of Darknet's yolov2-voc.cfg ---- */

/* Convolution "conv<at>", batch normalisation "bn<at>", leaky rectifier. */
static zoo_value leaky_conv(struct zoo *z, zoo_value x, int at, int out, int k)
{
    x = zoo_conv_bn(z, x, NAME("conv%d", at), NAME("bn%d", at), 1, 1e-5,
                    CONV(out, k, .ph = k / 2, .pw = k / 2));
    return zoo_leaky_relu(z, x, 0.1);
}

/* Darknet-19 without its last layer; the 26x26 map beside the 13x13 one, its 2x2 blocks as
 * channels. (Darknet's own "reorg" orders these channels otherwise: a matter of the weights.)
 * The output holds, at each place, five boxes of 4 coordinates, a confidence and 20 classes. */
void zoo_yolov2(struct zoo *z)
{
    static const struct {
        int out, kernel; /* kernel 0: a 2x2 pool */
    } backbone[] = {{32, 3},   {0, 0},   {64, 3},   {0, 0},   {128, 3}, {64, 1},
                    {128, 3},  {0, 0},   {256, 3},  {128, 1}, {256, 3}, {0, 0},
                    {512, 3},  {256, 1}, {512, 3},  {256, 1}, {512, 3}, {0, 0},
                    {1024, 3}, {512, 1}, {1024, 3}, {512, 1}, {1024, 3}};
    zoo_value x = zoo_input(z, 3, 416, 416), fine = x, y[2];
    int at = 1;

    for (size_t i = 0; i < sizeof(backbone) / sizeof(backbone[0]); i++) {
        if (backbone[i].kernel) {
            x = leaky_conv(z, x, at++, backbone[i].out, backbone[i].kernel);
            continue;
        }
        fine = x; /* in the end what the last pool reads */
        x = zoo_maxpool(z, x, 2, 2, 0);
    }
    x = leaky_conv(z, x, at++, 1024, 3);
    y[1] = leaky_conv(z, x, at++, 1024, 3);
    y[0] = zoo_space_to_depth(z, leaky_conv(z, fine, at++, 64, 1), 2);
    x = leaky_conv(z, zoo_concat(z, 2, y), at++, 1024, 3);
    zoo_output(z, zoo_conv(z, x, NAME("conv%d", at), CONV(125, 1)));
}

/* ---- HardCoRe-NAS-like: after Nayman et al., ICML 2021 ---- */

/* Modelled after the search space of the paper, which starts from MobileNetV3-Large: inverted
 * residuals of expansion 2 to 6, depthwise windows of 3x3 or 5x5, squeeze and excite or none, two
 * to four blocks a stage of 24, 40, 80, 112 and 192 channels, hard swish in the later stages. The
 * choices below are ours. The network is as large as those of the paper, but is none of them. */
struct searched_stage {
    int expand, kernel, out, stride, count;
    bool excite, swish;
};

/* Convolution, batch normalisation, and hard swish or rectifier. Before a hard swish the
 * gamma is such that all its branches matter, and that it keeps the scale of what goes in. */
static zoo_value searched_conv(struct zoo *z, zoo_value x, const char *conv, const char *bn,
                               bool swish, struct zoo_conv_spec p)
{
    x = zoo_conv_bn(z, x, conv, bn, swish ? 3 : 1, 1e-5, p);
    return swish ? zoo_hard_swish(z, x) : zoo_relu(z, x);
}

/* x times a gate for each channel, made from the means of all; squeezed to a quarter of the
 * block's input, in eights. */
static zoo_value excite(struct zoo *z, zoo_value x, const char *block, int squeeze)
{
    zoo_value gate = zoo_global_avgpool(z, x);

    gate = rectified(z, gate, NAME("%s.se.conv_reduce", block), CONV(squeeze, 1));
    gate = zoo_conv(z, gate, NAME("%s.se.conv_expand", block), CONV(zoo_channels(z, x), 1));
    return zoo_mul(z, x, zoo_hard_sigmoid(z, gate));
}

static zoo_value searched_block(struct zoo *z, zoo_value x, const char *name,
                                const struct searched_stage *s, int stride)
{
    int in = zoo_channels(z, x), wide = in * s->expand, pad = s->kernel / 2;
    zoo_value y = x;

    if (s->expand != 1)
        y = searched_conv(z, y, NAME("%s.conv_pw", name), NAME("%s.bn1", name), s->swish,
                          CONV(wide, 1));
    y = searched_conv(z, y, NAME("%s.conv_dw", name), NAME("%s.bn2", name), s->swish,
                      CONV(wide, s->kernel, .stride = stride, .ph = pad, .pw = pad, .group = wide));
    if (s->excite)
        y = excite(z, y, name, (in / 4 + 7) / 8 * 8);
    y = zoo_conv_bn(z, y, NAME("%s.conv_pwl", name), NAME("%s.bn3", name), 1, 1e-5,
                    CONV(s->out, 1));
    return stride == 1 && in == s->out ? zoo_add(z, x, y) : y;
}

void zoo_hardcorenas(struct zoo *z)
{
    static const struct searched_stage stages[] = {
        {1, 3, 16, 1, 1, false, false}, {3, 5, 24, 2, 2, false, false},
        {3, 5, 40, 2, 3, true, false},  {6, 3, 80, 2, 4, true, true},
        {4, 5, 112, 1, 3, true, true},  {6, 5, 192, 2, 4, true, true},
    };
    zoo_value x = zoo_input(z, 3, 224, 224);
    int at = 0;

    x = searched_conv(z, x, "conv_stem", "bn1", true, CONV(16, 3, .stride = 2, .ph = 1, .pw = 1));
    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++)
        for (int i = 0; i < stages[s].count; i++)
            x = searched_block(z, x, NAME("blocks.%d", at++), &stages[s],
                               i == 0 ? stages[s].stride : 1);
    x = searched_conv(z, x, "conv_last", "bn2", true, CONV(960, 1));
    x = zoo_hard_swish(z, zoo_conv(z, zoo_global_avgpool(z, x), "conv_head", CONV(1280, 1)));
    zoo_output(z, zoo_gemm(z, zoo_flatten(z, x), "classifier", 1000));
}
