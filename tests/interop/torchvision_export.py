#!/usr/bin/env python3
"""Exports PyTorch networks with seeded random weights, an input and PyTorch's answer: torchvision's,
and those of zoo_modules.py and small_nets.py.

    torchvision_export.py --list [--quick | --every]
    torchvision_export.py CASE DIR

--list prints the cases, one a line: NAME-opsetN[-bn]; with --quick those of small networks, with --every
the classification and segmentation networks of torchvision that no other case has. A case writes
DIR/m.onnx, DIR/in.npy and DIR/expected.npy. "-bn": batch normalisation stays as nodes of its own;
otherwise the exporter folds it. Nothing is downloaded. Needs Debian's python3-torch and python3-torchvision.
"""
import argparse
import math
import os
import warnings
import zlib

import numpy as np
import torch
import torchvision
from torchvision.models import resnet

from small_nets import SMALL
from zoo_modules import MODULES

OWN = {**MODULES, **SMALL}
if len(OWN) < len(MODULES) + len(SMALL):
    raise SystemExit(f"torchvision_export: two networks are called {MODULES.keys() & SMALL.keys()}")

CASES = ["alexnet-opset13", "alexnet-opset9", "vgg16-opset13", "resnet50-opset13",
         "resnet50-opset11-bn", "mobilenet_v2-opset13-bn", "mobilenet_v2-opset9",
         "inception_v3-opset13", "inception_v3-opset11-bn", "densenet121-opset13-bn",
         "squeezenet1_1-opset11", "mobilenet_v3_large-opset13-bn", "mobilenet_v3_small-opset14",
         "yolov2-opset13", "hardcorenas-opset11", "hardcorenas-opset14-bn",
         "googlenet-opset13", "googlenet-opset11-bn", "shufflenet_v2_x1_0-opset13",
         "mnasnet1_0-opset13-bn", "efficientnet_b0-opset13", "regnet_y_400mf-opset13",
         "resnext50_32x4d-opset11", "wide_resnet50_2-opset13", "convnext_tiny-opset13",
         "fcn_resnet50-opset11", "deeplabv3_mobilenet_v3_large-opset13",
         "lraspp_mobilenet_v3_large-opset13"]
CASES += [f"{name}-opset13" for name in SMALL]
QUICK = ["alexnet-opset9", "mobilenet_v2-opset13-bn", "squeezenet1_1-opset11",
         "mobilenet_v3_small-opset14", "googlenet-opset13", "shufflenet_v2_x1_0-opset13",
         "efficientnet_b0-opset13", "mnasnet1_0-opset13-bn", "lraspp_mobilenet_v3_large-opset13"]
QUICK += [f"{name}-opset13" for name in SMALL]
LEFT_OUT = {
    "regnet_y_128gf", "vit_h_14",  # files above 2 GB
    "swin_t", "swin_s", "swin_b",  # ScatterND makes the masks of their attention
    "maxvit_t",  # Einsum in its attention, which adaps refuses
    "swin_v2_t", "swin_v2_s", "swin_v2_b",  # torch 1.13 cannot export aten::zero
}


def every():
    """The other networks of torchvision that it can export and adaps can run, as cases."""
    known = {case.split("-")[0] for case in CASES} | LEFT_OUT
    names = [name for module in (torchvision.models, torchvision.models.segmentation)
             for name in torchvision.models.list_models(module=module)]
    return [f"{name}-opset13" for name in names if name not in known]


SIDES = {"inception_v3": 299, "yolov2": MODULES["yolov2"].side}


def build(name):
    """The module in eval mode; weights normal after He, statistics near those of the data."""
    options = {"init_weights": False} if name in ("vgg16", "inception_v3", "googlenet") else {}
    segmentation = hasattr(torchvision.models.segmentation, name)
    if segmentation:
        options = {"weights_backbone": None}
    if name in ("inception_v3", "googlenet"):
        options["transform_input"] = True
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        make = OWN.get(name) or getattr(
            torchvision.models.segmentation if segmentation else torchvision.models, name)
        net = make(weights=None, **options)
    if name == "inception_v3":
        net.aux_logits, net.AuxLogits = False, None
    if name == "googlenet":
        net.aux_logits, net.aux1, net.aux2 = False, None, None
    for module in net.modules():
        if isinstance(module, (torch.nn.Conv2d, torch.nn.Conv3d, torch.nn.Linear)):
            fan_in = module.weight[0].numel()
            torch.nn.init.normal_(module.weight, 0, math.sqrt(2 / fan_in))
            if module.bias is not None:
                torch.nn.init.normal_(module.bias, 0, 0.05)
        elif isinstance(module, torch.nn.BatchNorm2d):
            torch.nn.init.uniform_(module.weight, 0.5, 1.2)
            torch.nn.init.normal_(module.bias, 0, 0.1)
    # Residual branches add little, as in trained networks: of random ones of a hundred layers
    # PyTorch's own answer in float32 is 1e-4 of the range beside that in float64.
    for module in net.modules():
        if isinstance(module, (resnet.BasicBlock, resnet.Bottleneck)):
            last = module.bn3 if isinstance(module, resnet.Bottleneck) else module.bn2
            torch.nn.init.uniform_(last.weight, 0.1, 0.4)
    return net.eval()


class Only(torch.nn.Module):
    """The one tensor of a segmentation network's answers."""
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x):
        return self.net(x)["out"]


def calibrate(net, x):
    """Sets every batch normalisation to roughly what its input is like, with some scatter, in the
    order in which they run, so later layers see the effect of earlier ones. What is one pixel
    (DeepLab's pooled branch) has no variance of its own, and to divide by almost none would make
    rounding errors 30 times as large, PyTorch's as well: the channels' statistics are taken."""
    def measure(module, inputs):
        data = inputs[0]
        if data.shape[2] * data.shape[3] == 1:
            data = data.reshape(1, 1, -1, 1).expand(-1, data.shape[1], -1, -1)
        mean, var = data.mean((0, 2, 3)), data.var((0, 2, 3), unbiased=False)
        scatter = torch.empty_like(mean).uniform_(0.8, 1.25)
        module.running_mean.copy_(mean + 0.1 * var.sqrt() * torch.randn_like(mean))
        module.running_var.copy_(0.5 * (var + var.mean()) * scatter + 1e-3)

    hooks = [m.register_forward_pre_hook(measure) for m in net.modules()
             if isinstance(m, torch.nn.BatchNorm2d)]
    with torch.no_grad():
        net(x)
    for hook in hooks:
        hook.remove()


def main():
    parser = argparse.ArgumentParser(description="Export torchvision networks to ONNX.")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--quick", action="store_true", help="with --list: small networks")
    parser.add_argument("--every", action="store_true", help="with --list: the rest of torchvision")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("case", nargs="?", choices=CASES + every(), metavar="CASE")
    parser.add_argument("dir", nargs="?", metavar="DIR")
    args = parser.parse_args()
    if args.list:
        print("\n".join(QUICK if args.quick else every() if args.every else CASES))
        return
    if not args.dir:
        parser.error("a CASE and a DIR are needed")
    name, opset, *bn = args.case.split("-")
    torch.manual_seed(zlib.crc32(args.case.encode()))
    torch.set_num_threads(args.threads)
    os.makedirs(args.dir, exist_ok=True)

    net = build(name)
    if hasattr(torchvision.models.segmentation, name):
        net = Only(net).eval()
    side = SIDES.get(name, 224)
    x = torch.randn(SMALL[name].shape if name in SMALL else (1, 3, side, side))
    calibrate(net, x)
    with torch.no_grad():
        y = net(x)
    mode = torch.onnx.TrainingMode.PRESERVE if bn else torch.onnx.TrainingMode.EVAL
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        torch.onnx.export(net, x, os.path.join(args.dir, "m.onnx"), training=mode,
                          opset_version=int(opset[len("opset"):]), input_names=["input"],
                          output_names=["output"], do_constant_folding=not bn)
    np.save(os.path.join(args.dir, "in.npy"), x.numpy())
    np.save(os.path.join(args.dir, "expected.npy"), y.numpy())


if __name__ == "__main__":
    main()
