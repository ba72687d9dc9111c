/*
 * Networks that the papers on collaborative inference use beside the usual ones: Xception's
 * separable convolutions, and C3D, which sees pictures in a row. See zoo_nets.c.
 */
#include "zoo_layers.h"

/* ---- Xception: Chollet, CVPR 2017, in the form that PyTorch's ports give it: padding is the same
 * on opposite sides ---- */

/* A depthwise 3x3 and a pointwise convolution, then batch normalisation. */
static zoo_value separable(struct zoo *z, zoo_value x, const char *name, int out)
{
    int in = zoo_channels(z, x);

    x = zoo_conv(z, x, NAME("%s.depthwise", name),
                 CONV(in, 3, .ph = 1, .pw = 1, .group = in, .nobias = true));
    return zoo_conv_bn(z, x, NAME("%s.pointwise", name), NAME("%s.bn", name), 1, 1e-5,
                       CONV(out, 1));
}

/* Two separable convolutions and a pool beside a 1x1 convolution, both of stride 2. first: what it
 * reads is rectified already. */
static zoo_value reduction(struct zoo *z, zoo_value x, const char *name, int middle, int out,
                           bool first)
{
    zoo_value skip = zoo_conv_bn(z, x, NAME("%s.skip", name), NAME("%s.skipbn", name), 1, 1e-5,
                                 CONV(out, 1, .stride = 2));
    zoo_value y = separable(z, first ? x : zoo_relu(z, x), NAME("%s.sep1", name), middle);

    y = separable(z, zoo_relu(z, y), NAME("%s.sep2", name), out);
    return zoo_add(z, zoo_maxpool(z, y, 3, 2, 1), skip);
}

/* Three separable convolutions, each of what is rectified, and what was there. */
static zoo_value middle(struct zoo *z, zoo_value x, const char *name)
{
    zoo_value y = x;

    for (int i = 1; i <= 3; i++)
        y = separable(z, zoo_relu(z, y), NAME("%s.sep%d", name, i), 728);
    return zoo_add(z, y, x);
}

void zoo_xception(struct zoo *z)
{
    zoo_value x = zoo_input(z, 3, 299, 299);

    x = zoo_relu(z, zoo_conv_bn(z, x, "conv1", "bn1", 1, 1e-5, CONV(32, 3, .stride = 2)));
    x = zoo_relu(z, zoo_conv_bn(z, x, "conv2", "bn2", 1, 1e-5, CONV(64, 3)));
    x = reduction(z, x, "block1", 128, 128, true);
    x = reduction(z, x, "block2", 256, 256, false);
    x = reduction(z, x, "block3", 728, 728, false);
    for (int i = 4; i <= 11; i++)
        x = middle(z, x, NAME("block%d", i));
    x = reduction(z, x, "block12", 728, 1024, false);
    x = zoo_relu(z, separable(z, x, "conv3", 1536));
    x = zoo_relu(z, separable(z, x, "conv4", 2048));
    x = zoo_flatten(z, zoo_global_avgpool(z, x));
    zoo_output(z, zoo_gemm(z, x, "fc", 1000));
}

/* ---- C3D: Tran et al., ICCV 2015; the Sports-1M model: sixteen frames, 487 classes ---- */

static zoo_value seen(struct zoo *z, zoo_value x, const char *name, int out)
{
    return zoo_relu(z, zoo_conv3(z, x, name, out));
}

void zoo_c3d(struct zoo *z)
{
    zoo_value x = zoo_input3(z, 3, 16, 112, 112);

    x = zoo_maxpool3(z, seen(z, x, "conv1", 64), 1, 2, 0);
    x = zoo_maxpool3(z, seen(z, x, "conv2", 128), 2, 2, 0);
    x = seen(z, seen(z, x, "conv3a", 256), "conv3b", 256);
    x = zoo_maxpool3(z, x, 2, 2, 0);
    x = seen(z, seen(z, x, "conv4a", 512), "conv4b", 512);
    x = zoo_maxpool3(z, x, 2, 2, 0);
    x = seen(z, seen(z, x, "conv5a", 512), "conv5b", 512);
    x = zoo_flatten(z, zoo_maxpool3(z, x, 2, 2, 1));
    x = zoo_relu(z, zoo_gemm(z, x, "fc6", 4096));
    x = zoo_relu(z, zoo_gemm(z, x, "fc7", 4096));
    zoo_output(z, zoo_gemm(z, x, "fc8", 487));
}
