/*
 * Networks of the zoo whose answers are maps: detection at three scales, and segmentation. See
 * zoo_nets.c.
 */
#include "zoo_layers.h"

/* ---- YOLOv3: Redmon and Farhadi, arXiv:1804.02767; Darknet's yolov3.cfg (COCO) ---- */

/* Convolution "conv<at>", batch normalisation "bn<at>", leaky rectifier. */
static zoo_value dark_conv(struct zoo *z, zoo_value x, int *at, int out, int k, int stride)
{
    x = zoo_conv_bn(z, x, NAME("conv%d", *at), NAME("bn%d", *at), 1, 1e-5,
                    CONV(out, k, .stride = stride, .ph = k / 2, .pw = k / 2));
    ++*at;
    return zoo_leaky_relu(z, x, 0.1);
}

/* Half of the height and width, then so many residual blocks. The sum has twice the power of its
 * operands; batch normalisation takes that back. */
static zoo_value dark_stage(struct zoo *z, zoo_value x, int *at, int out, int blocks)
{
    x = dark_conv(z, x, at, out, 3, 2);
    for (int i = 0; i < blocks; i++) {
        zoo_value y = dark_conv(z, x, at, out / 2, 1, 1);

        x = zoo_add(z, x, dark_conv(z, y, at, out, 3, 1));
    }
    return x;
}

/* Five convolutions, then two that make the answer: at each place three boxes of 4 coordinates, a
 * confidence and 80 classes. Returns what the next finer scale reads. */
static zoo_value dark_head(struct zoo *z, zoo_value x, int *at, int width)
{
    zoo_value y;

    for (int i = 0; i < 5; i++)
        x = dark_conv(z, x, at, i % 2 ? 2 * width : width, i % 2 ? 3 : 1, 1);
    y = dark_conv(z, x, at, 2 * width, 3, 1);
    zoo_output(z, zoo_conv(z, y, NAME("conv%d", (*at)++), CONV(255, 1)));
    return x;
}

void zoo_yolov3(struct zoo *z)
{
    static const int blocks[] = {1, 2, 8, 8, 4};
    zoo_value x = zoo_input(z, 3, 416, 416), stage[5];
    int at = 1;

    x = dark_conv(z, x, &at, 32, 3, 1);
    for (int i = 0; i < 5; i++)
        x = stage[i] = dark_stage(z, x, &at, 64 << i, blocks[i]);
    x = dark_head(z, x, &at, 512);
    for (int scale = 1; scale < 3; scale++) {
        x = zoo_upsample(z, dark_conv(z, x, &at, 512 >> scale, 1, 1), 2, false);
        x = zoo_concat(z, 2, (zoo_value[]){x, stage[4 - scale]});
        x = dark_head(z, x, &at, 512 >> scale);
    }
}

/* ---- U-Net: Ronneberger et al., MICCAI 2015 ---- */

/* Two 3x3 convolutions. As most later networks of that name, they keep the size of the map, which
 * the paper's do not, and have batch normalisation. */
static zoo_value two_convs(struct zoo *z, zoo_value x, const char *name, int out)
{
    for (int i = 1; i <= 2; i++)
        x = zoo_relu(z, zoo_conv_bn(z, x, NAME("%s.conv%d", name, i), NAME("%s.bn%d", name, i), 1,
                                    1e-5, CONV(out, 3, .ph = 1, .pw = 1)));
    return x;
}

void zoo_unet(struct zoo *z)
{
    enum { DEPTH = 4, WIDTH = 64, CLASSES = 2 };
    zoo_value x = zoo_input(z, 3, 256, 256), skip[DEPTH];

    for (int i = 0; i < DEPTH; i++) {
        skip[i] = two_convs(z, x, NAME("down%d", i), WIDTH << i);
        x = zoo_maxpool(z, skip[i], 2, 2, 0);
    }
    x = two_convs(z, x, "bottom", WIDTH << DEPTH);
    for (int i = DEPTH - 1; i >= 0; i--) {
        x = zoo_conv_transpose(z, x, NAME("up%d.up", i), WIDTH << i, 2);
        x = two_convs(z, zoo_concat(z, 2, (zoo_value[]){skip[i], x}), NAME("up%d", i), WIDTH << i);
    }
    zoo_output(z, zoo_conv(z, x, "out", CONV(CLASSES, 1)));
}

/* ---- DeepLabv3: Chen et al., arXiv:1706.05587; torchvision's deeplabv3_resnet50 without the
 * auxiliary classifier. ---- */

static zoo_value normed(struct zoo *z, zoo_value x, const char *conv, const char *bn, double gamma,
                        struct zoo_conv_spec p)
{
    return zoo_conv_bn(z, x, conv, bn, gamma, 1e-5, p);
}

/* ResNet's bottleneck with a dilated 3x3 convolution. */
static zoo_value dilated_bottleneck(struct zoo *z, zoo_value x, const char *name, int width,
                                    int stride, int dilation)
{
    zoo_value y =
        zoo_relu(z, normed(z, x, NAME("%s.conv1", name), NAME("%s.bn1", name), 1, CONV(width, 1)));

    y = zoo_relu(z, normed(z, y, NAME("%s.conv2", name), NAME("%s.bn2", name), 1,
                           CONV(width, 3, .stride = stride, .ph = dilation, .pw = dilation,
                                .dilation = dilation)));
    y = normed(z, y, NAME("%s.conv3", name), NAME("%s.bn3", name), 0.5, CONV(4 * width, 1));
    if (zoo_channels(z, x) != 4 * width)
        x = normed(z, x, NAME("%s.downsample.0", name), NAME("%s.downsample.1", name), 1,
                   CONV(4 * width, 1, .stride = stride));
    return zoo_relu(z, zoo_add(z, y, x));
}

/* Atrous spatial pyramid pooling: windows of four dilations, and the mean of all. */
static zoo_value pyramid(struct zoo *z, zoo_value x, int size)
{
    static const int dilations[] = {12, 24, 36};
    zoo_value parts[5];

    parts[0] = zoo_relu(
        z, normed(z, x, "classifier.0.convs.0.0", "classifier.0.convs.0.1", 1, CONV(256, 1)));
    for (int i = 0; i < 3; i++)
        parts[i + 1] = zoo_relu(z, normed(z, x, NAME("classifier.0.convs.%d.0", i + 1),
                                          NAME("classifier.0.convs.%d.1", i + 1), 1,
                                          CONV(256, 3, .ph = dilations[i], .pw = dilations[i],
                                               .dilation = dilations[i])));
    parts[4] = zoo_relu(z, normed(z, zoo_global_avgpool(z, x), "classifier.0.convs.4.1",
                                  "classifier.0.convs.4.2", 1, CONV(256, 1)));
    parts[4] = zoo_upsample(z, parts[4], size, true);
    return zoo_concat(z, 5, parts);
}

void zoo_deeplabv3(struct zoo *z)
{
    static const int blocks[] = {3, 4, 6, 3}, strides[] = {1, 2, 1, 1}, dilations[] = {1, 1, 2, 4};
    zoo_value x = zoo_input(z, 3, 224, 224);

    x = normed(z, x, "backbone.conv1", "backbone.bn1", 1,
               CONV(64, 7, .stride = 2, .ph = 3, .pw = 3));
    x = zoo_maxpool(z, zoo_relu(z, x), 3, 2, 1);
    for (int layer = 0; layer < 4; layer++)
        for (int i = 0; i < blocks[layer]; i++) /* the first still has the dilation before */
            x = dilated_bottleneck(z, x, NAME("backbone.layer%d.%d", layer + 1, i), 64 << layer,
                                   i == 0 ? strides[layer] : 1,
                                   i == 0 && layer > 0 ? dilations[layer - 1] : dilations[layer]);
    x = pyramid(z, x, 224 / 8);
    x = zoo_relu(z,
                 normed(z, x, "classifier.0.project.0", "classifier.0.project.1", 1, CONV(256, 1)));
    x = zoo_relu(z,
                 normed(z, x, "classifier.1", "classifier.2", 1, CONV(256, 3, .ph = 1, .pw = 1)));
    x = zoo_conv(z, x, "classifier.4", CONV(21, 1));
    zoo_output(z, zoo_upsample(z, x, 8, true));
}
