"""The two networks that the project trains itself, as PyTorch modules, and their ONNX files.

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
