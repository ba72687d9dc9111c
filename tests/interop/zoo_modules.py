"""Networks of models/zoo that torchvision does not have, as PyTorch modules.

Parameters are named as in the zoo's files, so that the weights of a file load as they are. Tensors
are NCHW float32. Shared by zoo_check.py and torchvision_export.py.
"""
import torch
from torch import nn
import torch.nn.functional as F


def reorg(x, block):
    """Blocks of pixels as channels, spelled as PyTorch ports of YOLOv2 do: three transposes."""
    n, c, h, w = x.shape
    rows, columns = h // block, w // block
    x = x.view(n, c, rows, block, columns, block).transpose(3, 4).contiguous()
    x = x.view(n, c, rows * columns, block * block).transpose(2, 3).contiguous()
    x = x.view(n, c, block * block, rows, columns).transpose(1, 2).contiguous()
    return x.view(n, block * block * c, rows, columns)


class YoloV2(nn.Module):
    """The VOC model of Redmon and Farhadi, CVPR 2017: see zoo_yolov2() in models/zoo_more.c."""

    side = 416
    # Output channels and kernel of the layers before each pool, and of those after the last one.
    backbone = (((32, 3),), ((64, 3),), ((128, 3), (64, 1), (128, 3)),
                ((256, 3), (128, 1), (256, 3)),
                ((512, 3), (256, 1), (512, 3), (256, 1), (512, 3)),
                ((1024, 3), (512, 1), (1024, 3), (512, 1), (1024, 3), (1024, 3), (1024, 3)))

    def __init__(self, **_):
        super().__init__()
        inputs, at = 3, 1
        for group in self.backbone:
            for outputs, kernel in group:
                self.add(at, inputs, outputs, kernel)
                inputs, at = outputs, at + 1
        self.add(at, 512, 64, 1)
        self.add(at + 1, 1024 + 4 * 64, 1024, 3)
        self.conv23 = nn.Conv2d(1024, 125, 1)

    def add(self, at, inputs, outputs, kernel):
        setattr(self, f"conv{at}", nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2,
                                             bias=False))
        setattr(self, f"bn{at}", nn.BatchNorm2d(outputs))

    def layer(self, at, x):
        return F.leaky_relu(getattr(self, f"bn{at}")(getattr(self, f"conv{at}")(x)), 0.1)

    def forward(self, x):
        at = 1
        for i, group in enumerate(self.backbone):
            if i > 0:
                fine, x = x, F.max_pool2d(x, 2)
            for _ in group:
                x = self.layer(at, x)
                at += 1
        fine = reorg(self.layer(21, fine), 2)
        return self.conv23(self.layer(22, torch.cat((fine, x), 1)))


class Excite(nn.Module):
    """A gate for each channel, made from the means of all."""

    def __init__(self, width, squeeze):
        super().__init__()
        self.conv_reduce = nn.Conv2d(width, squeeze, 1)
        self.conv_expand = nn.Conv2d(squeeze, width, 1)

    def forward(self, x):
        gate = self.conv_expand(F.relu(self.conv_reduce(F.adaptive_avg_pool2d(x, 1))))
        return x * F.hardsigmoid(gate)


class SearchedBlock(nn.Module):
    """An inverted residual; see searched_block() in models/zoo_more.c."""

    def __init__(self, inputs, outputs, expand, kernel, stride, excite, swish):
        super().__init__()
        wide = inputs * expand
        self.activate = F.hardswish if swish else F.relu
        self.conv_pw = nn.Conv2d(inputs, wide, 1, bias=False) if expand != 1 else None
        self.bn1 = nn.BatchNorm2d(wide) if expand != 1 else None
        self.conv_dw = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False)
        self.bn2 = nn.BatchNorm2d(wide)
        self.se = Excite(wide, (inputs // 4 + 7) // 8 * 8) if excite else nn.Identity()
        self.conv_pwl = nn.Conv2d(wide, outputs, 1, bias=False)
        self.bn3 = nn.BatchNorm2d(outputs)
        self.residual = stride == 1 and inputs == outputs

    def forward(self, x):
        y = x
        if self.conv_pw is not None:
            y = self.activate(self.bn1(self.conv_pw(y)))
        y = self.se(self.activate(self.bn2(self.conv_dw(y))))
        y = self.bn3(self.conv_pwl(y))
        return x + y if self.residual else y


class HardCoreNas(nn.Module):
    """See zoo_hardcorenas() in models/zoo_more.c."""

    side = 224
    # Expansion, kernel, output channels, stride, blocks, squeeze and excite, hard swish.
    stages = ((1, 3, 16, 1, 1, False, False), (3, 5, 24, 2, 2, False, False),
              (3, 5, 40, 2, 3, True, False), (6, 3, 80, 2, 4, True, True),
              (4, 5, 112, 1, 3, True, True), (6, 5, 192, 2, 4, True, True))

    def __init__(self, **_):
        super().__init__()
        self.conv_stem = nn.Conv2d(3, 16, 3, 2, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(16)
        blocks, inputs = [], 16
        for expand, kernel, outputs, stride, count, excite, swish in self.stages:
            for i in range(count):
                blocks.append(SearchedBlock(inputs, outputs, expand, kernel,
                                            stride if i == 0 else 1, excite, swish))
                inputs = outputs
        self.blocks = nn.Sequential(*blocks)
        self.conv_last = nn.Conv2d(inputs, 960, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(960)
        self.conv_head = nn.Conv2d(960, 1280, 1)
        self.classifier = nn.Linear(1280, 1000)

    def forward(self, x):
        x = self.blocks(F.hardswish(self.bn1(self.conv_stem(x))))
        x = F.adaptive_avg_pool2d(F.hardswish(self.bn2(self.conv_last(x))), 1)
        return self.classifier(torch.flatten(F.hardswish(self.conv_head(x)), 1))


class Separable(nn.Module):
    """A depthwise and a pointwise convolution, batch normalisation."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.depthwise = nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs, bias=False)
        self.pointwise = nn.Conv2d(inputs, outputs, 1, bias=False)
        self.bn = nn.BatchNorm2d(outputs)

    def forward(self, x):
        return self.bn(self.pointwise(self.depthwise(x)))


class XceptionBlock(nn.Module):
    """Separable convolutions of what is rectified, and a shortcut; see models/zoo_papers.c."""

    def __init__(self, inputs, widths, stride, rectified=False):
        super().__init__()
        self.stride, self.rectified = stride, rectified
        for i, width in enumerate(widths, 1):
            setattr(self, f"sep{i}", Separable(inputs if i == 1 else widths[i - 2], width))
        self.count = len(widths)
        if stride > 1:
            self.skip = nn.Conv2d(inputs, widths[-1], 1, stride, bias=False)
            self.skipbn = nn.BatchNorm2d(widths[-1])

    def forward(self, x):
        y = x
        for i in range(1, self.count + 1):
            y = getattr(self, f"sep{i}")(y if i == 1 and self.rectified else F.relu(y))
        if self.stride == 1:
            return y + x
        return F.max_pool2d(y, 3, self.stride, 1) + self.skipbn(self.skip(x))


class Xception(nn.Module):
    """See zoo_xception() in models/zoo_papers.c."""

    side = 299

    def __init__(self, **_):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, 3, 2, bias=False)
        self.bn1 = nn.BatchNorm2d(32)
        self.conv2 = nn.Conv2d(32, 64, 3, bias=False)
        self.bn2 = nn.BatchNorm2d(64)
        self.block1 = XceptionBlock(64, (128, 128), 2, True)
        self.block2 = XceptionBlock(128, (256, 256), 2)
        self.block3 = XceptionBlock(256, (728, 728), 2)
        for i in range(4, 12):
            setattr(self, f"block{i}", XceptionBlock(728, (728, 728, 728), 1))
        self.block12 = XceptionBlock(728, (728, 1024), 2)
        self.conv3 = Separable(1024, 1536)
        self.conv4 = Separable(1536, 2048)
        self.fc = nn.Linear(2048, 1000)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        for i in range(1, 13):
            x = getattr(self, f"block{i}")(x)
        x = F.relu(self.conv4(F.relu(self.conv3(x))))
        return self.fc(torch.flatten(F.adaptive_avg_pool2d(x, 1), 1))


class C3d(nn.Module):
    """See zoo_c3d() in models/zoo_papers.c."""

    side = 112
    frames = 16
    layers = (("conv1", 3, 64), ("pool", 1), ("conv2", 64, 128), ("pool", 2), ("conv3a", 128, 256),
              ("conv3b", 256, 256), ("pool", 2), ("conv4a", 256, 512), ("conv4b", 512, 512), ("pool", 2),
              ("conv5a", 512, 512), ("conv5b", 512, 512))

    def __init__(self, **_):
        super().__init__()
        for name, *sizes in self.layers:
            if name != "pool":
                setattr(self, name, nn.Conv3d(*sizes, 3, padding=1))
        self.fc6 = nn.Linear(8192, 4096)
        self.fc7 = nn.Linear(4096, 4096)
        self.fc8 = nn.Linear(4096, 487)

    def forward(self, x):
        for name, *sizes in self.layers:
            x = F.max_pool3d(x, (sizes[0], 2, 2)) if name == "pool" else F.relu(getattr(self, name)(x))
        x = torch.flatten(F.max_pool3d(x, 2, padding=(0, 1, 1)), 1)
        return self.fc8(F.relu(self.fc7(F.relu(self.fc6(x)))))


MODULES = {"yolov2": YoloV2, "hardcorenas": HardCoreNas, "xception": Xception, "c3d": C3d}
