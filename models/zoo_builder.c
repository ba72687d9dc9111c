/* The operators of a zoo network; see zoo_builder.h. */
#include <math.h>
#include <string.h>

#include "zoo_graph.h"

zoo_value zoo_input(struct zoo *z, int c, int h, int w)
{
    if (z->input >= 0)
        zoo_die("input", "declared twice");
    return z->input = zoo_add_value(z, "input", c, h, w, 1);
}

void zoo_output(struct zoo *z, zoo_value x)
{
    if (z->noutputs == ZOO_MOST_OUTPUTS)
        zoo_die(zoo_get(z, x).name, "more than %d outputs", ZOO_MOST_OUTPUTS);
    z->outputs[z->noutputs++] = x;
}

struct zoo_totals zoo_get_totals(const struct zoo *z)
{
    struct zoo_totals t = z->totals;
    struct zoo_shape in = zoo_get(z, z->input), out = zoo_get(z, z->outputs[0]);

    t.nodes = (int)z->nnodes;
    memcpy(t.input, (int[]){in.c, in.h, in.w}, sizeof(t.input));
    t.depth = in.d;
    memcpy(t.output, (int[]){out.c, out.h, out.w}, sizeof(t.output));
    return t;
}

int zoo_channels(const struct zoo *z, zoo_value x)
{
    return zoo_get(z, x).c;
}

/* kernel_shape, strides and pads of a sliding window. */
static void set_window(struct zoo *z, Onnx__NodeProto *n, int kh, int kw, int stride, int ph,
                       int pw)
{
    zoo_set_ints(z, n, "kernel_shape", 2, (int[]){kh, kw});
    zoo_set_ints(z, n, "strides", 2, (int[]){stride, stride});
    zoo_set_ints(z, n, "pads", 4, (int[]){ph, pw, ph, pw});
}

/* Output extent of a sliding window, floor mode. */
static int extent(const char *name, int in, int k, int stride, int pad)
{
    if (k < 1 || stride < 1 || pad < 0 || in < 1 || in + 2 * pad < k)
        zoo_die(name, "window %d, stride %d, padding %d does not fit extent %d", k, stride, pad,
                in);
    return (in + 2 * pad - k) / stride + 1;
}

/* A Conv whose output has the expected mean square `power`. */
static zoo_value add_conv(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p,
                          double power)
{
    struct zoo_shape v = zoo_get(z, x);
    int in, fan, h, w;
    char *inputs[3] = {v.name};
    Onnx__NodeProto *n;

    p.kw = p.kw ? p.kw : p.kh;
    p.stride = p.stride ? p.stride : 1;
    p.group = p.group ? p.group : 1;
    p.dilation = p.dilation ? p.dilation : 1;
    if (v.d)
        zoo_die(name, "a convolution of a map on %dx%dx%dx%d", v.c, v.d, v.h, v.w);
    if (p.out < 1 || p.group < 1 || v.c % p.group || p.out % p.group)
        zoo_die(name, "%d groups do not divide %d inputs and %d outputs", p.group, v.c, p.out);
    h = extent(name, v.h, p.dilation * (p.kh - 1) + 1, p.stride, p.ph);
    w = extent(name, v.w, p.dilation * (p.kw - 1) + 1, p.stride, p.pw);
    in = v.c / p.group;
    fan = in * p.kh * p.kw;

    inputs[1] = zoo_add_tensor(z, zoo_print(z, "%s.weight", name), 4,
                               (int[]){p.out, in, p.kh, p.kw}, 0, sqrt(power / (fan * v.power)));
    if (!p.nobias)
        inputs[2] = zoo_add_vector(z, name, "bias", p.out, 0, 0.0625);
    n = zoo_add_node(z, "Conv", name, p.nobias ? 2 : 3, inputs);
    set_window(z, n, p.kh, p.kw, p.stride, p.ph, p.pw);
    zoo_set_ints(z, n, "dilations", 2, (int[]){p.dilation, p.dilation});
    zoo_set_int(z, n, "group", p.group);
    z->totals.params += (uint64_t)p.out * (uint64_t)(fan + !p.nobias);
    z->totals.macs += (uint64_t)p.out * (uint64_t)h * (uint64_t)w * (uint64_t)fan;
    return zoo_add_value(z, name, p.out, h, w, power);
}

/* He's initialisation gives the output twice the mean square of the input, which the following
 * rectifier halves. */
zoo_value zoo_conv(struct zoo *z, zoo_value x, const char *name, struct zoo_conv_spec p)
{
    return add_conv(z, x, name, p, 2 * zoo_get(z, x).power);
}

zoo_value zoo_bn(struct zoo *z, zoo_value x, const char *name, double gamma, double eps)
{
    struct zoo_shape v = zoo_get(z, x);
    double sd = sqrt(v.power);
    char *inputs[] = {
        v.name,
        zoo_add_vector(z, name, "weight", v.c, gamma, 0.125 * gamma),
        zoo_add_vector(z, name, "bias", v.c, 0, 0.125 * gamma),
        zoo_add_vector(z, name, "running_mean", v.c, 0, 0.125 * sd),
        zoo_add_vector(z, name, "running_var", v.c, v.power, 0.125 * v.power),
    };

    zoo_set_float(z, zoo_add_node(z, "BatchNormalization", name, 5, inputs), "epsilon", (float)eps);
    z->totals.params += 2 * (uint64_t)v.c;
    return zoo_add_value(z, name, v.c, v.h, v.w, gamma * gamma);
}

zoo_value zoo_conv_bn(struct zoo *z, zoo_value x, const char *conv_name, const char *bn_name,
                      double gamma, double eps, struct zoo_conv_spec p)
{
    p.nobias = !z->options.fold_bn;
    if (z->options.fold_bn)
        return add_conv(z, x, conv_name, p, gamma * gamma);
    return zoo_bn(z, zoo_conv(z, x, conv_name, p), bn_name, gamma, eps);
}

/* Each output pixel has one tap of every input channel. */
zoo_value zoo_conv_transpose(struct zoo *z, zoo_value x, const char *name, int out, int k)
{
    struct zoo_shape v = zoo_get(z, x);
    double power = 2 * v.power;
    char *inputs[] = {v.name,
                      zoo_add_tensor(z, zoo_print(z, "%s.weight", name), 4, (int[]){v.c, out, k, k},
                                     0, sqrt(power / (v.c * v.power))),
                      zoo_add_vector(z, name, "bias", out, 0, 0.0625)};

    set_window(z, zoo_add_node(z, "ConvTranspose", name, 3, inputs), k, k, k, 0, 0);
    z->totals.params += (uint64_t)out * ((uint64_t)v.c * (uint64_t)(k * k) + 1);
    z->totals.macs +=
        (uint64_t)v.h * (uint64_t)v.w * (uint64_t)v.c * (uint64_t)out * (uint64_t)(k * k);
    return zoo_add_value(z, name, out, k * v.h, k * v.w, power);
}

zoo_value zoo_upsample(struct zoo *z, zoo_value x, int factor, bool bilinear)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *scales =
        zoo_add_node(z, "Constant", zoo_print(z, "Constant_%zu", z->nnodes), 0, NULL);
    char *inputs[] = {v.name, "", scales->name};
    Onnx__NodeProto *n =
        zoo_add_node(z, "Resize", zoo_print(z, "Resize_%zu", z->nnodes), 3, inputs);

    zoo_set_floats(z, scales, "value_floats", 4, (float[]){1, 1, (float)factor, (float)factor});
    zoo_set_string(z, n, "mode", bilinear ? "linear" : "nearest");
    zoo_set_string(z, n, "coordinate_transformation_mode", "half_pixel");
    return zoo_add_value(z, n->name, v.c, factor * v.h, factor * v.w, v.power);
}

zoo_value zoo_relu(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);
    zoo_value y = zoo_add_value(z, zoo_add_unary(z, "Relu", x)->name, v.c, v.h, v.w, 0.5 * v.power);

    z->values[y].d = v.d;
    return y;
}

zoo_value zoo_relu6(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);
    char *inputs[] = {v.name, "clip.min", "clip.max"};
    Onnx__NodeProto *n;

    if (!z->has_clip) {
        zoo_add_tensor(z, inputs[1], 0, NULL, 0, 0);
        zoo_add_tensor(z, inputs[2], 0, NULL, 6, 0);
        z->has_clip = true;
    }
    n = zoo_add_node(z, "Clip", zoo_print(z, "Clip_%zu", z->nnodes), 3, inputs);
    return zoo_add_value(z, n->name, v.c, v.h, v.w, 0.5 * v.power);
}

zoo_value zoo_leaky_relu(struct zoo *z, zoo_value x, double alpha)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, "LeakyRelu", x);

    zoo_set_float(z, n, "alpha", (float)alpha);
    return zoo_add_value(z, n->name, v.c, v.h, v.w, 0.5 * v.power);
}

/* Around 1/2, hence a mean square above 1/4. */
zoo_value zoo_hard_sigmoid(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, "HardSigmoid", x);

    zoo_set_float(z, n, "alpha", 1.0f / 6);
    zoo_set_float(z, n, "beta", 0.5f);
    return zoo_add_value(z, n->name, v.c, v.h, v.w, 0.3125);
}

/* The mean square is that of normal data of deviation 3; it would be 1/3 for 1, 1/2 for many. */
zoo_value zoo_hard_swish(struct zoo *z, zoo_value x)
{
    zoo_value y = zoo_mul(z, x, zoo_hard_sigmoid(z, x));

    z->values[y].power = 0.4765625 * zoo_get(z, x).power;
    return y;
}

static zoo_value pool(struct zoo *z, zoo_value x, const char *op, int k, int stride, int pad,
                      double gain)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, op, x);

    if (v.d)
        zoo_die(n->name, "a pool of a map on %dx%dx%dx%d", v.c, v.d, v.h, v.w);
    if (2 * pad > k)
        zoo_die(n->name, "padding %d exceeds half the window %d", pad, k);
    set_window(z, n, k, k, stride, pad, pad);
    if (strcmp(op, "AveragePool") == 0)
        zoo_set_int(z, n, "count_include_pad", 1);
    return zoo_add_value(z, n->name, v.c, extent(n->name, v.h, k, stride, pad),
                         extent(n->name, v.w, k, stride, pad), gain * v.power);
}

/* The gains of the pools are what rectified normal data gives, roughly: for independent pixels
 * the maximum gains more, but neighbours are correlated. */
zoo_value zoo_maxpool(struct zoo *z, zoo_value x, int k, int stride, int pad)
{
    return pool(z, x, "MaxPool", k, stride, pad, 1.5);
}

zoo_value zoo_avgpool(struct zoo *z, zoo_value x, int k, int stride, int pad)
{
    return pool(z, x, "AveragePool", k, stride, pad, 0.5);
}

zoo_value zoo_global_avgpool(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);

    return zoo_add_value(z, zoo_add_unary(z, "GlobalAveragePool", x)->name, v.c, 1, 1,
                         0.375 * v.power);
}

zoo_value zoo_add(struct zoo *z, zoo_value a, zoo_value b)
{
    struct zoo_shape va = zoo_get(z, a), vb = zoo_get(z, b);
    char *inputs[] = {va.name, vb.name};
    Onnx__NodeProto *n = zoo_add_node(z, "Add", zoo_print(z, "Add_%zu", z->nnodes), 2, inputs);

    if (va.c != vb.c || va.h != vb.h || va.w != vb.w)
        zoo_die(n->name, "operands %dx%dx%d and %dx%dx%d differ", va.c, va.h, va.w, vb.c, vb.h,
                vb.w);
    return zoo_add_value(z, n->name, va.c, va.h, va.w, va.power + vb.power);
}

zoo_value zoo_add_relu(struct zoo *z, zoo_value y, zoo_value x)
{
    double power = zoo_get(z, x).power + 0.5 * zoo_get(z, y).power;
    zoo_value sum = zoo_relu(z, zoo_add(z, y, x));

    z->values[sum].power = power;
    return sum;
}

zoo_value zoo_mul(struct zoo *z, zoo_value x, zoo_value gate)
{
    struct zoo_shape v = zoo_get(z, x), g = zoo_get(z, gate);
    char *inputs[] = {v.name, g.name};
    Onnx__NodeProto *n = zoo_add_node(z, "Mul", zoo_print(z, "Mul_%zu", z->nnodes), 2, inputs);

    if (v.c != g.c || ((v.h != g.h || v.w != g.w) && (g.h != 1 || g.w != 1)))
        zoo_die(n->name, "a gate of %dx%dx%d for %dx%dx%d", g.c, g.h, g.w, v.c, v.h, v.w);
    return zoo_add_value(z, n->name, v.c, v.h, v.w, v.power * g.power);
}

zoo_value zoo_concat(struct zoo *z, int n, const zoo_value xs[])
{
    char **inputs = zoo_take(z, (size_t)n, sizeof(*inputs));
    struct zoo_shape out = zoo_get(z, xs[0]);
    Onnx__NodeProto *node;

    for (int i = 0; i < n; i++) {
        struct zoo_shape v = zoo_get(z, xs[i]);

        inputs[i] = v.name;
        if (v.h != out.h || v.w != out.w)
            zoo_die(v.name, "cannot be concatenated: %dx%d beside %dx%d", v.h, v.w, out.h, out.w);
        if (i > 0)
            out.c += v.c;
        if (v.power > out.power)
            out.power = v.power;
    }
    node = zoo_add_node(z, "Concat", zoo_print(z, "Concat_%zu", z->nnodes), n, inputs);
    zoo_set_int(z, node, "axis", 1);
    return zoo_add_value(z, node->name, out.c, out.h, out.w, out.power);
}

zoo_value zoo_flatten(struct zoo *z, zoo_value x)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, "Flatten", x);

    zoo_set_int(z, n, "axis", 1);
    return zoo_add_value(z, n->name, v.c * (v.d ? v.d : 1) * v.h * v.w, 0, 0, v.power);
}

zoo_value zoo_space_to_depth(struct zoo *z, zoo_value x, int b)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, "SpaceToDepth", x);

    if (b < 1 || v.h % b || v.w % b)
        zoo_die(n->name, "blocks of %d do not divide %dx%d", b, v.h, v.w);
    zoo_set_int(z, n, "blocksize", b);
    return zoo_add_value(z, n->name, v.c * b * b, v.h / b, v.w / b, v.power);
}

zoo_value zoo_gemm(struct zoo *z, zoo_value x, const char *name, int out)
{
    struct zoo_shape v = zoo_get(z, x);
    double power = 2 * v.power;
    char *inputs[3] = {v.name};
    Onnx__NodeProto *n;

    if (v.h || v.w || out < 1)
        zoo_die(name, "Gemm of %d outputs on %dx%dx%d, which is not flat", out, v.c, v.h, v.w);
    inputs[1] = zoo_add_tensor(z, zoo_print(z, "%s.weight", name), 2, (int[]){out, v.c}, 0,
                               sqrt(power / (v.c * v.power)));
    inputs[2] = zoo_add_vector(z, name, "bias", out, 0, 0.0625);
    n = zoo_add_node(z, "Gemm", name, 3, inputs);
    zoo_set_float(z, n, "alpha", 1);
    zoo_set_float(z, n, "beta", 1);
    zoo_set_int(z, n, "transB", 1);
    z->totals.params += (uint64_t)out * (uint64_t)(v.c + 1);
    z->totals.macs += (uint64_t)out * (uint64_t)v.c;
    return zoo_add_value(z, name, out, 0, 0, power);
}
