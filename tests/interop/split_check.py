#!/usr/bin/env python3
"""Runs the files of adaps split with PyTorch, and writes the answer of the network.

    split_check.py MODEL.onnx DIR INPUT.npy OUTPUT.npy

DIR has KEY.onnx for each key, sender.json and receiver.json. Each file is checked by onnx.checker, its
shapes inferred, and its nodes computed by torch.nn.functional, one file after another, again and again with
what they sent one another (zeros at first), until nothing changes. Exit status: 0 done, 1 a file is not
valid, the messages do not agree, or there is no end, 2 usage.
"""
import json
import sys

import numpy as np
import onnx
import onnx.checker
import onnx.numpy_helper
import torch
import torch.nn.functional as F


def attributes(node):
    return {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}


def padded(x, pads, value):
    top, left, bottom, right = pads
    return F.pad(x, (left, right, top, bottom), value=value)


def conv(a, x, w, b=None):
    x = padded(x, a.get("pads", [0] * 4), 0.0)
    return F.conv2d(x, w, b, a.get("strides", 1), 0, a.get("dilations", 1), a.get("group", 1))


def max_pool(a, x):
    x = padded(x, a.get("pads", [0] * 4), float("-inf"))
    return F.max_pool2d(x, a["kernel_shape"], a.get("strides", [1, 1]), ceil_mode=bool(a.get("ceil_mode", 0)))


def average_pool(a, x):
    k, s, pads = a["kernel_shape"], a.get("strides", [1, 1]), a.get("pads", [0] * 4)
    total = F.avg_pool2d(padded(x, pads, 0.0), k, s, divisor_override=1)
    if a.get("count_include_pad", 0):
        return total / (k[0] * k[1])
    ones = padded(torch.ones_like(x), pads, 0.0)
    return total / F.avg_pool2d(ones, k, s, divisor_override=1)


def gemm(a, x, w, b=None):
    assert not a.get("transA", 0)
    y = a.get("alpha", 1.0) * (x @ (w.T if a.get("transB", 0) else w))
    return y if b is None else y + a.get("beta", 1.0) * b


def slice_(a, x, starts, ends, axes, steps=None):
    assert steps is None
    for start, end, axis in zip(starts.tolist(), ends.tolist(), axes.tolist()):
        x = x.narrow(axis, start, end - start)
    return x


def batch_norm(a, x, scale, bias, mean, var):
    return F.batch_norm(x, mean, var, scale, bias, eps=a.get("epsilon", 1e-5))


def clip(a, x, low=None, high=None):
    low = a.get("min") if low is None else low.item()
    high = a.get("max") if high is None else high.item()
    return torch.clamp(x, low, high)


OPERATORS = {
    "Add": lambda a, x, y: x + y,
    "AveragePool": average_pool,
    "BatchNormalization": batch_norm,
    "Clip": clip,
    "Concat": lambda a, *x: torch.cat(x, a["axis"]),
    "Conv": conv,
    "Dropout": lambda a, x, *_: x,
    "Flatten": lambda a, x: x.flatten(a.get("axis", 1)),
    "Gemm": gemm,
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdim=True),
    "HardSigmoid": lambda a, x: torch.clamp(a.get("alpha", 0.2) * x + a.get("beta", 0.5), 0, 1),
    "MaxPool": max_pool,
    "Mul": lambda a, x, y: x * y,
    "Relu": lambda a, x: F.relu(x),
    "Reshape": lambda a, x, shape: x.reshape(shape.tolist()),
    "Sigmoid": lambda a, x: torch.sigmoid(x),
    "Slice": slice_,
    "Softmax": lambda a, x: F.softmax(x, a.get("axis", -1)),
}


def load(path):
    model = onnx.load(path)
    onnx.checker.check_model(model)
    onnx.shape_inference.infer_shapes(model, check_type=True, strict_mode=True)
    constants = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy())
                 for t in model.graph.initializer}
    return model.graph, constants


def run(graph, constants, inputs):
    values = dict(constants)
    for info in graph.input:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        values[info.name] = inputs.get(info.name, torch.zeros(shape))
        assert list(values[info.name].shape) == shape, info.name
    for node in graph.node:
        arguments = [values[name] if name else None for name in node.input]
        values[node.output[0]] = OPERATORS[node.op_type](attributes(node), *arguments)
    for info in graph.output:
        shape = [d.dim_value for d in info.type.tensor_type.shape.dim]
        assert list(values[info.name].shape) == shape, info.name
    return {info.name: values[info.name] for info in graph.output}


def main():
    if len(sys.argv) != 5:
        print(__doc__, file=sys.stderr)
        return 2
    model_path, folder, input_path, output_path = sys.argv[1:]
    whole = onnx.load(model_path).graph
    weights = {t.name for t in whole.initializer}
    feeds = [i.name for i in whole.input if i.name not in weights]
    with open(f"{folder}/sender.json") as f:
        sender = json.load(f)
    with open(f"{folder}/receiver.json") as f:
        receiver = json.load(f)
    keys = list(sender)
    messages = {(s, name, to) for s, key in enumerate(keys) for name, tos in sender[key].items() for to in tos}
    assert messages == {(s, name, to) for to, key in enumerate(keys)
                        for name, froms in receiver[key].items() for s in froms}
    graphs = [load(f"{folder}/{key}.onnx") for key in keys]
    outputs = [o.name for o in whole.output]
    x = torch.from_numpy(np.load(input_path).astype(np.float32))
    inputs = [{feeds[0]: x} for _ in keys]
    results, changed, rounds = {}, True, 0
    dirty = [True] * len(keys)  # whether what it reads has changed since it ran
    with torch.no_grad():
        while changed:
            changed = False
            rounds += 1
            assert rounds <= len(messages) + 2
            for k, (graph, constants) in enumerate(graphs):
                if not dirty[k]:
                    continue
                dirty[k] = False
                for name, value in run(graph, constants, inputs[k]).items():
                    if name in outputs:
                        results[name] = value
                    for to in [t for s, n, t in messages if (s, n) == (k, name)]:
                        if name not in inputs[to] or not torch.equal(inputs[to][name], value):
                            inputs[to][name] = value
                            dirty[to] = changed = True
    np.save(output_path, results[outputs[0]].numpy())
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
