#!/usr/bin/env python3
"""Re-creates the expected outputs of the two trained networks in tests/golden.

PyTorch's answers (float32 .npy) for the committed samples: the modules of models/torch_nets.py with
the weights that stand in the committed .onnx files. Needs Debian's python3-torch, python3-onnx and
python3-pil. From anywhere:

    /usr/bin/python3 tests/interop/make_golden.py [--out DIR]

denoise_out.npy: 1x3x240x320 for models/samples/noisy.png; digit-3_out.npy, digit-7_out.npy: 1x10
for models/samples/digit-3.png, digit-7.png. Inputs are pixel / 255.
"""
import argparse
import os
import sys

import numpy as np
from PIL import Image
import torch

HERE = os.path.dirname(os.path.abspath(__file__))
MODELS = os.path.join(HERE, "..", "..", "models")
sys.path.insert(0, MODELS)

from torch_nets import Denoiser, LeNet5, load_onnx  # noqa: E402

CASES = [("denoise", Denoiser, "noisy.png", "denoise_out.npy"),
         ("digits", LeNet5, "digit-3.png", "digit-3_out.npy"),
         ("digits", LeNet5, "digit-7.png", "digit-7_out.npy")]


def read_image(path, channels):
    """A picture as float32 1 x channels x h x w in [0, 1]."""
    pixels = np.asarray(Image.open(path).convert("RGB" if channels == 3 else "L"))
    pixels = pixels.reshape(pixels.shape[0], pixels.shape[1], channels)
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[None]).astype(np.float32) / 255


def main():
    parser = argparse.ArgumentParser(description="Re-create the golden outputs.")
    parser.add_argument("--out", default=os.path.join(HERE, "..", "golden"), metavar="DIR")
    args = parser.parse_args()
    os.makedirs(args.out, exist_ok=True)
    for model, module, sample, name in CASES:
        net = load_onnx(module(), os.path.join(MODELS, model + ".onnx"))
        x = read_image(os.path.join(MODELS, "samples", sample), module.shape[1])
        if x.shape != module.shape:
            raise SystemExit(f"{sample} is {x.shape}, {model} wants {module.shape}")
        with torch.no_grad():
            y = net(torch.from_numpy(x)).numpy()
        np.save(os.path.join(args.out, name), np.ascontiguousarray(y.astype(np.float32)))
        print(f"{name}: {'x'.join(map(str, y.shape))}, {y.min():.4f} to {y.max():.4f}")


if __name__ == "__main__":
    main()
