#!/usr/bin/env python3
"""Trains the digit reader on digits rendered from fonts and writes models/digits.onnx.

To re-create the committed files, from the top of the source tree (Debian: python3-torch,
python3-onnx, python3-pil, fonts-dejavu-core, fonts-urw-base35; less than a minute):

    /usr/bin/python3 models/train_digits.py
    /usr/bin/python3 tests/interop/make_golden.py

Writes --out and, with --samples DIR, DIR/digit-3.png and DIR/digit-7.png (28x28, held out). Digits
are white on black, turned, sheared, shifted, scaled, blurred and noisy. Prints the accuracy on
held-out renderings, in the fonts of the training and in an eighth of the fonts that was kept out of
it, and exits with 1 when either is below 98 %. Labels are smoothed by 0.1, so the right answer gets
about 0.9. Deterministic for one seed, one number
of threads, one version of the packages and one set of installed fonts (their number is printed).
"""
import argparse
import math
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont
import torch
import torch.nn.functional as F

import draw
from torch_nets import LeNet5, save_onnx

HERE = os.path.dirname(os.path.abspath(__file__))
PATTERNS = ["DejaVuSans*.ttf", "DejaVuSerif*.ttf", "Nimbus*.otf", "C059-*.otf", "P052-*.otf",
            "URWBookman-*.otf", "URWGothic-*.otf"]
SIZE = 28


def render(digit, font_path, rng, effort=1.0):
    """One 28x28 picture (uint8). effort scales the distortions."""
    big = 4 * SIZE
    font = ImageFont.truetype(font_path, int(big * rng.uniform(0.72, 0.95)))
    left, top, right, bottom = font.getbbox(str(digit))
    image = Image.new("L", (big, big), 0)
    at = ((big - left - right) / 2, (big - top - bottom) / 2)
    ImageDraw.Draw(image).text(at, str(digit), font=font, fill=int(rng.integers(170, 256)))
    turn = math.radians(rng.uniform(-14, 14)) * effort
    shear = rng.uniform(-0.2, 0.2) * effort
    scale = 1 + rng.uniform(-0.12, 0.18) * effort
    dx, dy = rng.uniform(-8, 8, 2) * effort
    c, s, m = math.cos(turn) * scale, math.sin(turn) * scale, big / 2
    a, b, d, e = c, c * shear - s, s, s * shear + c
    image = image.transform((big, big), Image.AFFINE,
                            (a, b, m - a * (m + dx) - b * (m + dy),
                             d, e, m - d * (m + dx) - e * (m + dy)), Image.BILINEAR)
    if rng.random() < 0.5 * effort:
        image = image.filter(ImageFilter.GaussianBlur(rng.uniform(0.5, 2.5)))
    pixels = np.asarray(image.resize((SIZE, SIZE), Image.BOX)).astype(np.float32)
    pixels = pixels + rng.normal(0, 1, pixels.shape) * rng.uniform(0, 22) * effort
    return np.clip(np.rint(pixels), 0, 255).astype(np.uint8)


def draw_set(count, font_paths, rng):
    """count pictures (n, 1, 28, 28; float32 in [0, 1]) and their digits."""
    digits = rng.integers(0, 10, count)
    images = np.stack([render(d, font_paths[rng.integers(len(font_paths))], rng) for d in digits])
    return torch.from_numpy(images[:, None]).float() / 255, torch.from_numpy(digits)


def accuracy(net, images, digits):
    net.eval()
    with torch.no_grad():
        return float((net(images).argmax(1) == digits).float().mean())


def train(net, images, digits, epochs):
    optimizer = torch.optim.Adam(net.parameters(), lr=2e-3, weight_decay=1e-5)
    steps = (len(images) + 127) // 128
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=epochs * steps)
    for epoch in range(epochs):
        net.train()
        total = 0
        for rows in torch.randperm(len(images)).split(128):
            loss = F.cross_entropy(net.logits(images[rows]), digits[rows], label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += float(loss) * len(rows)
        print(f"epoch {epoch + 1}/{epochs}: training loss {total / len(images):.4f}", flush=True)


def main():
    parser = argparse.ArgumentParser(description="Train the digit reader and write it as ONNX.")
    parser.add_argument("--out", default=os.path.join(HERE, "digits.onnx"))
    parser.add_argument("--samples", default=os.path.join(HERE, "samples"), metavar="DIR")
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--images", type=int, default=20000, help="digits to draw for training")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    torch.set_num_threads(args.threads)
    torch.use_deterministic_algorithms(True)
    rng = np.random.default_rng(args.seed)
    font_paths = draw.fonts(PATTERNS)
    print(f"{len(font_paths)} fonts")
    unseen = font_paths[4::8]
    seen = [p for p in font_paths if p not in unseen]
    images, digits = draw_set(args.images, seen, rng)
    held_out = [("in the same fonts", draw_set(4000, seen, rng))]
    if unseen:
        held_out.append(("in unseen fonts", draw_set(4000, unseen, rng)))

    net = LeNet5()
    train(net, images, digits, args.epochs)
    scores = [accuracy(net, *data) for _, data in held_out]
    for (what, data), score in zip(held_out, scores):
        print(f"held-out digits {what}: {100 * score:.2f} % of {len(data[1])} right")

    save_onnx(net, args.out, {"adaps.mean": "0", "adaps.std": "1",
                              "adaps.labels": ",".join(str(d) for d in range(10))})
    os.makedirs(args.samples, exist_ok=True)
    sample_font = draw.fonts(["DejaVuSerif.ttf"])[0]
    for digit in (3, 7):
        pixels = render(digit, sample_font, np.random.default_rng(1000 + digit), 0.7)
        Image.fromarray(pixels).save(os.path.join(args.samples, f"digit-{digit}.png"))
        with torch.no_grad():
            out = net(torch.from_numpy(pixels[None, None]).float() / 255)[0]
        print(f"sample {digit}: read as {int(out.argmax())} with {float(out.max()):.4f}")
    print(f"wrote {args.out} ({os.path.getsize(args.out)} bytes)")
    return 0 if min(scores) >= 0.98 else 1


if __name__ == "__main__":
    raise SystemExit(main())
