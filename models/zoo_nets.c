/*
 * The networks of the zoo. Layers and the names of their tensors are torchvision's, so the weights
 * of a file load into its modules as they are (tests/interop/zoo_check.py does that).
 *
 * To add one: write a function that takes the graph from zoo_input() to zoo_output() and enter it
 * in zoo_nets[]. Those in zoo_more.c are declared in zoo_layers.h.
 */
#include "zoo_nets.h"
#include "zoo_layers.h"

#include <stdarg.h>
#include <stdio.h>

const char *zoo_name(char buffer[64], const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(buffer, 64, fmt, ap);
    va_end(ap);
    return buffer;
}

static zoo_value conv_relu(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p)
{
    return zoo_relu(z, zoo_conv(z, x, name, p));
}

/* The classifier of AlexNet and VGG: two rectified layers of 4096 and one of 1000. */
static zoo_value classifier(struct zoo *z, zoo_value x, const char *const names[3])
{
    x = zoo_flatten(z, x);
    x = zoo_relu(z, zoo_gemm(z, x, names[0], 4096));
    x = zoo_relu(z, zoo_gemm(z, x, names[1], 4096));
    return zoo_gemm(z, x, names[2], 1000);
}

/* LeCun et al., 1998, with rectifiers and maxima in place of tanh and trained averages. */
static void lenet5(struct zoo *z)
{
    zoo_value x = zoo_input(z, 1, 28, 28);

    x = zoo_maxpool(z, conv_relu(z, x, "conv1", CONV(6, 5, .ph = 2, .pw = 2)), 2, 2, 0);
    x = zoo_maxpool(z, conv_relu(z, x, "conv2", CONV(16, 5)), 2, 2, 0);
    x = zoo_relu(z, zoo_gemm(z, zoo_flatten(z, x), "fc1", 120));
    x = zoo_relu(z, zoo_gemm(z, x, "fc2", 84));
    zoo_output(z, zoo_gemm(z, x, "fc3", 10));
}

static void alexnet(struct zoo *z)
{
    static const char *const dense[] = {"classifier.1", "classifier.4", "classifier.6"};
    zoo_value x = zoo_input(z, 3, 224, 224);

    x = conv_relu(z, x, "features.0", CONV(64, 11, .stride = 4, .ph = 2, .pw = 2));
    x = zoo_maxpool(z, x, 3, 2, 0);
    x = conv_relu(z, x, "features.3", CONV(192, 5, .ph = 2, .pw = 2));
    x = zoo_maxpool(z, x, 3, 2, 0);
    x = conv_relu(z, x, "features.6", CONV(384, 3, .ph = 1, .pw = 1));
    x = conv_relu(z, x, "features.8", CONV(256, 3, .ph = 1, .pw = 1));
    x = conv_relu(z, x, "features.10", CONV(256, 3, .ph = 1, .pw = 1));
    x = zoo_maxpool(z, x, 3, 2, 0);
    zoo_output(z, classifier(z, x, dense));
}

/* Five groups of 3x3 convolutions, each ending in a pool. */
static void vgg(struct zoo *z, const int depths[5])
{
    static const char *const dense[] = {"classifier.0", "classifier.3", "classifier.6"};
    static const int widths[] = {64, 128, 256, 512, 512};
    zoo_value x = zoo_input(z, 3, 224, 224);
    int at = 0;

    for (int group = 0; group < 5; group++) {
        for (int i = 0; i < depths[group]; i++, at += 2)
            x = conv_relu(z, x, NAME("features.%d", at), CONV(widths[group], 3, .ph = 1, .pw = 1));
        x = zoo_maxpool(z, x, 2, 2, 0);
        at++;
    }
    zoo_output(z, classifier(z, x, dense));
}

static void vgg16(struct zoo *z)
{
    vgg(z, (int[]){2, 2, 3, 3, 3});
}

static void vgg19(struct zoo *z)
{
    vgg(z, (int[]){2, 2, 4, 4, 4});
}

/* ---- ResNet ---- */

static zoo_value resnet_conv(struct zoo *z, zoo_value x, const char *block, const char *conv,
                             const char *bn, double gamma, struct zoo_conv_spec p)
{
    return zoo_conv_bn(z, x, NAME("%s.%s", block, conv), NAME("%s.%s", block, bn), gamma, 1e-5, p);
}

/* 1x1, 3x3 (with the stride), 1x1 to 4 * width; the sum with the input, projected where the shape
 * changes. The small gamma keeps the sum of many blocks near the size of one. `deep`: of so many
 * that statistics must follow the sums closely. */
static zoo_value bottleneck(struct zoo *z, zoo_value x, const char *name, int width, int stride,
                            bool deep)
{
    zoo_value y = x;

    y = zoo_relu(z, resnet_conv(z, y, name, "conv1", "bn1", 1, CONV(width, 1)));
    y = zoo_relu(z, resnet_conv(z, y, name, "conv2", "bn2", 1,
                                CONV(width, 3, .stride = stride, .ph = 1, .pw = 1)));
    y = resnet_conv(z, y, name, "conv3", "bn3", 0.5, CONV(4 * width, 1));
    if (stride != 1 || zoo_channels(z, x) != 4 * width)
        x = resnet_conv(z, x, name, "downsample.0", "downsample.1", 1,
                        CONV(4 * width, 1, .stride = stride));
    else if (deep)
        return zoo_add_relu(z, y, x);
    return zoo_relu(z, zoo_add(z, y, x));
}

/* Stride in the 3x3 convolution ("v1.5"), as torchvision has it. */
static void resnet(struct zoo *z, const int depths[4])
{
    zoo_value x = zoo_input(z, 3, 224, 224);

    x = zoo_conv_bn(z, x, "conv1", "bn1", 1, 1e-5, CONV(64, 7, .stride = 2, .ph = 3, .pw = 3));
    x = zoo_maxpool(z, zoo_relu(z, x), 3, 2, 1);
    for (int layer = 0; layer < 4; layer++)
        for (int i = 0; i < depths[layer]; i++)
            x = bottleneck(z, x, NAME("layer%d.%d", layer + 1, i), 64 << layer,
                           i == 0 && layer > 0 ? 2 : 1, depths[layer] > 6);
    x = zoo_flatten(z, zoo_global_avgpool(z, x));
    zoo_output(z, zoo_gemm(z, x, "fc", 1000));
}

static void resnet50(struct zoo *z)
{
    resnet(z, (int[]){3, 4, 6, 3});
}

static void resnet101(struct zoo *z)
{
    resnet(z, (int[]){3, 4, 23, 3});
}

/* ---- MobileNetV2 ---- */

/* Convolution, batch normalisation, Clip(0, 6); the gamma makes the upper limit matter. */
static zoo_value mobile_conv(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p)
{
    return zoo_relu6(z, zoo_conv_bn(z, x, NAME("%s.0", name), NAME("%s.1", name), 2, 1e-5, p));
}

static zoo_value inverted_residual(struct zoo *z, zoo_value x, const char *name, int expand,
                                   int out, int stride)
{
    int in = zoo_channels(z, x), wide = in * expand, at = 0;
    zoo_value y = x;

    if (expand != 1)
        y = mobile_conv(z, y, NAME("%s.conv.%d", name, at++), CONV(wide, 1));
    y = mobile_conv(z, y, NAME("%s.conv.%d", name, at++),
                    CONV(wide, 3, .stride = stride, .ph = 1, .pw = 1, .group = wide));
    y = zoo_conv_bn(z, y, NAME("%s.conv.%d", name, at), NAME("%s.conv.%d", name, at + 1), 1, 1e-5,
                    CONV(out, 1));
    return stride == 1 && in == out ? zoo_add(z, x, y) : y;
}

static void mobilenetv2(struct zoo *z)
{
    static const struct {
        int expand, out, count, stride;
    } stages[] = {{1, 16, 1, 1}, {6, 24, 2, 2},  {6, 32, 3, 2}, {6, 64, 4, 2},
                  {6, 96, 3, 1}, {6, 160, 3, 2}, {6, 320, 1, 1}};
    zoo_value x = zoo_input(z, 3, 224, 224);
    int at = 1;

    x = mobile_conv(z, x, "features.0", CONV(32, 3, .stride = 2, .ph = 1, .pw = 1));
    for (size_t s = 0; s < sizeof(stages) / sizeof(stages[0]); s++)
        for (int i = 0; i < stages[s].count; i++)
            x = inverted_residual(z, x, NAME("features.%d", at++), stages[s].expand, stages[s].out,
                                  i == 0 ? stages[s].stride : 1);
    x = mobile_conv(z, x, NAME("features.%d", at), CONV(1280, 1));
    x = zoo_flatten(z, zoo_global_avgpool(z, x));
    zoo_output(z, zoo_gemm(z, x, "classifier.1", 1000));
}

/* ---- Inception v3 ---- */

/* Convolution, batch normalisation, rectifier: "block.branch". */
static zoo_value basic(struct zoo *z, zoo_value x, const char *block, const char *branch,
                       struct zoo_conv_spec p)
{
    return zoo_relu(z, zoo_conv_bn(z, x, NAME("%s%s.conv", block, branch),
                                   NAME("%s%s.bn", block, branch), 1, 1e-3, p));
}

/* The 1x1 convolution after a 3x3 average that several modules end with. */
static zoo_value pool_branch(struct zoo *z, zoo_value x, const char *b, int out)
{
    return basic(z, zoo_avgpool(z, x, 3, 1, 1), b, ".branch_pool", CONV(out, 1));
}

/* 35x35 modules. */
static zoo_value inception_a(struct zoo *z, zoo_value x, const char *b, int pool)
{
    zoo_value y[4];

    y[0] = basic(z, x, b, ".branch1x1", CONV(64, 1));
    y[1] = basic(z, x, b, ".branch5x5_1", CONV(48, 1));
    y[1] = basic(z, y[1], b, ".branch5x5_2", CONV(64, 5, .ph = 2, .pw = 2));
    y[2] = basic(z, x, b, ".branch3x3dbl_1", CONV(64, 1));
    y[2] = basic(z, y[2], b, ".branch3x3dbl_2", CONV(96, 3, .ph = 1, .pw = 1));
    y[2] = basic(z, y[2], b, ".branch3x3dbl_3", CONV(96, 3, .ph = 1, .pw = 1));
    y[3] = pool_branch(z, x, b, pool);
    return zoo_concat(z, 4, y);
}

/* 35x35 to 17x17. */
static zoo_value inception_b(struct zoo *z, zoo_value x, const char *b)
{
    zoo_value y[3];

    y[0] = basic(z, x, b, ".branch3x3", CONV(384, 3, .stride = 2));
    y[1] = basic(z, x, b, ".branch3x3dbl_1", CONV(64, 1));
    y[1] = basic(z, y[1], b, ".branch3x3dbl_2", CONV(96, 3, .ph = 1, .pw = 1));
    y[1] = basic(z, y[1], b, ".branch3x3dbl_3", CONV(96, 3, .stride = 2));
    y[2] = zoo_maxpool(z, x, 3, 2, 0);
    return zoo_concat(z, 3, y);
}

/* 17x17 modules: 7x7 windows factored into 1x7 and 7x1. */
static zoo_value inception_c(struct zoo *z, zoo_value x, const char *b, int width)
{
    zoo_value y[4];

    y[0] = basic(z, x, b, ".branch1x1", CONV(192, 1));
    y[1] = basic(z, x, b, ".branch7x7_1", CONV(width, 1));
    y[1] = basic(z, y[1], b, ".branch7x7_2", CONV(width, 1, .kw = 7, .pw = 3));
    y[1] = basic(z, y[1], b, ".branch7x7_3", CONV(192, 7, .kw = 1, .ph = 3));
    y[2] = basic(z, x, b, ".branch7x7dbl_1", CONV(width, 1));
    y[2] = basic(z, y[2], b, ".branch7x7dbl_2", CONV(width, 7, .kw = 1, .ph = 3));
    y[2] = basic(z, y[2], b, ".branch7x7dbl_3", CONV(width, 1, .kw = 7, .pw = 3));
    y[2] = basic(z, y[2], b, ".branch7x7dbl_4", CONV(width, 7, .kw = 1, .ph = 3));
    y[2] = basic(z, y[2], b, ".branch7x7dbl_5", CONV(192, 1, .kw = 7, .pw = 3));
    y[3] = pool_branch(z, x, b, 192);
    return zoo_concat(z, 4, y);
}

/* 17x17 to 8x8. */
static zoo_value inception_d(struct zoo *z, zoo_value x, const char *b)
{
    zoo_value y[3];

    y[0] = basic(z, x, b, ".branch3x3_1", CONV(192, 1));
    y[0] = basic(z, y[0], b, ".branch3x3_2", CONV(320, 3, .stride = 2));
    y[1] = basic(z, x, b, ".branch7x7x3_1", CONV(192, 1));
    y[1] = basic(z, y[1], b, ".branch7x7x3_2", CONV(192, 1, .kw = 7, .pw = 3));
    y[1] = basic(z, y[1], b, ".branch7x7x3_3", CONV(192, 7, .kw = 1, .ph = 3));
    y[1] = basic(z, y[1], b, ".branch7x7x3_4", CONV(192, 3, .stride = 2));
    y[2] = zoo_maxpool(z, x, 3, 2, 0);
    return zoo_concat(z, 3, y);
}

/* 1x3 and 3x1 side by side on the same input. */
static zoo_value row_and_column(struct zoo *z, zoo_value x, const char *b, const char *row,
                                const char *column)
{
    zoo_value y[2];

    y[0] = basic(z, x, b, row, CONV(384, 1, .kw = 3, .pw = 1));
    y[1] = basic(z, x, b, column, CONV(384, 3, .kw = 1, .ph = 1));
    return zoo_concat(z, 2, y);
}

/* 8x8 modules. */
static zoo_value inception_e(struct zoo *z, zoo_value x, const char *b)
{
    zoo_value y[4];

    y[0] = basic(z, x, b, ".branch1x1", CONV(320, 1));
    y[1] = basic(z, x, b, ".branch3x3_1", CONV(384, 1));
    y[1] = row_and_column(z, y[1], b, ".branch3x3_2a", ".branch3x3_2b");
    y[2] = basic(z, x, b, ".branch3x3dbl_1", CONV(448, 1));
    y[2] = basic(z, y[2], b, ".branch3x3dbl_2", CONV(384, 3, .ph = 1, .pw = 1));
    y[2] = row_and_column(z, y[2], b, ".branch3x3dbl_3a", ".branch3x3dbl_3b");
    y[3] = pool_branch(z, x, b, 192);
    return zoo_concat(z, 4, y);
}

static void inceptionv3(struct zoo *z)
{
    zoo_value x = zoo_input(z, 3, 299, 299);

    x = basic(z, x, "Conv2d_1a_3x3", "", CONV(32, 3, .stride = 2));
    x = basic(z, x, "Conv2d_2a_3x3", "", CONV(32, 3));
    x = basic(z, x, "Conv2d_2b_3x3", "", CONV(64, 3, .ph = 1, .pw = 1));
    x = zoo_maxpool(z, x, 3, 2, 0);
    x = basic(z, x, "Conv2d_3b_1x1", "", CONV(80, 1));
    x = basic(z, x, "Conv2d_4a_3x3", "", CONV(192, 3));
    x = zoo_maxpool(z, x, 3, 2, 0);
    x = inception_a(z, x, "Mixed_5b", 32);
    x = inception_a(z, x, "Mixed_5c", 64);
    x = inception_a(z, x, "Mixed_5d", 64);
    x = inception_b(z, x, "Mixed_6a");
    x = inception_c(z, x, "Mixed_6b", 128);
    x = inception_c(z, x, "Mixed_6c", 160);
    x = inception_c(z, x, "Mixed_6d", 160);
    x = inception_c(z, x, "Mixed_6e", 192);
    x = inception_d(z, x, "Mixed_7a");
    x = inception_e(z, x, "Mixed_7b");
    x = inception_e(z, x, "Mixed_7c");
    x = zoo_flatten(z, zoo_global_avgpool(z, x));
    zoo_output(z, zoo_gemm(z, x, "fc", 1000));
}

const struct zoo_net zoo_nets[] = {
    {"lenet5", "LeCun et al., Proc. IEEE 86(11), 1998", lenet5},
    {"alexnet", "Krizhevsky, arXiv:1404.5997", alexnet},
    {"vgg16", "Simonyan and Zisserman, ICLR 2015", vgg16},
    {"vgg19", "Simonyan and Zisserman, ICLR 2015", vgg19},
    {"resnet50", "He et al., CVPR 2016", resnet50},
    {"mobilenetv2", "Sandler et al., CVPR 2018", mobilenetv2},
    {"inceptionv3", "Szegedy et al., CVPR 2016", inceptionv3},
    {"resnet101", "He et al., CVPR 2016", resnet101},
    {"densenet121", "Huang et al., CVPR 2017", zoo_densenet121},
    {"squeezenet", "Iandola et al., arXiv:1602.07360 (1.1)", zoo_squeezenet},
    {"yolov2", "Redmon and Farhadi, CVPR 2017 (VOC, 416)", zoo_yolov2},
    {"hardcorenas", "like those of Nayman et al., ICML 2021", zoo_hardcorenas},
    {"yolov3", "Redmon and Farhadi, arXiv:1804.02767 (COCO, 416)", zoo_yolov3},
    {"unet", "after Ronneberger et al., MICCAI 2015", zoo_unet},
    {"deeplabv3", "Chen et al., arXiv:1706.05587 (ResNet-50)", zoo_deeplabv3},
    {"xception", "Chollet, CVPR 2017", zoo_xception},
    {"c3d", "Tran et al., ICCV 2015 (Sports-1M, 16 frames)", zoo_c3d},
};
const size_t zoo_nets_count = sizeof(zoo_nets) / sizeof(zoo_nets[0]);

struct zoo *zoo_build(const struct zoo_net *net, const struct zoo_options *options)
{
    struct zoo *z = zoo_new(net->name, options);

    net->build(z);
    return z;
}
