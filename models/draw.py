"""Pictures drawn at random for training, and the sample scene. RGB, 320x240 unless told otherwise.

Everything is drawn at twice the size and scaled down, so edges are smooth. The same generator
state, Pillow version and fonts give the same pictures.
"""
import glob
import math
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFont

FONT_DIRS = "/usr/share/fonts/truetype:/usr/share/fonts/opentype"
WORDS = ("adaps halo tile row 2024 ABC exit north 17.5 river Open 42 node lattice Quartz jumps "
         "vex & dwarf fjord 0x3f").split()


def fonts(patterns, dirs=FONT_DIRS):
    """Paths of the installed fonts whose file names match, sorted; exits if there is none."""
    found = sorted(p for d in dirs.split(":") for pattern in patterns
                   for p in glob.glob(os.path.join(d, "**", pattern), recursive=True))
    if not found:
        raise SystemExit(f"no font like {', '.join(patterns)} in {dirs}: "
                         "install fonts-dejavu-core")
    return found


def colour(rng):
    return tuple(int(v) for v in rng.integers(0, 256, 3))


def gradient(rng, w, h):
    """Two colours blended in a random direction, with a slow wave."""
    y, x = np.mgrid[0:h, 0:w] / max(w, h)
    angle = rng.uniform(0, 2 * math.pi)
    t = x * math.cos(angle) + y * math.sin(angle)
    t = (t - t.min()) / (t.max() - t.min() + 1e-9)
    t = t + 0.15 * np.sin(rng.uniform(1, 8) * 2 * math.pi * (x + rng.uniform(-1, 1) * y))
    a, b = np.array(colour(rng)), np.array(colour(rng))
    t = np.clip(t, 0, 1)[..., None]
    return Image.fromarray((a * (1 - t) + b * t).astype(np.uint8))


def texture(rng, w, h):
    """Stripes, checks or blurred noise in two colours."""
    a, b = colour(rng), colour(rng)
    kind = rng.integers(3)
    if kind == 2:
        n = int(rng.integers(8, 60))
        small = rng.integers(0, 256, (n * h // max(w, h) + 2, n * w // max(w, h) + 2))
        mask = Image.fromarray(small.astype(np.uint8)).resize((w, h), Image.BICUBIC)
    else:
        y, x = np.mgrid[0:h, 0:w]
        step = rng.uniform(8, 40)
        angle = rng.uniform(0, math.pi)
        u = np.floor((x * math.cos(angle) + y * math.sin(angle)) / step)
        v = np.floor((y * math.cos(angle) - x * math.sin(angle)) / step) if kind == 1 else 0
        mask = Image.fromarray((((u + v) % 2) * 255).astype(np.uint8))
    return Image.composite(Image.new("RGB", (w, h), a), Image.new("RGB", (w, h), b), mask)


def shape_points(rng, w, h):
    """A polygon of 3 to 8 corners around a random centre, or a smooth blob."""
    n = int(rng.integers(3, 9)) if rng.random() < 0.6 else 40
    cx, cy, r = rng.uniform(0, w), rng.uniform(0, h), rng.uniform(0.04, 0.35) * w
    turns = np.sort(rng.uniform(0, 2 * math.pi, n)) if n < 40 else np.arange(n) * 2 * math.pi / n
    wave = 1 + 0.3 * np.sin(turns * int(rng.integers(1, 5)) + rng.uniform(0, 6))
    radius = r * (rng.uniform(0.5, 1, n) if n < 40 else wave)
    return [(cx + q * math.cos(t), cy + q * math.sin(t)) for q, t in zip(radius, turns)]


def random_scene(rng, font_paths, w=320, h=240):
    """A picture of gradients, textured and plain shapes, lines and words."""
    W, H = 2 * w, 2 * h
    image = gradient(rng, W, H) if rng.random() < 0.7 else texture(rng, W, H)
    for _ in range(int(rng.integers(4, 14))):
        points = shape_points(rng, W, H)
        style = rng.random()
        if style < 0.45:
            mask = Image.new("L", (W, H), 0)
            ImageDraw.Draw(mask).polygon(points, fill=255)
            fill = texture(rng, W, H) if style < 0.25 else gradient(rng, W, H)
            image.paste(fill, (0, 0), mask)
        else:
            ImageDraw.Draw(image).polygon(points, fill=colour(rng))
    draw = ImageDraw.Draw(image)
    for _ in range(int(rng.integers(0, 8))):
        ends = [(rng.uniform(0, W), rng.uniform(0, H)) for _ in range(2)]
        draw.line(ends, fill=colour(rng), width=int(rng.integers(2, 10)))
    for _ in range(int(rng.integers(0, 6))):
        font = ImageFont.truetype(font_paths[rng.integers(len(font_paths))],
                                  int(rng.integers(20, 90)))
        word = WORDS[rng.integers(len(WORDS))]
        draw.text((rng.uniform(0, 0.8 * W), rng.uniform(0, 0.9 * H)), word, font=font,
                  fill=colour(rng))
    return image.resize((w, h), Image.BOX)


def ridge(rng, width, base, height, roughness):
    """Outline of a range of hills: a sum of waves, one point for each pixel."""
    x = np.arange(width) / width
    y = sum(rng.uniform(0.3, 1) / (k + 1) * np.sin(2 * math.pi * (roughness * (k + 1) * x +
                                                                 rng.uniform()))
            for k in range(6))
    return base - height * y


def tree(draw, x, y, size, dark, light):
    draw.rectangle([x - size * 0.06, y - size * 0.25, x + size * 0.06, y], fill=(84, 58, 40))
    for k in range(3):
        top, half = y - size * (0.55 + 0.22 * k), size * (0.36 - 0.08 * k)
        bottom = top + size * 0.42
        draw.polygon([(x - half, bottom), (x, top), (x + half, bottom)], fill=dark)
        draw.polygon([(x - half * 0.9, bottom), (x, top), (x - half * 0.1, bottom)], fill=light)


def house(draw, x, y, s):
    draw.rectangle([x, y - 70 * s, x + 120 * s, y], fill=(226, 208, 176))
    for k in range(1, 7):
        draw.line([x, y - 10 * s * k, x + 120 * s, y - 10 * s * k], fill=(206, 186, 152), width=2)
    draw.polygon([(x - 14 * s, y - 68 * s), (x + 60 * s, y - 122 * s), (x + 134 * s, y - 68 * s)],
                 fill=(164, 62, 48))
    draw.rectangle([x + 88 * s, y - 118 * s, x + 102 * s, y - 86 * s], fill=(120, 54, 44))
    draw.rectangle([x + 50 * s, y - 40 * s, x + 74 * s, y], fill=(92, 62, 44))
    for left in (12, 84):
        draw.rectangle([x + left * s, y - 50 * s, x + (left + 24) * s, y - 26 * s],
                       fill=(255, 226, 130), outline=(70, 50, 40), width=3)
        draw.line([x + (left + 12) * s, y - 50 * s, x + (left + 12) * s, y - 26 * s],
                  fill=(70, 50, 40), width=3)


def sample_scene(font_path, w=320, h=240):
    """The sample picture: hills at sunset, a lake, a house, trees and a sign."""
    rng = np.random.default_rng(77)
    W, H = 2 * w, 2 * h
    t = np.linspace(0, 1, H)[:, None, None]
    sky = (1 - t) * np.array([48, 84, 160]) + t * np.array([255, 190, 120])
    image = Image.fromarray(np.broadcast_to(np.clip(sky * 1.05, 0, 255), (H, W, 3))
                            .astype(np.uint8).copy())
    draw = ImageDraw.Draw(image)
    for radius, shade in ((62, (255, 206, 130)), (50, (255, 224, 150)), (38, (255, 244, 200))):
        draw.ellipse([430 - radius, 118 - radius, 430 + radius, 118 + radius], fill=shade)
    for base, height, rough, shade in ((210, 34, 1.1, (108, 104, 150)),
                                       (250, 26, 1.7, (84, 100, 118)),
                                       (288, 18, 2.3, (70, 108, 84))):
        outline = ridge(rng, W, base, height, rough)
        draw.polygon([(0, H)] + [(x, float(y)) for x, y in enumerate(outline)] + [(W, H)],
                     fill=shade)
    draw.polygon([(300, 340), (W, 322), (W, 416), (380, 408)], fill=(96, 138, 178))
    for _ in range(60):
        x, y = rng.uniform(350, W), rng.uniform(345, 402)
        draw.line([x, y, x + rng.uniform(10, 50), y], fill=(150, 184, 208), width=2)
    draw.polygon([(0, 350), (300, 338), (390, 410), (W, 416), (W, H), (0, H)], fill=(104, 146, 72))
    for _ in range(500):
        x, y = rng.uniform(0, W), rng.uniform(418, H)
        draw.line([x, y, x + rng.uniform(-3, 3), y - rng.uniform(6, 14)],
                  fill=(84 + int(rng.integers(60)), 150 + int(rng.integers(40)), 62), width=2)
    house(draw, 120, 400, 1.1)
    for x, y, size in ((60, 398, 150), (30, 430, 120), (300, 392, 110), (345, 410, 140)):
        tree(draw, x, y, size, (30, 84, 56), (48, 112, 70))
    draw.rectangle([470, 440, 482, H], fill=(100, 74, 50))
    draw.rectangle([400, 376, 560, 446], fill=(242, 236, 216), outline=(100, 74, 50), width=5)
    draw.text((412, 384), "adaps", font=ImageFont.truetype(font_path, 42), fill=(40, 50, 80))
    return image.resize((w, h), Image.BOX)
