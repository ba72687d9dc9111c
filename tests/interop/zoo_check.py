#!/usr/bin/env python3
"""Checks a file of models/zoo against PyTorch and writes PyTorch's answer.

    zoo_check.py NAME MODEL.onnx DIR

MODEL.onnx: what `zoo NAME -o MODEL.onnx` wrote. The file must pass onnx.checker, its inferred
output shape must be the declared one, and its weights must fit the module NAME (torchvision's, or
one of zoo_modules.py and torch_nets.py) one for one. Writes DIR/in.npy (seeded, normal) and
DIR/expected.npy, the answer of that module with these weights, and prints the parameters and the
sizes of the activations. Exits with a message when something does not fit. Needs Debian's
python3-torch, python3-torchvision and python3-onnx.
"""
import argparse
import os
import sys
import warnings

import numpy as np
import onnx
import onnx.numpy_helper
import onnx.shape_inference
import torch
import torchvision

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "models"))

from torch_nets import LeNet5  # noqa: E402
from zoo_modules import MODULES  # noqa: E402

# Name in the zoo: name in torchvision (None: a module of ours), side of the input.
NETS = {"alexnet": ("alexnet", 224), "vgg16": ("vgg16", 224), "vgg19": ("vgg19", 224),
        "resnet50": ("resnet50", 224), "mobilenetv2": ("mobilenet_v2", 224),
        "inceptionv3": ("inception_v3", 299), "lenet5": (None, 28),
        "resnet101": ("resnet101", 224), "densenet121": ("densenet121", 224),
        "squeezenet": ("squeezenet1_1", 224)}
NETS.update((name, (None, net.side)) for name, net in MODULES.items())


def module(name):
    """The untrained module, and the function that computes what the zoo's file computes."""
    if name == "lenet5":
        net = LeNet5().eval()
        return net, net.logits
    if name in MODULES:
        net = MODULES[name]().eval()
        return net, net
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        options = {"init_weights": False} if name in ("inceptionv3", "vgg16", "vgg19") else {}
        net = getattr(torchvision.models, NETS[name][0])(weights=None, **options)
    if name == "inceptionv3":
        net.aux_logits, net.AuxLogits = False, None
    net.eval()
    return net, net


def declared(value):
    return [d.dim_value for d in value.type.tensor_type.shape.dim]


def check_file(path):
    """Checker and shape inference; the weights by name."""
    model = onnx.load(path)
    onnx.checker.check_model(model)
    weights = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy())
               for t in model.graph.initializer if not t.name.startswith("clip.")}
    want = declared(model.graph.output[0])
    model.graph.output[0].type.tensor_type.ClearField("shape")
    inferred = onnx.shape_inference.infer_shapes(model, strict_mode=True)
    got = declared(inferred.graph.output[0])
    if got != want:
        raise SystemExit(f"{path}: output declared {want}, inferred {got}")
    return weights


def load(net, weights, name):
    """Loads the weights; every tensor of both sides must find its counterpart."""
    missing, unexpected = net.load_state_dict(weights, strict=False)
    missing = [n for n in missing if not n.endswith("num_batches_tracked")]
    if missing or unexpected:
        raise SystemExit(f"{name}: the module has {missing}, the file {unexpected} in excess")


def main():
    parser = argparse.ArgumentParser(description="Check a zoo file against torchvision.")
    parser.add_argument("name", choices=sorted(NETS))
    parser.add_argument("model")
    parser.add_argument("dir")
    args = parser.parse_args()

    net, answer = module(args.name)
    weights = check_file(args.model)
    load(net, weights, args.name)
    del weights
    sizes = []
    for layer in net.modules():
        if not list(layer.children()):
            layer.register_forward_hook(
                lambda m, i, o: sizes.append(float((o ** 2).mean().sqrt())))
    side = NETS[args.name][1]
    frames = [net.frames] if hasattr(net, "frames") else []
    x = torch.randn([1, 1 if side == 28 else 3, *frames, side, side],
                    generator=torch.Generator().manual_seed(7))
    with torch.no_grad():
        y = answer(x)
    os.makedirs(args.dir, exist_ok=True)
    np.save(os.path.join(args.dir, "in.npy"), x.numpy())
    np.save(os.path.join(args.dir, "expected.npy"), y.numpy())
    count = sum(p.numel() for p in net.parameters())
    shape = "x".join(map(str, y.shape))
    print(f"{args.name}: {count} parameters, output {shape}, root mean square of activations "
          f"{min(sizes):.2f} to {max(sizes):.2f}, of the output {sizes[-1]:.2f}")
    if not (np.isfinite(sizes).all() and 0.02 < min(sizes) and max(sizes) < 100):
        raise SystemExit(f"{args.name}: activations out of a healthy range")


if __name__ == "__main__":
    main()
