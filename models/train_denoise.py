#!/usr/bin/env python3
"""Trains the denoiser on pictures that it draws itself and writes models/denoise.onnx.

To re-create the committed files, from the top of the source tree (Debian: python3-torch,
python3-onnx, python3-pil, fonts-dejavu-core; a few minutes on two cores):

    /usr/bin/python3 models/train_denoise.py
    /usr/bin/python3 tests/interop/make_golden.py

Writes --out and, with --samples DIR, DIR/clean.png (a scene that the training never sees) and
DIR/noisy.png (the same with noise). Prints the PSNR of held-out pictures before and after, and
exits with 1 when the gain is below 4 dB. Deterministic for one seed, one number of threads and one
version of the packages.
"""
import argparse
import math
import os
import time

import numpy as np
from PIL import Image
import torch

import draw
from torch_nets import Denoiser, save_onnx

HERE = os.path.dirname(os.path.abspath(__file__))
PATCH, BATCH = 64, 8
SIGMA = (10, 30)  # noise in training, of 255
HELD_OUT_SIGMA = 25


def add_noise(image, sigma, rng):
    """The picture (h, w, 3; uint8) with Gaussian noise, rounded to bytes again."""
    noisy = image + rng.normal(0, 1, image.shape) * sigma
    return np.clip(np.rint(noisy), 0, 255).astype(np.uint8)


def to_tensor(images):
    """Bytes (n, h, w, 3) to float32 (n, 3, h, w) in [0, 1]."""
    return torch.from_numpy(np.ascontiguousarray(images.transpose(0, 3, 1, 2))).float() / 255


def batch(scenes, rng):
    """Random crops of random scenes, turned and mirrored: (clean, noisy)."""
    clean = np.empty((BATCH, PATCH, PATCH, 3), np.uint8)
    noisy = np.empty_like(clean)
    for i in range(BATCH):
        scene = scenes[rng.integers(len(scenes))]
        y = rng.integers(scene.shape[0] - PATCH + 1)
        x = rng.integers(scene.shape[1] - PATCH + 1)
        crop = np.rot90(scene[y:y + PATCH, x:x + PATCH], rng.integers(4))
        clean[i] = crop[:, ::-1] if rng.random() < 0.5 else crop
        noisy[i] = add_noise(clean[i], rng.uniform(*SIGMA), rng)
    return to_tensor(clean), to_tensor(noisy)


def psnr(a, b):
    return -10 * math.log10(float(((a - b) ** 2).mean()))


def evaluate(net, scenes, rng):
    """Mean PSNR of the noisy and of the denoised pictures, dB."""
    net.eval()
    before = after = 0
    with torch.no_grad():
        for scene in scenes:
            clean = to_tensor(scene[None])
            noisy = to_tensor(add_noise(scene, HELD_OUT_SIGMA, rng)[None])
            before += psnr(noisy, clean)
            after += psnr(net(noisy).clamp(0, 1), clean)
    return before / len(scenes), after / len(scenes)


def train(net, scenes, epochs, steps, rng):
    optimizer = torch.optim.Adam(net.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=epochs * steps,
                                                   pct_start=0.1)
    start = time.time()
    for epoch in range(epochs):
        net.train()
        total = 0
        for _ in range(steps):
            clean, noisy = batch(scenes, rng)
            loss = torch.nn.functional.mse_loss(net(noisy), clean)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss)
        print(f"epoch {epoch + 1}/{epochs}: training loss {-10 * math.log10(total / steps):.2f} dB,"
              f" {time.time() - start:.0f} s", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Train the denoiser and write it as ONNX.")
    parser.add_argument("--out", default=os.path.join(HERE, "denoise.onnx"))
    parser.add_argument("--samples", default=os.path.join(HERE, "samples"), metavar="DIR")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--steps", type=int, default=100, help="batches in an epoch")
    parser.add_argument("--scenes", type=int, default=160, help="pictures to draw for training")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(args.seed)
    fonts = draw.fonts(["DejaVuSans.ttf", "DejaVuSans-Bold.ttf", "DejaVuSerif.ttf",
                        "DejaVuSansMono.ttf"])
    scenes = [np.asarray(draw.random_scene(rng, fonts)) for _ in range(args.scenes)]
    held_out = [np.asarray(draw.random_scene(rng, fonts)) for _ in range(12)]

    net = Denoiser()
    train(net, scenes, args.epochs, args.steps, rng)
    before, after = evaluate(net, held_out, rng)
    print(f"held-out pictures: {before:.2f} dB -> {after:.2f} dB, gain {after - before:.2f} dB")

    save_onnx(net, args.out, {"adaps.mean": "0", "adaps.std": "1", "adaps.output": "image"})
    clean = np.asarray(draw.sample_scene(draw.fonts(["DejaVuSans-Bold.ttf"])[0]))
    noisy = add_noise(clean, HELD_OUT_SIGMA, np.random.default_rng(4242))
    os.makedirs(args.samples, exist_ok=True)
    Image.fromarray(clean).save(os.path.join(args.samples, "clean.png"), optimize=True)
    Image.fromarray(noisy).save(os.path.join(args.samples, "noisy.png"), optimize=True)
    with torch.no_grad():
        x, y = to_tensor(noisy[None]), to_tensor(clean[None])
        print(f"sample picture: {psnr(x, y):.2f} dB -> {psnr(net(x).clamp(0, 1), y):.2f} dB")
    print(f"wrote {args.out} ({os.path.getsize(args.out)} bytes)")
    return 0 if after - before >= 4 else 1


if __name__ == "__main__":
    raise SystemExit(main())
