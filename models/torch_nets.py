"""The two networks that the project trains itself, as PyTorch modules, and their ONNX files; and
detectors with random weights, for tests.

Shared by train_denoise.py, train_digits.py and tests/interop/make_golden.py. Tensors are NCHW
float32. The files keep the names of the modules' parameters, so load_onnx() can put the weights of
a file back into a fresh module.
"""
import onnx
import onnx.numpy_helper
import torch
from torch import nn
import torch.nn.functional as F


class ResidualBlock(nn.Module):
    """Two dilated 3x3 convolutions with batch normalisation, added to their input."""

    def __init__(self, width, dilation1, dilation2):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=dilation1, dilation=dilation1,
                               bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=dilation2, dilation=dilation2,
                               bias=False)
        self.bn2 = nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(x + self.bn2(self.conv2(y)))


class Denoiser(nn.Module):
    """RGB picture in [0, 1] to the same picture with less noise; any height and width.

    Six 3x3 convolutions, the middle two of dilation 2: receptive field 17x17. They compute a
    correction that is added to the input, after Zhang et al., "Beyond a Gaussian Denoiser" (IEEE
    TIP 2017), section III. The correction starts at zero.
    """

    shape = (1, 3, 240, 320)

    def __init__(self, width=32):
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.block1 = ResidualBlock(width, 1, 2)
        self.block2 = ResidualBlock(width, 2, 1)
        self.tail = nn.Conv2d(width, 3, 3, padding=1)
        nn.init.zeros_(self.tail.weight)
        nn.init.zeros_(self.tail.bias)

    def forward(self, x):
        y = self.block2(self.block1(F.relu(self.head(x))))
        return x + self.tail(y)


class LeNet5(nn.Module):
    """Grey digit in [0, 1], white on black, to the probabilities of the ten digits.

    LeCun et al., "Gradient-Based Learning Applied to Document Recognition" (Proc. IEEE 1998), with
    rectifiers and maxima in place of tanh and trained averages. logits() leaves the softmax out.
    """

    shape = (1, 1, 28, 28)

    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 6, 5, padding=2)
        self.conv2 = nn.Conv2d(6, 16, 5)
        self.fc1 = nn.Linear(400, 120)
        self.fc2 = nn.Linear(120, 84)
        self.fc3 = nn.Linear(84, 10)

    def logits(self, x):
        x = F.max_pool2d(F.relu(self.conv1(x)), 2)
        x = F.max_pool2d(F.relu(self.conv2(x)), 2)
        x = F.relu(self.fc1(torch.flatten(x, 1)))
        return self.fc3(F.relu(self.fc2(x)))

    def forward(self, x):
        return F.softmax(self.logits(x), dim=1)


def save_onnx(module, path, metadata):
    """Writes the module (opset 13, batch 1, its own input shape) with the metadata_props.

    TrainingMode.PRESERVE of a module in eval mode: the exporter leaves batch normalisation as nodes
    of its own instead of folding it, and parameters keep their names.
    """
    module.eval()
    torch.onnx.export(module, torch.zeros(module.shape), path, opset_version=13,
                      training=torch.onnx.TrainingMode.PRESERVE, do_constant_folding=False,
                      input_names=["input"], output_names=["output"])
    model = onnx.load(path)
    for key, value in metadata.items():
        model.metadata_props.add(key=key, value=value)
    onnx.checker.check_model(model)
    onnx.save(model, path)


def load_onnx(module, path):
    """Puts the initializers of the file into the module's parameters; returns the module.

    Raises KeyError or RuntimeError when a parameter is missing or of another shape.
    """
    weights = {t.name: torch.from_numpy(onnx.numpy_helper.to_array(t).copy())
               for t in onnx.load(path).graph.initializer}
    state = {name: weights[name] for name in module.state_dict()
             if not name.endswith("num_batches_tracked")}
    missing, unexpected = module.load_state_dict(state, strict=False)
    if unexpected or any(not n.endswith("num_batches_tracked") for n in missing):
        raise RuntimeError(f"{path}: weights {missing} {unexpected} do not fit")
    return module.eval()


# Detectors as their authors' exporters write them, with few channels and random weights, for the
# test of adaps detect (tests/interop/detect_check.py). CLASSES classes; answers of batch 1.

CLASSES = 5
STRIDES = (8, 16, 32)


def conv_silu(inputs, outputs, stride=1):
    return nn.Sequential(nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False),
                         nn.BatchNorm2d(outputs), nn.SiLU())


def grid_of(map_):
    """x and y of a map's cells, 1 x 1 x h x w each."""
    h, w = map_.shape[-2:]
    y, x = torch.meshgrid(torch.arange(h).float(), torch.arange(w).float(), indexing="ij")
    return x[None, None], y[None, None]


class Detector(nn.Module):
    """A backbone with maps of three strides, and a 1x1 convolution of each for every part of the
    answer. parts: output channels of each."""

    shape = (1, 3, 128, 160)
    metadata = {}
    outputs = ("output0",)
    opset = 13

    def __init__(self, *parts, width=16):
        super().__init__()
        self.stem = nn.Sequential(conv_silu(3, width, 2), conv_silu(width, width, 2))
        self.stages = nn.ModuleList(conv_silu(width, width, 2) for _ in STRIDES)
        self.heads = nn.ModuleList(nn.ModuleList(nn.Conv2d(width, n, 1) for n in parts)
                                   for _ in STRIDES)

    def maps(self, x):
        """For each stride the stride and the parts."""
        self.shallow = x = self.stem(x)
        for stride, stage, heads in zip(STRIDES, self.stages, self.heads):
            x = stage(x)
            yield stride, [head(4 * x) for head in heads]


class YoloV5(Detector):
    def __init__(self):
        super().__init__(3 * (5 + CLASSES))

    def forward(self, x):
        rows = []
        for stride, (y,) in self.maps(x):
            h, w = y.shape[-2:]
            y = torch.sigmoid(y.view(1, 3, 5 + CLASSES, h, w)).permute(0, 1, 3, 4, 2)
            gx, gy = grid_of(y[..., 0])
            grid = torch.stack((gx, gy), -1)
            sizes = (torch.tensor([[1., 2], [2, 1], [3, 3]]) * stride).view(1, 3, 1, 1, 2)
            xy = (y[..., :2] * 2 - 0.5 + grid) * stride
            wh = (y[..., 2:4] * 2) ** 2 * sizes
            rows.append(torch.cat((xy, wh, y[..., 4:]), -1).view(1, 3 * h * w, 5 + CLASSES))
        return torch.cat(rows, 1)


class YoloV8(Detector):
    """Boxes as distributions of distances; extra: numbers after the classes."""

    metadata = {"task": "detect"}

    def __init__(self, extra=0):
        super().__init__(4 * 16, CLASSES, *([extra] if extra else []))

    def extras(self, stride, y):
        return y.flatten(2)

    def forward(self, x):
        columns = []
        for stride, parts in self.maps(x):
            gx, gy = grid_of(parts[0])
            bins = torch.arange(16).float().view(1, 1, 16, 1)
            sides = parts[0].flatten(2).view(1, 4, 16, -1).softmax(2)
            left, up, right, down = ((sides * bins).sum(2) * 1.0).split(1, 1)
            cx, cy = gx.flatten(2) + 0.5, gy.flatten(2) + 0.5
            box = torch.cat((cx + (right - left) / 2, cy + (down - up) / 2, left + right,
                             up + down), 1) * stride
            columns.append(torch.cat([box, torch.sigmoid(parts[1].flatten(2))] +
                                     [self.extras(stride, p) for p in parts[2:]], 1))
        return torch.cat(columns, 2)


class YoloV8Masks(YoloV8):
    metadata = {"task": "segment"}
    outputs = ("output0", "output1")

    def __init__(self):
        super().__init__(8)
        self.prototypes = nn.Conv2d(16, 8, 3, padding=1)

    def forward(self, x):
        answer = super().forward(x)
        return answer, 4 * self.prototypes(self.shallow)


class YoloV8Pose(YoloV8):
    metadata = {"task": "pose", "kpt_shape": "[17, 3]"}

    def __init__(self):
        super().__init__(17 * 3)

    def extras(self, stride, y):
        gx, gy = grid_of(y)
        n = y.shape[-2] * y.shape[-1]
        y = y.flatten(2).view(1, 17, 3, n)
        xy = (y[:, :, :2] * 2 + torch.stack((gx.flatten(2), gy.flatten(2)), 2)) * stride
        return torch.cat((xy, torch.sigmoid(y[:, :, 2:])), 2).view(1, 51, n)


class YoloV10(YoloV8):
    """The best 50 of one-to-one answers: rows of corners, score, class."""

    def forward(self, x):
        y = super().forward(x).transpose(1, 2)
        scores, classes = y[..., 4:].max(-1)
        scores, rows = scores.topk(50, -1)
        box = y[..., :4].gather(1, rows[..., None].expand(1, 50, 4))
        corners = torch.cat((box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2), -1)
        classes = classes.gather(1, rows)
        return torch.cat((corners, scores[..., None], classes[..., None].float()), -1)


class YoloX(Detector):
    metadata = {"preset": "yolox"}

    def __init__(self):
        super().__init__(4, 1, CLASSES)

    def forward(self, x):
        rows = [torch.cat((box, torch.sigmoid(thing + 2), torch.sigmoid(classes)), 1).flatten(2)
                for _, (box, thing, classes) in self.maps(x / 255)]
        return torch.cat(rows, 2).transpose(1, 2)


class NanoDet(Detector):
    metadata = {"preset": "nanodet"}

    def __init__(self):
        super().__init__(CLASSES, 4 * 8)

    def forward(self, x):
        rows = [torch.cat((torch.sigmoid(classes), sides), 1).flatten(2)
                for _, (classes, sides) in self.maps(x)]
        return torch.cat(rows, 2).transpose(1, 2)


class BoxesAndScores(YoloV8):
    """Corners as fractions of the picture, and a softmax over the background and the classes."""

    metadata = {"preset": "ssd", "names": str({i: f"thing {i}" for i in range(CLASSES - 1)})}
    outputs = ("boxes", "scores")

    def forward(self, x):
        y = super().forward(x).transpose(1, 2)
        size = torch.tensor([self.shape[3], self.shape[2]]).float()
        middle, half = y[..., :2] / size, y[..., 2:4] / size / 2
        return torch.cat((middle - half, middle + half), -1).clamp(0, 1), (8 * y[..., 4:]).softmax(-1)


class Suppressed(YoloV8):
    """Ends in ONNX' NonMaxSuppression: boxes, scores, and what was selected."""

    metadata = {}
    outputs = ("boxes", "scores", "selected")

    def __init__(self):
        import torchvision.ops  # here, since it cannot be imported while its operator is exported
        super().__init__()
        self.nms = torchvision.ops.nms  # exported as NonMaxSuppression

    def forward(self, x):
        y = super().forward(x)
        box = y[:, :4].transpose(1, 2)
        corners = torch.cat((box[..., :2] - box[..., 2:] / 2, box[..., :2] + box[..., 2:] / 2), -1)
        scores, classes = y[:, 4:].max(1)
        kept = self.nms(corners[0] + classes[0, :, None] * 1e4, scores[0], 0.45)
        selected = torch.stack((torch.zeros_like(kept), classes[0, kept], kept), 1)
        return corners, y[:, 4:], selected


class Exported(YoloV8):
    """As Ultralytics exports with nms=True: rows of each picture's best boxes, then zeros."""

    max_det = 50

    def __init__(self):
        import torchvision.ops  # as above
        super().__init__()
        self.nms = torchvision.ops.nms

    def forward(self, x):
        y = super().forward(x).transpose(-1, -2)
        boxes, scores = y.split([4, CLASSES], 2)
        scores, classes = scores.max(-1)
        out = torch.zeros(y.shape[0], self.max_det, 6)
        for i in range(y.shape[0]):
            mask = scores[i] > scores.mean()  # Ultralytics has a constant here, which random weights do not know
            box, score, kind = boxes[i][mask], scores[i][mask], classes[i][mask]
            corners = torch.cat((box[:, :2] - box[:, 2:] / 2, box[:, :2] + box[:, 2:] / 2), -1)
            apart = corners / torch.tensor(x.shape[2:]).max() + kind.reshape(-1, 1).expand(box.shape[0], 4)
            keep = self.nms(apart, score, 0.45)[:self.max_det]
            rows = torch.cat((corners[keep], score[keep].view(-1, 1), kind[keep].view(-1, 1).to(out.dtype)), -1)
            out[i] = F.pad(rows, (0, 0, 0, self.max_det - rows.shape[0]))
        return out


DETECTORS = {"yolov5": YoloV5, "yolov8": YoloV8, "yolov8-masks": YoloV8Masks,
             "yolov8-pose": YoloV8Pose, "yolov10": YoloV10, "yolox": YoloX, "nanodet": NanoDet,
             "ssd": BoxesAndScores, "nms": Suppressed, "nms-rows": Exported}


def make_detector(name):
    """A detector in eval mode with the weights of a fixed seed."""
    torch.manual_seed(1)
    return DETECTORS[name]().eval()


def save_detector(module, path):
    """Writes it with metadata as Ultralytics' exporter does."""
    torch.onnx.export(module, torch.zeros(module.shape), path, opset_version=module.opset,
                      input_names=["images"], output_names=list(module.outputs))
    model = onnx.load(path)
    names = {"names": str({i: f"thing {i}" for i in range(CLASSES)})}
    for key, value in {**names, **module.metadata}.items():
        if key != "preset":
            model.metadata_props.add(key=key, value=value)
    onnx.save(model, path)
