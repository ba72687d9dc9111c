/* The operators of a zoo network that see pictures in a row, 1 x c x d x h x w; see zoo_builder.h.
 */
#include <math.h>

#include "zoo_graph.h"

static zoo_value add_volume(struct zoo *z, const char *name, struct zoo_shape v)
{
    zoo_value x = zoo_add_value(z, name, v.c, v.h, v.w, v.power);

    z->values[x].d = v.d;
    return x;
}

zoo_value zoo_input3(struct zoo *z, int c, int d, int h, int w)
{
    zoo_value x = zoo_input(z, c, h, w);

    z->values[x].d = d;
    return x;
}

static void set_cube(struct zoo *z, Onnx__NodeProto *n, const int k[3], const int stride[3],
                     const int pad[3])
{
    zoo_set_ints(z, n, "kernel_shape", 3, k);
    zoo_set_ints(z, n, "strides", 3, stride);
    zoo_set_ints(z, n, "pads", 6, (int[]){pad[0], pad[1], pad[2], pad[0], pad[1], pad[2]});
}

/* As zoo_conv() does it. */
zoo_value zoo_conv3(struct zoo *z, zoo_value x, const char *name, int out)
{
    static const int three[] = {3, 3, 3}, one[] = {1, 1, 1};
    struct zoo_shape v = zoo_get(z, x);
    int fan = v.c * 27;
    double power = 2 * v.power;
    char *inputs[] = {
        v.name,
        zoo_add_tensor(z, zoo_print(z, "%s.weight", name), 5, (int[]){out, v.c, 3, 3, 3}, 0,
                       sqrt(power / (fan * v.power))),
        zoo_add_vector(z, name, "bias", out, 0, 0.0625),
    };

    if (v.d < 1 || out < 1)
        zoo_die(name, "a convolution over the depth to %d channels of %dx%dx%d", out, v.c, v.h,
                v.w);
    set_cube(z, zoo_add_node(z, "Conv", name, 3, inputs), three, one, one);
    z->totals.params += (uint64_t)out * (uint64_t)(fan + 1);
    z->totals.macs += (uint64_t)out * (uint64_t)v.d * (uint64_t)v.h * (uint64_t)v.w * (uint64_t)fan;
    return add_volume(z, name,
                      (struct zoo_shape){.c = out, .d = v.d, .h = v.h, .w = v.w, .power = power});
}

zoo_value zoo_maxpool3(struct zoo *z, zoo_value x, int kd, int k, int pad)
{
    struct zoo_shape v = zoo_get(z, x);
    Onnx__NodeProto *n = zoo_add_unary(z, "MaxPool", x);
    const int window[] = {kd, k, k};

    if (v.d < kd || kd < 1 || k < 1 || pad < 0 || 2 * pad > k || v.h < k || v.w < k)
        zoo_die(n->name, "a window of %dx%dx%d, padded by %d, on %dx%dx%dx%d", kd, k, k, pad, v.c,
                v.d, v.h, v.w);
    set_cube(z, n, window, window, (int[]){0, pad, pad});
    v.d /= kd;
    v.h = (v.h + 2 * pad - k) / k + 1;
    v.w = (v.w + 2 * pad - k) / k + 1;
    v.power *= 1.5;
    return add_volume(z, n->name, v);
}
