"""adaps detect against a decoder of its own in numpy.

    detect_check.py make NAME DIR     writes DIR/m.onnx (models/torch_nets.py), DIR/picture.png,
                                      DIR/in.npy, which is the picture as the network should get
                                      it, DIR/expected-N.npy, PyTorch's outputs, and DIR/options, for adaps detect
    detect_check.py compare NAME DIR  compares DIR/out.npy, DIR/out-N.npy (adaps run on in.npy) with
                                      PyTorch's, and DIR/found.json (adaps detect --json on the
                                      picture) with the boxes of DIR/out*.npy by the decoder below
    detect_check.py --list            the detectors whose operators adaps has
"""
import json
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "models"))
import torch_nets as nets

WIDTH, HEIGHT = 80, 40  # of the picture: the input is twice as large, so that weights are exact
CONFIDENCE, IOU, MOST = 0.25, 0.45, 300


def sigma(x):
    return 1 / (1 + np.exp(-x))


def twice(picture):
    """Bilinear at half pixels, rounded half up."""
    for axis in (0, 1):
        n = picture.shape[axis]
        at = np.clip((np.arange(2 * n) + 0.5) / 2 - 0.5, 0, n - 1)
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, n - 1)
        shape = [1, 1, 1]
        shape[axis] = -1
        part = (at - low).reshape(shape)
        picture = picture.take(low, axis) * (1 - part) + picture.take(high, axis) * part
    return np.floor(picture + 0.5)


def input_of(name, picture, module):
    """The network's input, and where the picture's point 0, 0 and a pixel lie in it."""
    _, _, h, w = module.shape
    preset = module.metadata.get("preset", "")
    full = np.full((h, w, 3), 114.0)
    place = np.array([0.0, (h - 2 * HEIGHT) // 2]), np.array([2.0, 2.0])
    if preset == "yolox":
        place = np.zeros(2), place[1]
    top = int(place[0][1])
    full[top:top + 2 * HEIGHT, :2 * WIDTH] = twice(picture.astype(float))
    if preset in ("yolox", "nanodet"):
        full = full[..., ::-1]
    if preset == "nanodet":
        mean, std = np.float32([103.53, 116.28, 123.675]), np.float32([57.375, 57.12, 58.395])
        full = (full.astype(np.float32) - mean) / std
    elif preset == "ssd":
        full = (full - 127) / 128
    elif preset != "yolox":
        full = full / np.float32(255)
    return full.transpose(2, 0, 1)[None].astype(np.float32), place


def cells(module):
    for stride in nets.STRIDES:
        for y in range(module.shape[2] // stride):
            for x in range(module.shape[3] // stride):
                yield stride, x, y


def around(rows):
    return np.concatenate((rows[:, :2] - rows[:, 2:] / 2, rows[:, :2] + rows[:, 2:] / 2), 1)


def candidates(name, module, outputs):
    """Corners, score, class and the rest of each candidate, of the highest class of each."""
    y = outputs[0][0].astype(np.float64)
    n = nets.CLASSES
    rest = np.zeros((y.size, 0))
    if name == "yolov5":
        boxes, scores = around(y[:, :4]), y[:, 4:5] * y[:, 5:]
    elif name in ("yolov8", "yolov8-masks", "yolov8-pose"):
        y = y.T
        boxes, scores, rest = around(y[:, :4]), y[:, 4:4 + n], y[:, 4 + n:]
    elif name == "yolox":
        grid = np.array(list(cells(module)), float)
        xy = (y[:, :2] + grid[:, 1:]) * grid[:, :1]
        boxes = around(np.concatenate((xy, np.exp(y[:, 2:4]) * grid[:, :1]), 1))
        scores = y[:, 4:5] * y[:, 5:]
    elif name == "nanodet":
        grid = np.array(list(cells(module)), float)
        bins = np.exp(y[:, n:].reshape(-1, 4, 8))
        sides = (bins * np.arange(8)).sum(2) / bins.sum(2)
        middle = grid[:, 1:] + 0.5
        boxes = np.concatenate((middle - sides[:, :2], middle + sides[:, 2:]), 1) * grid[:, :1]
        scores = y[:, :n]
    elif name == "ssd":  # each class is a candidate of its own; class 0 is the background
        size = [module.shape[3], module.shape[2]] * 2
        boxes = (y * size).repeat(n - 1, 0)
        scores = outputs[1][0].astype(np.float64)[:, 1:]
        scores = (scores[:, :, None] * np.eye(n - 1)).reshape(-1, n - 1)
    elif name in ("yolov10", "nms-rows"):
        scores = y[:, 4:5] * np.eye(n)[y[:, 5].astype(int)]
        boxes = y[:, :4]
    elif name == "nms":
        _, chosen, rows = outputs[2].astype(int).T
        scores = outputs[1][0][chosen, rows][:, None] * np.eye(n)[chosen]
        boxes = y[rows]
    else:
        raise ValueError(name)
    best = scores.argmax(1)
    return boxes, scores[np.arange(len(best)), best], best, rest


def share(a, b):
    low, high = np.maximum(a[:2], b[:2]), np.minimum(a[2:], b[2:])
    both = np.prod(np.clip(high - low, 0, None))
    either = np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - both
    return both / either if either > 0 else 0


def decode(name, module, outputs):
    boxes, scores, classes, rest = candidates(name, module, outputs)
    kept = []
    for i in np.argsort(-scores.astype(np.float32), kind="stable"):
        if scores[i] < CONFIDENCE or len(kept) == MOST:
            break
        if name in ("yolov10", "nms", "nms-rows") or all(classes[i] != classes[k] or share(boxes[i], boxes[k]) <= IOU
                                    for k in kept):
            kept.append(i)
    return boxes[kept], scores[kept], classes[kept], rest[kept]


def runs_of(counts):
    """COCO's compressed text as pixels, down the columns."""
    runs, i = [], 0
    while i < len(counts):
        x, shift, more = 0, 0, True
        while more:
            c = ord(counts[i]) - 48
            x |= (c & 31) << shift
            shift += 5
            more = c & 32
            i += 1
        if c & 16:
            x -= 1 << shift
        runs.append(x + runs[-2] if len(runs) > 2 else x)
    flat = np.concatenate([np.full(n, k % 2) for k, n in enumerate(runs)])
    return flat.reshape(WIDTH, HEIGHT).T


def mask_of(coefficients, prototypes, place, box):
    """By the prototypes of the answer, scaled bilinearly to the picture, cut by the box."""
    logits = np.tensordot(coefficients, prototypes, 1)
    at = []
    for axis, n, size in ((1, logits.shape[0], HEIGHT), (0, logits.shape[1], WIDTH)):
        pixel = (np.arange(size) + 0.5) * place[1][axis] + place[0][axis]
        at.append(np.clip(pixel / 4 - 0.5, 0, n - 1))
    low = [np.floor(a).astype(int) for a in at]
    high = [np.minimum(l + 1, n - 1) for l, n in zip(low, logits.shape)]
    v, u = (at[0] - low[0])[:, None], (at[1] - low[1])[None]
    above = logits[np.ix_(low[0], low[1])] * (1 - u) + logits[np.ix_(low[0], high[1])] * u
    below = logits[np.ix_(high[0], low[1])] * (1 - u) + logits[np.ix_(high[0], high[1])] * u
    x, y = np.arange(WIDTH) + 0.5, (np.arange(HEIGHT) + 0.5)[:, None]
    inside = (x >= box[0]) & (x < box[2]) & (y >= box[1]) & (y < box[3])
    return (above * (1 - v) + below * v > 0) & inside


def make(name, folder):
    import torch
    from PIL import Image
    module = nets.make_detector(name)
    nets.save_detector(module, os.path.join(folder, "m.onnx"))
    picture = np.random.default_rng(7).integers(0, 256, (HEIGHT // 8, WIDTH // 8, 3))
    picture = picture.repeat(8, 0).repeat(8, 1).astype(np.uint8)
    Image.fromarray(picture).save(os.path.join(folder, "picture.png"))
    x, _ = input_of(name, picture, module)
    np.save(os.path.join(folder, "in.npy"), x)
    with torch.no_grad():
        outputs = module(torch.from_numpy(x))
    outputs = outputs if isinstance(outputs, tuple) else (outputs,)
    for i, y in enumerate(outputs):
        np.save(os.path.join(folder, f"expected-{i}.npy"), y.numpy())
    preset = module.metadata.get("preset", "yolov5" if name == "yolov5" else "yolov8")
    with open(os.path.join(folder, "options"), "w") as file:
        file.write(f"--preset {preset}" + ("" if name == "yolox" else " --fit letterbox"))


def complain(name, why):
    print(f"FAIL {name}: {why}")
    return 1


def compare(name, folder):
    module = nets.make_detector(name)
    picture = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    _, place = input_of(name, picture, module)
    outputs = [np.load(os.path.join(folder, f"out{f'-{i}' if i else ''}.npy"))
               for i in range(len(module.outputs))]
    for i, y in enumerate(outputs):
        expected = np.load(os.path.join(folder, f"expected-{i}.npy"))
        if name in ("yolov10", "nms-rows"):  # the grey around the picture has many cells of one score: which of them are there is left open
            y, expected = y[..., 4], expected[..., 4]
        error = np.abs(y - expected).max() / np.ptp(expected)
        if y.shape != expected.shape or error > 1e-4:
            return complain(name, f"output {i} is {error:.2g} off PyTorch's")
    with open(os.path.join(folder, "found.json")) as file:
        found = json.load(file)["detections"]
    boxes, scores, classes, rest = decode(name, module, outputs)
    corner = np.tile(place[0], 2), np.tile(place[1], 2)
    boxes = np.clip((boxes - corner[0]) / corner[1], 0, [WIDTH, HEIGHT] * 2)
    kept = (boxes[:, 2] > boxes[:, 0]) & (boxes[:, 3] > boxes[:, 1])
    boxes, scores, classes, rest = boxes[kept], scores[kept], classes[kept], rest[kept]
    if len(found) != len(boxes) or len(found) < 10:
        return complain(name, f"{len(found)} boxes, not {len(boxes)}")
    worst, wrong_pixels = 0, 0
    for one, box, score, class_, row in zip(found, boxes, scores, classes, rest):
        x, y, w, h = one["bbox"]
        worst = max(worst, np.abs(np.array([x, y, x + w, y + h]) - box).max())
        if one["category_id"] != class_ or abs(one["score"] - score) > 1e-6:
            return complain(name, f"class {one['category_id']} {one['score']}, not {class_} {score}")
        if name == "yolov8-pose":
            points = row.reshape(17, 3).copy()
            points[:, :2] = (points[:, :2] - place[0]) / place[1]
            worst = max(worst, np.abs(np.array(one["keypoints"]).reshape(17, 3) - points).max())
        if name == "yolov8-masks":
            wanted = mask_of(row, outputs[1][0].astype(np.float64), place, box)
            got = runs_of(one["segmentation"]["counts"])
            wrong_pixels += np.sum(got != wanted)
    pixels = WIDTH * HEIGHT * len(found)
    if worst > 1e-3 or wrong_pixels > pixels * 1e-4:
        return complain(name, f"{worst} pixels off, {wrong_pixels} of {pixels} pixels of masks")
    print(f"ok   {name}: {len(found)} boxes, at most {worst:.2g} pixels off")
    return 0


def main(args):
    if args == ["--list"]:
        print("\n".join(["yolov5", "yolov8", "yolov8-masks", "yolov8-pose", "yolov10", "yolox",
                         "nanodet", "ssd", "nms", "nms-rows"]))
        return 0
    if len(args) != 3 or args[0] not in ("make", "compare") or args[1] not in nets.DETECTORS:
        print(__doc__, file=sys.stderr)
        return 2
    return make(*args[1:]) or 0 if args[0] == "make" else compare(*args[1:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
