#!/usr/bin/env python3
"""Exports networks that PyTorch quantised to bytes, an input and the answers to it.

    quantised_nets.py --list
    quantised_nets.py make CASE DIR
    quantised_nets.py compare CASE DIR

--list prints the cases, one a line: NAME-SCALES-opsetN. `make` writes DIR/m.onnx, DIR/in.npy and
DIR/expected.npy, with the answer of the file's operators one by one in float64; DIR/torch.npy, with that of
PyTorch's quantised kernels; and DIR/step, the step of the answer's scale. Random weights of a fixed
seed; the scales come from a few random inputs. SCALES: channel (of the weights one for each output
channel), tensor (one for all weights) or narrow (likewise, and values of seven bits, as reduce_range makes them for
processors whose sums saturate).

`compare` reads DIR/out.npy: of the expected answer at most one element in a thousand may differ, and by one
step. PyTorch's kernels round between operators in their own ways (products with one over a scale, halves):
of their answer any element may differ, and by two steps.
"""
import argparse
import os
import warnings
import zlib

import numpy as np
import onnx
import onnx.numpy_helper
import torch
from torch import nn
import torch.ao.quantization as quantization
from torch.ao.nn.quantized import FloatFunctional
import torch.nn.functional as F


def conv(inputs, outputs, kernel=3, stride=1, **options):
    """A convolution, its normalisation and ReLU: one operator once quantised."""
    pad = tuple(k // 2 for k in kernel) if isinstance(kernel, tuple) else kernel // 2
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, pad, **options),
                         nn.BatchNorm2d(outputs), nn.ReLU())


class Residual(nn.Module):
    """Residual blocks as in ResNet: additions with ReLU and without, a projection, a dense layer."""
    shape = (1, 3, 48, 64)

    def __init__(self):
        super().__init__()
        self.stem, self.pool = conv(3, 16, 7, 2), nn.MaxPool2d(3, 2, 1)
        self.a, self.b = conv(16, 16), nn.Conv2d(16, 16, 3, padding=1)
        self.c, self.d = conv(16, 32, 3, 2), nn.Conv2d(32, 32, 3, padding=1, bias=False)
        self.short = nn.Conv2d(16, 32, 1, 2)
        self.add1, self.add2 = FloatFunctional(), FloatFunctional()
        self.fc = nn.Linear(32, 100)

    def forward(self, x):
        x = self.pool(self.stem(x))
        x = self.add1.add_relu(x, self.b(self.a(x)))
        x = self.add2.add(self.short(x), self.d(self.c(x)))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class Branches(nn.Module):
    """Joined branches of unlike scales, pools, factorised and dilated kernels as in Inception."""
    shape = (1, 3, 47, 39)

    def __init__(self):
        super().__init__()
        self.stem = conv(3, 16, 3, 2, bias=False)
        self.one, self.row, self.column = conv(16, 8, 1), conv(16, 12, (1, 7)), conv(12, 12, (7, 1))
        self.wide = nn.Conv2d(16, 8, 3, padding=2, dilation=2)
        self.after = conv(16, 8, 1)
        self.join, self.join2 = FloatFunctional(), FloatFunctional()
        self.mix = nn.Conv2d(36, 24, 1)
        self.fc1, self.fc2, self.relu = nn.Linear(48 * 6 * 5, 32), nn.Linear(32, 100), nn.ReLU()

    def forward(self, x):
        x = self.stem(x)
        x = self.join.cat([self.one(x), self.column(self.row(x)), self.wide(x),
                           self.after(F.avg_pool2d(x, 3, 1, 1))], 1)
        x = self.mix(x)
        x = self.join2.cat([F.max_pool2d(x, 2), F.avg_pool2d(x, 2)], 1)
        x = torch.flatten(F.avg_pool2d(x, 2, 2, ceil_mode=False), 1)
        return self.fc2(self.relu(self.fc1(x)))


class Mobile(nn.Module):
    """Depthwise layers, HardSwish, squeeze and excite: a product of two computed values."""
    shape = (1, 3, 64, 48)

    def __init__(self):
        super().__init__()
        self.stem, self.act = nn.Conv2d(3, 16, 3, 2, 1), nn.Hardswish()
        self.expand, self.depth = conv(16, 40, 1), conv(40, 40, 5, 2, groups=40)
        self.reduce, self.grow, self.gate = conv(40, 8, 1), nn.Conv2d(8, 40, 1), nn.Sigmoid()
        self.scale, self.add = FloatFunctional(), FloatFunctional()
        self.project, self.depth2, self.point = nn.Conv2d(40, 24, 1), conv(24, 24, 3, groups=24), nn.Conv2d(24, 24, 1)
        self.fc = nn.Linear(24, 100)

    def forward(self, x):
        x = self.depth(self.expand(self.act(self.stem(x))))
        x = self.scale.mul(x, self.gate(self.grow(self.reduce(F.adaptive_avg_pool2d(x, 1)))))
        x = self.project(x)
        x = self.add.add(x, self.point(self.depth2(x)))
        return self.fc(x.mean((2, 3)))


class Pyramid(nn.Module):
    """A detector's way down and up: LeakyReLU, nearest upsampling, maps joined, grouped layers."""
    shape = (1, 3, 64, 96)

    def __init__(self):
        super().__init__()
        def leaky(inputs, outputs, kernel=3, stride=1, groups=1):
            return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, groups=groups),
                                 nn.LeakyReLU(0.1))
        self.stem, self.down, self.deep = leaky(3, 16, 3, 2), leaky(16, 24, 3, 2), leaky(24, 32, 3, 2, 4)
        self.up = leaky(32, 16, 1)
        self.join = FloatFunctional()
        self.head = nn.Conv2d(40, 21, 1)

    def forward(self, x):
        x = self.down(self.stem(x))
        y = self.up(F.max_pool2d(self.deep(x), 5, 1, 2))
        y = F.interpolate(y, scale_factor=2.0, mode="nearest")
        return torch.sigmoid(self.head(self.join.cat([x, y], 1)))


NETS = {"residual": Residual, "branches": Branches, "mobile": Mobile, "pyramid": Pyramid}
CASES = ["residual-channel-opset13", "residual-tensor-opset10", "branches-narrow-opset13",
         "mobile-channel-opset16",
         "pyramid-channel-opset13", "pyramid-narrow-opset12"]


def config_of(scales):
    """Bytes, uint8 of values and int8 of weights."""
    most = 127 if scales == "narrow" else 255
    values = quantization.HistogramObserver.with_args(quant_min=0, quant_max=most)
    kind = quantization.PerChannelMinMaxObserver if scales == "channel" else quantization.MinMaxObserver
    scheme = torch.per_channel_symmetric if scales == "channel" else torch.per_tensor_symmetric
    weights = kind.with_args(dtype=torch.qint8, qscheme=scheme, quant_min=-127, quant_max=127)
    return quantization.QConfig(activation=values, weight=weights)


def fuse(net):
    """Layers with their normalisation and ReLU become one, as far as they stand in a Sequential."""
    for name, module in net.named_children():
        kinds = [type(m) for m in module.children()] if isinstance(module, nn.Sequential) else []
        if kinds == [nn.Conv2d, nn.BatchNorm2d, nn.ReLU]:
            setattr(net, name, quantization.fuse_modules(module, [["0", "1", "2"]]))


def build(name, scales):
    net = NETS[name]().eval()
    for module in net.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.uniform_(module.weight, 0.5, 1.5)
            nn.init.normal_(module.bias, 0, 0.2)
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.1, 0.5)
    fuse(net)
    net = quantization.QuantWrapper(net).eval()
    net.qconfig = config_of(scales)
    quantization.prepare(net, inplace=True)
    with torch.no_grad():
        for _ in range(4):
            net(torch.randn(NETS[name].shape))
    return quantization.convert(net, inplace=True)


def shaped(numbers, like, axis):
    """Scales or zero points of a dimension, for arithmetic with a tensor."""
    return numbers.view([-1] + [1] * (like.dim() - 1 - axis)) if numbers.numel() > 1 else numbers


def quantize(x, scale, zero, **_):
    least, most = (-128, 127) if zero.dtype == torch.int8 else (0, 255)
    return (torch.round(x / scale) + zero.double()).clamp(least, most)


def dequantize(x, scale, zero, axis=1):
    return (x - shaped(zero.double(), x, axis)) * shaped(scale, x, axis)


def convolve(x, w, b=None, group=1, pads=(0, 0), strides=(1, 1), dilations=(1, 1), **_):
    return F.conv2d(x, w, b, strides, tuple(pads[:2]), dilations, group)


def maximum(x, kernel_shape, strides=(1, 1), pads=(0, 0), **_):
    return F.max_pool2d(x, kernel_shape, strides, tuple(pads[:2]))


def average(x, kernel_shape, strides=(1, 1), pads=(0, 0, 0, 0), count_include_pad=0, ceil_mode=0, **_):
    """In float32, row by row, as docs/numerics.md has it; of the whole map exactly."""
    if list(x.shape[2:]) == list(kernel_shape) and not any(pads):
        return x.mean((2, 3), keepdim=True)
    (h, w), (sh, sw) = kernel_shape, strides
    def windows(x):
        x = F.pad(x.float(), (pads[1], pads[-1], pads[0], pads[len(pads) // 2]))
        rows, columns = (x.shape[2] - h) // sh, (x.shape[3] - w) // sw
        total = torch.zeros(())
        for i in range(h):
            for k in range(w):
                total = total + x[:, :, i:i + rows * sh + 1:sh, k:k + columns * sw + 1:sw]
        return total
    return windows(x) / (h * w if count_include_pad else windows(torch.ones_like(x)))


def quantize_average(x, scale, zero, **_):
    """The zero is added, as that of a uint8, before the sum is rounded."""
    up = 128 if zero.dtype == torch.int8 else 0
    return (x.float() / scale.float() + (zero.float() + up)).round().clamp(0, 255).double() - up


OPERATORS = {
    "QuantizeLinear": quantize, "DequantizeLinear": dequantize, "Conv": convolve,
    "MaxPool": maximum, "AveragePool": average,
    "Add": torch.add, "Mul": torch.mul, "Relu": torch.relu, "Sigmoid": torch.sigmoid,
    "HardSwish": F.hardswish,
    "HardSigmoid": lambda x, alpha=0.2, beta=0.5: (alpha * x + beta).clamp(0, 1),
    "Pad": lambda x, pads, value=0, mode=b"constant": F.pad(x, [int(pads[k]) for k in (3, 7, 2, 6)], value=float(value)),
    "LeakyRelu": lambda x, alpha: F.leaky_relu(x, alpha),
    "Gemm": lambda a, b, c, transB=0, **_: F.linear(a, b if transB else b.T, c),
    "GlobalAveragePool": lambda x: x.mean((2, 3), keepdim=True),
    "ReduceMean": lambda x, axes, keepdims=1: x.mean(list(axes), bool(keepdims)),
    "Concat": lambda *x, axis: torch.cat(x, axis),
    "Flatten": lambda x, axis=1: x.flatten(axis),
    "Cast": lambda x, to: x,
}


def answer_of(model, x):
    """The file's answer: its operators one by one, in float64."""
    values = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy()) for t in model.graph.initializer}
    values["input"] = x.double()
    averages = set()
    for node in model.graph.node:
        options = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        inputs = [values[name] if name else None for name in node.input]
        if node.op_type == "Constant":
            result = torch.from_numpy(onnx.numpy_helper.to_array(options["value"]).copy())
        elif node.op_type == "ConstantOfShape":
            filler = onnx.numpy_helper.to_array(options["value"])[0] if options else np.float32(0)
            result = torch.from_numpy(np.full(tuple(inputs[0]), filler))
        elif node.op_type == "Cast" and not inputs[0].is_floating_point():
            result = inputs[0].to({onnx.TensorProto.INT8: torch.int8, onnx.TensorProto.UINT8: torch.uint8,
                                   onnx.TensorProto.INT32: torch.int32}[options["to"]])
        elif node.op_type == "Resize":
            result = F.interpolate(inputs[0], scale_factor=tuple(inputs[2][2:].tolist()), mode="nearest")
        else:
            wide = [v.double() if v is not None and (v.is_floating_point() or (k == 0)) else v
                    for k, v in enumerate(inputs)]
            averaged = node.op_type == "QuantizeLinear" and node.input[0] in averages
            result = (quantize_average if averaged else OPERATORS[node.op_type])(*wide, **options)
            if node.op_type == "AveragePool" and result.dtype == torch.float32:
                averages.add(node.output[0])
        values[node.output[0]] = result
    return values["output"].float()


def make(case, path):
    name, scales, opset = case.split("-")
    torch.manual_seed(zlib.crc32(case.encode()))
    torch.set_num_threads(1)
    torch.backends.quantized.engine = "qnnpack"
    warnings.simplefilter("ignore")
    net = build(name, scales)
    x = torch.randn(NETS[name].shape)
    file = os.path.join(path, "m.onnx")
    torch.onnx.export(net, x, file, opset_version=int(opset[len("opset"):]),
                      input_names=["input"], output_names=["output"])
    with torch.no_grad():
        own, step = net(x), net.module(net.quant(x)).q_scale()
        expected = answer_of(onnx.load(file), x)
    for key, array in ("in", x), ("expected", expected), ("torch", own):
        np.save(os.path.join(path, key + ".npy"), array.numpy())
    np.savetxt(os.path.join(path, "step"), [step])


def compare(case, path):
    """Prints one line. Whether the answer is right."""
    actual, expected, own = (np.load(os.path.join(path, key + ".npy")).astype(np.float64)
                             for key in ("out", "expected", "torch"))
    step = np.loadtxt(os.path.join(path, "step"))
    if actual.shape != expected.shape:
        print(f"FAIL {case}: shape {actual.shape}, expected {expected.shape}")
        return False
    def steps(a, b):
        return np.rint(np.abs(a - b) / step)
    apart, theirs = steps(actual, expected), steps(actual, own)
    right = (np.isfinite(actual).all() and len(np.unique(expected)) > 4 and
             apart.max() <= 1 and np.count_nonzero(apart) <= actual.size / 1000 and
             theirs.max() <= 2)
    print(f"{'ok  ' if right else 'FAIL'} {case}: {np.count_nonzero(apart)} of {actual.size} elements differ, by at "
          f"most {apart.max():.0f} steps; of PyTorch's {np.count_nonzero(theirs)}, {theirs.max():.0f}")
    return right


def main():
    parser = argparse.ArgumentParser(description="Networks that PyTorch quantised.")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("what", nargs="?", choices=["make", "compare"])
    parser.add_argument("case", nargs="?", choices=CASES, metavar="CASE")
    parser.add_argument("dir", nargs="?", metavar="DIR")
    args = parser.parse_args()
    if args.list:
        print("\n".join(CASES))
    elif not args.dir:
        parser.error("what to do, a CASE and a DIR are needed")
    elif args.what == "make":
        make(args.case, args.dir)
    elif not compare(args.case, args.dir):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
