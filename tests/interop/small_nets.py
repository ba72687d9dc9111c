"""Small networks of the kinds that torchvision does not have, with the operators that their authors'
code exports: one of each kind, a few layers deep. `shape` is that of the input, N x C x (D x) H x W.
"""
import torch
from torch import nn
import torch.nn.functional as F


def conv_bn(inputs, outputs, kernel=3, stride=1, groups=1, act=nn.ReLU):
    pad = kernel // 2 if isinstance(kernel, int) else tuple(k // 2 for k in kernel)
    return nn.Sequential(nn.Conv2d(inputs, outputs, kernel, stride, pad, groups=groups,
                                   bias=False), nn.BatchNorm2d(outputs), act())


class C3D(nn.Module):
    """Tran et al. 2015: 3x3x3 convolutions, pools over time, dense layers."""
    shape = (1, 3, 8, 56, 56)

    def __init__(self, **_):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv3d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool3d((1, 2, 2), (1, 2, 2)),
            nn.Conv3d(16, 32, 3, padding=1), nn.BatchNorm3d(32), nn.ReLU(), nn.MaxPool3d(2, 2),
            nn.Conv3d(32, 32, 3, padding=1, groups=4), nn.ReLU(), nn.MaxPool3d(2, 2),
            nn.Conv3d(32, 48, 3, padding=1), nn.ReLU(),
            nn.MaxPool3d(2, 2, padding=(0, 1, 1)))
        self.fc = nn.Sequential(nn.Linear(48 * 16, 64), nn.ReLU(), nn.Dropout(), nn.Linear(64, 10))

    def forward(self, x):
        return torch.softmax(self.fc(torch.flatten(self.features(x), 1)), 1)


class UNet3D(nn.Module):
    """A volume in, a volume out: skips over a transposed convolution."""
    shape = (1, 2, 6, 24, 20)

    def __init__(self, **_):
        super().__init__()
        self.down = nn.Conv3d(2, 8, 3, padding=1)
        self.deep = nn.Conv3d(8, 16, 3, padding=1)
        self.up = nn.ConvTranspose3d(16, 8, 2, 2)
        self.out = nn.Conv3d(16, 3, 1)

    def forward(self, x):
        a = F.relu(self.down(x))
        b = F.relu(self.deep(F.avg_pool3d(a, 2)))
        return self.out(torch.cat((a, F.leaky_relu(self.up(b))), 1))


class UNet(nn.Module):
    """Ronneberger et al. 2015, up by transposed convolutions and by resizing."""
    shape = (1, 3, 96, 128)

    def __init__(self, **_):
        super().__init__()
        self.a, self.b, self.c = conv_bn(3, 16), conv_bn(16, 32), conv_bn(32, 64)
        self.up1 = nn.ConvTranspose2d(64, 32, 2, 2)
        self.d, self.e = conv_bn(64, 32), conv_bn(48, 16)
        self.up2 = nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True)
        self.out = nn.Conv2d(16, 2, 1)

    def forward(self, x):
        a = self.a(x)
        b = self.b(F.max_pool2d(a, 2))
        c = self.up1(self.c(F.max_pool2d(b, 2)))
        d = self.d(torch.cat((b, c), 1))
        return torch.sigmoid(self.out(self.e(torch.cat((a, self.up2(d)), 1))))


class DCGAN(nn.Module):
    """The generator of Radford et al. 2016."""
    shape = (1, 100, 1, 1)

    def __init__(self, **_):
        super().__init__()
        layers, inputs = [], 100
        for outputs, stride, pad in ((128, 1, 0), (64, 2, 1), (32, 2, 1)):
            layers += [nn.ConvTranspose2d(inputs, outputs, 4, stride, pad, bias=False),
                       nn.BatchNorm2d(outputs), nn.ReLU(True)]
            inputs = outputs
        self.main = nn.Sequential(*layers, nn.ConvTranspose2d(inputs, 3, 4, 2, 1), nn.Tanh())

    def forward(self, x):
        return self.main(x)


class StyleTransfer(nn.Module):
    """Johnson et al. 2016: reflected edges, instance normalisation, nearest resizing."""
    shape = (1, 3, 64, 80)

    def __init__(self, **_):
        super().__init__()
        def layer(inputs, outputs, kernel, stride):
            return nn.Sequential(nn.ReflectionPad2d(kernel // 2),
                                 nn.Conv2d(inputs, outputs, kernel, stride),
                                 nn.InstanceNorm2d(outputs, affine=True))
        self.first, self.down = layer(3, 16, 9, 1), layer(16, 32, 3, 2)
        self.res1, self.res2 = layer(32, 32, 3, 1), layer(32, 32, 3, 1)
        self.up, self.last = layer(32, 16, 3, 1), layer(16, 3, 9, 1)

    def forward(self, x):
        x = F.relu(self.down(F.relu(self.first(x))))
        x = x + self.res2(F.relu(self.res1(x)))
        x = F.relu(self.up(F.interpolate(x, scale_factor=2, mode="nearest")))
        return self.last(x)


class Upscaler(nn.Module):
    """ESPCN and FSRCNN: a pixel shuffle, PReLU, a strided transposed convolution."""
    shape = (1, 1, 40, 56)

    def __init__(self, **_):
        super().__init__()
        self.body = nn.Sequential(nn.Conv2d(1, 24, 5, padding=2), nn.Tanh(),
                                  nn.Conv2d(24, 12, 1), nn.PReLU(12),
                                  nn.Conv2d(12, 9, 3, padding=1), nn.PixelShuffle(3))
        self.deconv = nn.ConvTranspose2d(12, 1, 9, 3, 4, output_padding=2)

    def forward(self, x):
        return self.body(x) + self.deconv(self.body[:4](x))


class SRGAN(nn.Module):
    """The generator of Ledig et al. 2017."""
    shape = (1, 3, 32, 32)

    def __init__(self, **_):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 32, 9, padding=4), nn.PReLU())
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32), nn.PReLU(),
                          nn.Conv2d(32, 32, 3, padding=1), nn.BatchNorm2d(32)) for _ in range(2))
        self.up = nn.Sequential(nn.Conv2d(32, 128, 3, padding=1), nn.PixelShuffle(2), nn.PReLU())
        self.last = nn.Conv2d(32, 3, 9, padding=4)

    def forward(self, x):
        x = y = self.first(x)
        for block in self.blocks:
            y = y + block(y)
        return (torch.tanh(self.last(self.up(x + y))) + 1) / 2


class ArcFace(nn.Module):
    """An improved residual network with PReLU, a dense embedding, made of length 1."""
    shape = (1, 3, 56, 56)

    def __init__(self, **_):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16),
                                   nn.PReLU(16))
        self.res = nn.Sequential(nn.BatchNorm2d(16), nn.Conv2d(16, 32, 3, 1, 1, bias=False),
                                 nn.BatchNorm2d(32), nn.PReLU(32),
                                 nn.Conv2d(32, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32))
        self.short = nn.Sequential(nn.Conv2d(16, 32, 1, 2, bias=False), nn.BatchNorm2d(32))
        self.fc = nn.Linear(32 * 28 * 28, 64)
        self.bn = nn.BatchNorm1d(64)

    def forward(self, x):
        x = self.first(x)
        x = self.res(x) + self.short(x)
        return F.normalize(self.bn(self.fc(torch.flatten(x, 1))))


class Yolo5(nn.Module):
    """SiLU, cross-stage blocks, spatial pyramid pooling, a head that decodes its boxes."""
    shape = (1, 3, 64, 96)

    def __init__(self, **_):
        super().__init__()
        self.stem = conv_bn(3, 16, 5, 2, act=nn.SiLU)
        self.a, self.b = conv_bn(16, 8, 1, act=nn.SiLU), conv_bn(16, 8, 1, act=nn.SiLU)
        self.m = conv_bn(8, 8, act=nn.SiLU)
        self.down = conv_bn(16, 32, 3, 2, act=nn.SiLU)
        self.spp, self.mix = conv_bn(32, 16, 1, act=nn.SiLU), conv_bn(64, 16, 1, act=nn.SiLU)
        self.head = nn.Conv2d(32, 3 * 7, 1)
        ys, xs = torch.meshgrid(torch.arange(32.), torch.arange(48.), indexing="ij")
        self.register_buffer("grid", torch.stack((xs, ys), 2).view(1, 1, 32, 48, 2) - 0.5)
        self.register_buffer("anchors", torch.rand(1, 3, 1, 1, 2) * 30)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat((self.a(x) + self.m(self.a(x)), self.b(x)), 1)
        y = self.spp(self.down(x))
        p = [y]
        for _ in range(3):
            p.append(F.max_pool2d(p[-1], 5, 1, 2))
        y = F.interpolate(self.mix(torch.cat(p, 1)), scale_factor=2.0, mode="nearest")
        y = self.head(torch.cat((x, y), 1)).view(1, 3, 7, 32, 48).permute(0, 1, 3, 4, 2)
        xy, wh, rest = y.contiguous().sigmoid().split((2, 2, 3), 4)
        xy, wh = (xy * 2 + self.grid) * 2, (wh * 2) ** 2 * self.anchors
        return torch.cat((xy, wh, rest), 4).view(1, -1, 7)


class Yolo8(nn.Module):
    """Split blocks, and boxes as the mean of a distribution."""
    shape = (1, 3, 64, 64)

    def __init__(self, **_):
        super().__init__()
        self.stem, self.one = conv_bn(3, 16, 3, 4, act=nn.SiLU), conv_bn(16, 16, 1, act=nn.SiLU)
        self.m = conv_bn(8, 8, act=nn.SiLU)
        self.two = conv_bn(24, 16, 1, act=nn.SiLU)
        self.box, self.cls = nn.Conv2d(16, 64, 1), nn.Conv2d(16, 5, 1)
        self.dfl = nn.Conv2d(16, 1, 1, bias=False).requires_grad_(False)

    def forward(self, x):
        y = list(self.one(self.stem(x)).chunk(2, 1))
        y.append(y[-1] + self.m(y[-1]))
        x = self.two(torch.cat(y, 1))
        box, cls = torch.cat((self.box(x), self.cls(x)), 1).view(1, 69, -1).split((64, 5), 1)
        box = self.dfl(box.view(1, 4, 16, 256).transpose(2, 1).softmax(1)).view(1, 4, 256)
        lt, rb = box.chunk(2, 1)
        return torch.cat(((lt + rb) / 2, rb - lt, cls.sigmoid()), 1)


class GhostNet(nn.Module):
    """Han et al. 2020: cheap depthwise copies, squeeze-and-excite with a hard sigmoid."""
    shape = (1, 3, 64, 64)

    def __init__(self, **_):
        super().__init__()
        self.stem = conv_bn(3, 16, 3, 2)
        self.primary, self.cheap = conv_bn(16, 20, 1), conv_bn(20, 20, 3, groups=20)
        self.reduce, self.expand = nn.Conv2d(40, 8, 1), nn.Conv2d(8, 40, 1)
        self.down = conv_bn(40, 40, 5, 2, groups=40)
        self.fc = nn.Linear(36, 10)

    def forward(self, x):
        x = self.primary(self.stem(x))
        x = torch.cat((x, self.cheap(x)), 1)
        g = self.expand(F.relu(self.reduce(F.adaptive_avg_pool2d(x, 1))))
        x = self.down(x * F.hardsigmoid(g))[:, :36, :, :]
        return self.fc(F.adaptive_avg_pool2d(x, 1).flatten(1))


class Xception(nn.Module):
    """Chollet 2017: separable convolutions between residual 1x1 ones."""
    shape = (1, 3, 71, 71)

    def __init__(self, **_):
        super().__init__()
        self.stem = conv_bn(3, 16, 3, 2)
        def separable(inputs, outputs):
            return nn.Sequential(nn.ReLU(), nn.Conv2d(inputs, inputs, 3, 1, 1, groups=inputs,
                                                      bias=False),
                                 nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs))
        self.body = nn.Sequential(separable(16, 32), separable(32, 32), nn.MaxPool2d(3, 2, 1))
        self.skip = nn.Sequential(nn.Conv2d(16, 32, 1, 2, bias=False), nn.BatchNorm2d(32))
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        return self.fc(F.relu(self.body(x) + self.skip(x)).mean((2, 3)))


class ShuffleNet1(nn.Module):
    """Zhang et al. 2018: grouped 1x1 convolutions with a shuffle between them; and the local response
    normalisation of earlier networks, and the reduction of Inception v4."""
    shape = (1, 3, 48, 48)

    def __init__(self, **_):
        super().__init__()
        self.stem, self.lrn = conv_bn(3, 24, 3, 2), nn.LocalResponseNorm(5, 1e-2, 0.75, 1.0)
        self.a, self.b = conv_bn(24, 12, 1, groups=3), conv_bn(12, 12, 3, 2, groups=12)
        self.c = nn.Conv2d(12, 24, 1, groups=3)
        self.one, self.two = conv_bn(48, 16, (1, 7), act=nn.ELU), nn.Conv2d(48, 16, 3, 2)
        self.fc = nn.Linear(16, 10)

    def forward(self, x):
        x = self.lrn(self.stem(x))
        y = self.a(x)
        n, c, h, w = y.shape
        y = y.view(n, 3, c // 3, h, w).transpose(1, 2).reshape(n, c, h, w)
        y = torch.cat((F.avg_pool2d(x, 3, 2, 1), self.c(self.b(y))), 1)
        return F.log_softmax(self.fc(F.adaptive_max_pool2d(self.two(y), 1).flatten(1) +
                                     self.one(y).mean((2, 3))), 1)


class SSDHead(nn.Module):
    """Liu et al. 2016: maps of two scales, permuted and joined, L2 norms of their pixels."""
    shape = (1, 3, 64, 64)

    def __init__(self, **_):
        super().__init__()
        self.one, self.two = conv_bn(3, 32, 3, 4), conv_bn(32, 48, 3, 2)
        self.boxes = nn.ModuleList((nn.Conv2d(32, 16, 3, 1, 1), nn.Conv2d(48, 24, 3, 1, 1)))
        self.scale = nn.Parameter(torch.full((1, 32, 1, 1), 20.0))

    def forward(self, x):
        a = self.one(x)
        b = self.two(a)
        a = F.normalize(a) * self.scale
        flat = [c(v).permute(0, 2, 3, 1).reshape(1, -1, 4) for c, v in zip(self.boxes, (a, b))]
        return torch.cat(flat, 1)


class MobileNet1(nn.Module):
    """Howard et al. 2017: depthwise and 1x1 convolutions; ReLU6 as a minimum of a ReLU."""
    shape = (1, 3, 64, 64)

    def __init__(self, **_):
        super().__init__()
        def separable(inputs, outputs, stride):
            return nn.Sequential(conv_bn(inputs, inputs, 3, stride, inputs, nn.ReLU6),
                                 conv_bn(inputs, outputs, 1, act=nn.ReLU))
        self.stem = conv_bn(3, 16, 3, 2, act=nn.ReLU6)
        self.one, self.two = separable(16, 24, 1), separable(24, 32, 2)
        self.fc = nn.Conv2d(32, 10, 1)

    def forward(self, x):
        x = torch.clamp(self.one(self.stem(x)), max=6)
        x = F.avg_pool2d(torch.minimum(self.two(x), torch.tensor(6.0)), 16)
        return self.fc(x).squeeze(3).squeeze(2).softmax(1)


class Inception4(nn.Module):
    """Szegedy et al. 2016: a pool beside a convolution, branches that fork at their ends, scaled
    residuals of Inception-ResNet."""
    shape = (1, 3, 75, 75)

    def __init__(self, **_):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, bias=False), nn.BatchNorm2d(16, 1e-3),
                                  nn.ReLU(), nn.Conv2d(16, 16, 3), nn.ReLU())
        self.beside = nn.Conv2d(16, 16, 3, 2)
        self.pooled = nn.Sequential(nn.AvgPool2d(3, 1, 1, count_include_pad=False),
                                    conv_bn(32, 8, 1))
        self.row, self.column = conv_bn(32, 12, (1, 7)), conv_bn(12, 12, (7, 1))
        self.fork = nn.ModuleList((conv_bn(12, 8, (1, 3)), conv_bn(12, 8, (3, 1))))
        self.mix = nn.Conv2d(24, 32, 1)
        self.fc = nn.Linear(32, 10)

    def forward(self, x):
        x = self.stem(x)
        x = torch.cat((F.max_pool2d(x, 3, 2), self.beside(x)), 1)
        y = self.column(self.row(x))
        y = self.mix(torch.cat([self.pooled(x)] + [branch(y) for branch in self.fork], 1))
        x = F.relu(x + 0.17 * y)
        return self.fc(F.dropout(F.adaptive_avg_pool2d(x, 1).flatten(1), 0.2, self.training))


class Yolo3(nn.Module):
    """Redmon and Farhadi 2018: leaky residual blocks, maps of two scales joined by upsampling, boxes
    decoded at both with a grid made from the map's shape."""
    shape = (1, 3, 64, 96)

    def __init__(self, **_):
        super().__init__()
        def block(inputs, outputs, kernel=3, stride=1):
            return conv_bn(inputs, outputs, kernel, stride, act=lambda: nn.LeakyReLU(0.1))
        self.stem, self.a, self.b = block(3, 8, 3, 2), block(8, 8, 1), block(8, 8)
        self.down, self.deep = block(8, 16, 3, 2), block(16, 24, 3, 2)
        self.up = block(24, 8, 1)
        self.heads = nn.ModuleList((nn.Conv2d(24, 3 * 7, 1), nn.Conv2d(24, 3 * 7, 1)))
        self.register_buffer("anchors", torch.rand(2, 3, 2) * 40)

    def decode(self, x, anchors, stride):
        n, _, h, w = x.shape
        x = x.view(n, 3, 7, h, w).permute(0, 1, 3, 4, 2).contiguous()
        ys, xs = torch.meshgrid(torch.arange(h), torch.arange(w), indexing="ij")
        grid = torch.stack((xs, ys), 2).view(1, 1, h, w, 2).float()
        xy = (torch.sigmoid(x[..., 0:2]) + grid) * stride
        wh = torch.exp(x[..., 2:4]) * anchors.view(1, 3, 1, 1, 2)
        return torch.cat((xy, wh, torch.sigmoid(x[..., 4:])), 4).view(n, -1, 7)

    def forward(self, x):
        x = self.stem(x)
        x = self.down(x + self.b(self.a(x)))
        y = self.deep(x)
        z = torch.cat((F.interpolate(self.up(y), scale_factor=2), x), 1)
        return torch.cat((self.decode(self.heads[0](y), self.anchors[0], 8),
                          self.decode(self.heads[1](z), self.anchors[1], 4)), 1)


class Idioms(nn.Module):
    """What exporters spell out: Mish, GELU, hard swish, group and layer normalisation, pixels into
    channels, pools to a few pixels, cubic resizing, a gate from both means and maxima."""
    shape = (1, 3, 48, 64)

    def __init__(self, **_):
        super().__init__()
        self.stem, self.group = nn.Conv2d(12, 24, 3, padding=1), nn.GroupNorm(4, 24)
        self.depth, self.layer = nn.Conv2d(24, 24, 7, padding=3, groups=24), nn.LayerNorm(24)
        self.wide, self.narrow = nn.Linear(24, 48), nn.Linear(48, 24)
        self.gate = nn.Conv2d(24, 24, 1)
        self.spatial = nn.Conv2d(2, 1, 7, padding=3)
        self.last = nn.Conv2d(24, 8, 3, padding=1)

    def forward(self, x):
        x = F.mish(self.group(self.stem(F.pixel_unshuffle(x, 2))))
        y = self.layer(self.depth(x).permute(0, 2, 3, 1))
        x = x + self.narrow(F.gelu(self.wide(y))).permute(0, 3, 1, 2)
        g = self.gate(F.adaptive_avg_pool2d(x, 1)) + self.gate(F.adaptive_max_pool2d(x, 1))
        x = x * F.hardswish(g)
        s = torch.cat((x.mean(1, keepdim=True), x.max(1, keepdim=True)[0]), 1)
        x = F.softplus(self.last(x * torch.sigmoid(self.spatial(s))))
        few = F.adaptive_avg_pool2d(x, (3, 4))
        x = F.interpolate(x, scale_factor=2, mode="bicubic", align_corners=False)
        x = F.pad(F.interpolate(x, size=(36, 44), mode="bilinear", align_corners=False),
                  (1, 2, 0, 1), mode="replicate")
        return torch.cat((x.flatten(1), few.flatten(1)), 1)


SMALL = {"small_c3d": C3D, "unet3d": UNet3D, "unet": UNet, "dcgan": DCGAN, "style": StyleTransfer,
         "upscaler": Upscaler, "srgan": SRGAN, "arcface": ArcFace, "yolo5": Yolo5, "yolo8": Yolo8,
         "ghostnet": GhostNet, "small_xception": Xception, "shufflenet1": ShuffleNet1, "ssd": SSDHead,
         "mobilenet1": MobileNet1, "inception4": Inception4, "yolo3": Yolo3, "idioms": Idioms}
