/*
 * Builds convolutional networks with seeded random weights and writes them as ONNX files.
 *
 * Every value is a float32 tensor of batch 1: 1 x c x h x w (NCHW), 1 x c after zoo_flatten() and
 * zoo_gemm(), or 1 x c x d x h x w, for which there are only the operators that say so. A builder call appends one node (or two), infers the shape of its result and
 * returns the result as a handle for later calls. Weights are described, not stored: zoo_write()
 * computes them while the file is written, so a network of any size needs a few hundred KB.
 *
 * Weights: He et al., "Delving Deep into Rectifiers" (ICCV 2015), eq 10: normal with variance
 * 2 / fan-in. Their numbers depend only on the seed and on the tensor's name, and are the same on
 * every machine: integer arithmetic, then correctly rounded IEEE operations, nothing from libm but
 * sqrt. The builder follows the expected mean square of every value ("power") and lays the
 * statistics of batch normalisation near it, so activations neither die out nor overflow.
 *
 * A call that contradicts itself (channels not divisible by groups, window larger than its input,
 * operands of different shape) is a mistake in the network's definition: the program prints node
 * and reason and aborts. So it does when memory is exhausted.
 */
#ifndef ZOO_BUILDER_H
#define ZOO_BUILDER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

struct zoo;

/* Handle of a value of the network that is being built. */
typedef int zoo_value;

/* Options of a new network. */
struct zoo_options {
    uint64_t seed;
    bool fold_bn; /* zoo_conv_bn() writes one Conv with bias, as a folding exporter would */
};

/* A convolution; zero stands for the default in brackets. Padding is the same on opposite sides. */
struct zoo_conv_spec {
    int out;      /* output channels */
    int kh, kw;   /* kernel height; width [kh] */
    int stride;   /* both directions [1] */
    int ph, pw;   /* padding of height; of width */
    int dilation; /* both directions [1] */
    int group;    /* [1]; channels must be divisible by it */
    bool nobias;  /* no bias */
};

/* What a network amounts to. Parameters: weights and biases, not batch statistics. */
struct zoo_totals {
    uint64_t params;
    uint64_t macs; /* multiply-accumulates of Conv and Gemm for one inference */
    int nodes;
    int input[3];  /* c, h, w */
    int depth;     /* of the input; 0: a map */
    int output[3]; /* c, h, w of the first output (h = w = 0: 1 x c) */
};

/* name becomes the graph's name. The caller frees the result with zoo_free(). */
struct zoo *zoo_new(const char *name, const struct zoo_options *options);
void zoo_free(struct zoo *z);

/* Declares the graph's input, named "input": once. */
zoo_value zoo_input(struct zoo *z, int c, int h, int w);

/* Declares an output: once at least, ZOO_MOST_OUTPUTS times at most. */
#define ZOO_MOST_OUTPUTS 4
void zoo_output(struct zoo *z, zoo_value x);

/* Conv. Weights name.weight (out x in/group x kh x kw) and name.bias (out). */
zoo_value zoo_conv(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p);

/* BatchNormalization with epsilon eps, scale around gamma and statistics around those expected
 * of x. Tensors: name.weight, .bias, .running_mean, .running_var. */
zoo_value zoo_bn(struct zoo *z, zoo_value x, const char *name, double gamma, double eps);

/* Conv without bias, then BatchNormalization; with options.fold_bn one Conv with bias and the same
 * expected output. */
zoo_value zoo_conv_bn(struct zoo *z, zoo_value x, const char *conv_name, const char *bn_name,
                      double gamma, double eps, struct zoo_conv_spec p);

/* ConvTranspose of a k x k kernel with stride k, without padding. Weights name.weight (in x out x k
 * x k) and name.bias (out). */
zoo_value zoo_conv_transpose(struct zoo *z, zoo_value x, const char *name, int out, int k);

/* Resize by this factor in height and width, to the nearest pixel or bilinear; half_pixel. */
zoo_value zoo_upsample(struct zoo *z, zoo_value x, int factor, bool bilinear);

/* Of d pictures in a row. zoo_relu() and zoo_flatten() take them, too. */
zoo_value zoo_input3(struct zoo *z, int c, int d, int h, int w);
/* 3 x 3 x 3, padded by 1. Weights name.weight (out x in x 3 x 3 x 3) and name.bias (out). */
zoo_value zoo_conv3(struct zoo *z, zoo_value x, const char *name, int out);
/* Windows of kd x k x k side by side; height and width padded. */
zoo_value zoo_maxpool3(struct zoo *z, zoo_value x, int kd, int k, int pad);

zoo_value zoo_relu(struct zoo *z, zoo_value x);
zoo_value zoo_relu6(struct zoo *z, zoo_value x); /* Clip(0, 6) */

zoo_value zoo_leaky_relu(struct zoo *z, zoo_value x, double alpha);

/* Clip(x / 6 + 1/2, 0, 1), and x times that, as exporters to this opset write it: HardSigmoid, Mul.
 */
zoo_value zoo_hard_sigmoid(struct zoo *z, zoo_value x);
zoo_value zoo_hard_swish(struct zoo *z, zoo_value x);

/* k x k window, floor mode. The average divides by k * k, padding included. */
zoo_value zoo_maxpool(struct zoo *z, zoo_value x, int k, int stride, int pad);
zoo_value zoo_avgpool(struct zoo *z, zoo_value x, int k, int stride, int pad);
zoo_value zoo_global_avgpool(struct zoo *z, zoo_value x);

zoo_value zoo_add(struct zoo *z, zoo_value a, zoo_value b);

/* Add and Relu. The mean square that is expected holds for a rectified x, which the sum keeps. */
zoo_value zoo_add_relu(struct zoo *z, zoo_value y, zoo_value x);
zoo_value zoo_mul(struct zoo *z, zoo_value x, zoo_value gate);    /* of x's shape, or c x 1 x 1 */
zoo_value zoo_concat(struct zoo *z, int n, const zoo_value xs[]); /* along the channels */
zoo_value zoo_flatten(struct zoo *z, zoo_value x);

/* Blocks of b x b pixels become b * b * c channels, those of one place in the block together. */
zoo_value zoo_space_to_depth(struct zoo *z, zoo_value x, int b);

/* Gemm on a flat value. Weights name.weight (out x in, transB = 1) and name.bias (out). */
zoo_value zoo_gemm(struct zoo *z, zoo_value x, const char *name, int out);

/* Channels of a value, for networks whose next layer depends on them. */
int zoo_channels(const struct zoo *z, zoo_value x);

struct zoo_totals zoo_get_totals(const struct zoo *z);

/* Writes the network (IR version 7, opset 13, weights as raw_data). Returns 0, or -1 with errno set
 * when the stream refused the data; the caller flushes and closes the stream. */
int zoo_write(struct zoo *z, FILE *out);

#endif
