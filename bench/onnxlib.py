"""Writes ONNX networks with random weights. For bench/networks, which has the networks themselves.

A network is built from values: `start((1, 3, 224, 224)).conv(32, 3, 2).relu()`. Each is also computed at once, from a
random input, so that weights can be drawn by which every convolution answers with a mean square of about 1, as one does
that was trained with batch normalization: activations neither vanish nor explode."""
import math

import benchlib
import numpy as np

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    benchlib.die(benchlib.LACKING, "onnx is missing (Debian: python3-onnx; ./bootstrap bench installs it)")

OPSET, IR_VERSION = 17, 8

FUNCTIONS = {
    "Relu": lambda x: np.maximum(x, 0),
    "HardSigmoid": lambda x: np.clip(x / 6 + 0.5, 0, 1),
    "HardSwish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    "Tanh": np.tanh,
    "Sigmoid": lambda x: 0.5 * np.tanh(0.5 * x) + 0.5,
    "Erf": lambda x: np.tanh(1.1284 * x + 0.1009 * x**3),  # to 1e-3
}
ARITHMETIC = {"Add": np.add, "Sub": np.subtract, "Mul": np.multiply, "Div": np.divide, "Pow": np.power}


def pair(x):
    """A number for height and width, or one for each."""
    return tuple(x) if isinstance(x, (tuple, list)) else (x, x)


class Graph:
    """Nodes and constants, in the order in which they were made."""

    def __init__(self, seed):
        self.random = np.random.RandomState(seed)
        self.nodes, self.constants = [], []

    def constant(self, array, kind="f4"):
        name = f"constant{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(array, kind), name))
        return name

    def normal(self, *shape, scale=0.1):
        """Normally distributed weights. The scale is rounded, or the bytes would depend on how sums were rounded."""
        return (self.random.standard_normal(shape) * 2 ** (round(4 * math.log2(scale)) / 4)).astype("f4")

    def node(self, kind, operands, count=1, **attributes):
        """A node; the names of its results."""
        name = f"{kind.lower()}{len(self.nodes)}"
        results = [name] if count == 1 else [f"{name}.{i}" for i in range(count)]
        self.nodes.append(helper.make_node(kind, operands, results, name=name, **attributes))
        return results


class Value:
    """What a node computes."""

    def __init__(self, graph, name, array):
        self.graph, self.name, self.array, self.shape = graph, name, array, array.shape

    def op(self, kind, array, *operands, **attributes):
        """What an operator makes of this value and of others, which are named: the array."""
        (name,) = self.graph.node(kind, [self.name, *operands], **attributes)
        return Value(self.graph, name, array)

    def integers(self, *numbers):
        return self.graph.constant(numbers, "i8")

    # --- sums of products ---

    def weights(self, *shape, terms):
        """Those by which sums of so many terms of this value have a mean square of 1."""
        square = float(np.mean(np.square(self.array, dtype="f8")))
        return self.graph.normal(*shape, scale=(terms * square) ** -0.5)

    def conv_by(self, weights, bias, stride=1, groups=1, dilation=1, pad=None):
        """A convolution with these weights. Without `pad` the map keeps its size, but for strides."""
        kernel, stride = weights.shape[2:], pair(stride)
        pad = pair(pad) if pad is not None else tuple(dilation * (k - 1) // 2 for k in kernel)
        array = convolve(self.array[0], weights, stride, groups, dilation, pad) + bias.reshape(-1, 1, 1)
        return self.op("Conv", array[np.newaxis], self.graph.constant(weights), self.graph.constant(bias),
                       kernel_shape=kernel, strides=stride, pads=pad * 2, group=groups, dilations=pair(dilation))

    def conv(self, channels, kernel=1, stride=1, groups=1, **options):
        """A convolution with random weights."""
        shape = (channels, self.shape[1] // groups, *pair(kernel))
        weights = self.weights(*shape, terms=math.prod(shape[1:]))
        return self.conv_by(weights, self.graph.normal(channels), stride, groups, **options)

    def depthwise(self, kernel, stride=1, **options):
        return self.conv(self.shape[1], kernel, stride, self.shape[1], **options)

    def up_conv(self, channels, factor):
        """A transposed convolution whose windows lie side by side."""
        old, height, width = self.shape[1:]
        weights, bias = self.weights(old, channels, factor, factor, terms=old), self.graph.normal(channels)
        array = np.tensordot(weights, self.array[0], (0, 0)).transpose(0, 3, 1, 4, 2)
        array = array.reshape(1, channels, factor * height, factor * width) + bias.reshape(-1, 1, 1)
        return self.op("ConvTranspose", array, self.graph.constant(weights), self.graph.constant(bias),
                       kernel_shape=pair(factor), strides=pair(factor))

    def dense(self, features):
        """A fully connected layer: Gemm of a vector, as exporters have it, else MatMul and Add."""
        weights, bias = self.weights(self.shape[-1], features, terms=self.shape[-1]), self.graph.normal(features)
        array = self.array @ weights
        if len(self.shape) > 2:
            return self.op("MatMul", array, self.graph.constant(weights)) + bias
        weights = self.graph.constant(np.ascontiguousarray(weights.T))
        return self.op("Gemm", array + bias, weights, self.graph.constant(bias), transB=1)

    def matmul(self, other):
        return self.op("MatMul", self.array @ other.array, other.name)

    # --- functions ---

    def function(self, kind, **attributes):
        return self.op(kind, FUNCTIONS[kind](self.array), **attributes)

    def relu(self):
        return self.function("Relu")

    def hard_swish(self):
        return self.function("HardSwish")

    def hard_sigmoid(self):
        return self.function("HardSigmoid", alpha=1 / 6, beta=0.5)

    def tanh(self):
        return self.function("Tanh")

    def sigmoid(self):
        return self.function("Sigmoid")

    def silu(self):
        """As exporters spell it out."""
        return self * self.sigmoid()

    def gelu(self):
        """As exporters spell it out."""
        return self * ((self / math.sqrt(2)).function("Erf") + 1) * 0.5

    def softmax(self, axis):
        array = np.exp(self.array - self.array.max(axis, keepdims=True))
        return self.op("Softmax", array / array.sum(axis, keepdims=True), axis=axis)

    # --- arithmetic with values, arrays and numbers, element by element ---

    def combine(self, kind, other):
        if isinstance(other, Value):
            return self.op(kind, ARITHMETIC[kind](self.array, other.array), other.name)
        return self.op(kind, ARITHMETIC[kind](self.array, np.asarray(other, "f4")), self.graph.constant(other))

    def __add__(self, other):
        return self.combine("Add", other)

    def __sub__(self, other):
        return self.combine("Sub", other)

    def __mul__(self, other):
        return self.combine("Mul", other)

    def __truediv__(self, other):
        return self.combine("Div", other)

    def __pow__(self, other):
        return self.combine("Pow", other)

    # --- normalization ---

    def instance_norm(self):
        """Of each channel."""
        scale, shift = 1 + self.graph.normal(self.shape[1]), self.graph.normal(self.shape[1])
        array = standard(self.array, (2, 3)) * scale.reshape(-1, 1, 1) + shift.reshape(-1, 1, 1)
        return self.op("InstanceNormalization", array, self.graph.constant(scale), self.graph.constant(shift),
                       epsilon=1e-5)

    def layer_norm(self, epsilon=1e-5):
        """Over the last axis."""
        scale, shift = 1 + self.graph.normal(self.shape[-1]), self.graph.normal(self.shape[-1])
        array = standard(self.array, -1) * scale + shift
        return self.op("LayerNormalization", array, self.graph.constant(scale), self.graph.constant(shift), axis=-1,
                       epsilon=epsilon)

    # --- pooling ---

    def max_pool(self, kernel, stride, pad=0, ceil=False):
        more = pad + (stride - 1 if ceil else 0)
        array = np.pad(self.array[0], ((0, 0), (pad, more), (pad, more)), constant_values=-np.inf)
        array = np.max([part for _, part in taps(array, pair(kernel), pair(stride))], axis=0)
        return self.op("MaxPool", array[np.newaxis], kernel_shape=pair(kernel), strides=pair(stride), pads=[pad] * 4,
                       ceil_mode=int(ceil))

    def mean_of_columns(self):
        """The mean over the height."""
        kernel = (self.shape[2], 1)
        return self.op("AveragePool", self.array.mean(2, keepdims=True), kernel_shape=kernel, strides=(1, 1))

    def global_pool(self):
        return self.op("GlobalAveragePool", self.array.mean((2, 3), keepdims=True))

    # --- data movement ---

    def flatten(self):
        return self.op("Flatten", self.array.reshape(1, -1), axis=1)

    def reshape(self, *shape):
        return self.op("Reshape", self.array.reshape(shape), self.integers(*shape))

    def transpose(self, *order):
        return self.op("Transpose", self.array.transpose(order), perm=order)

    def squeeze(self, axis):
        return self.op("Squeeze", self.array.squeeze(axis), self.integers(axis))

    def pick(self, index, axis=0):
        """The elements of this index; the axis is gone."""
        return self.op("Gather", self.array.take(index, axis), self.graph.constant(index, "i8"), axis=axis)

    def split(self, *sizes, axis=1):
        names = self.graph.node("Split", [self.name, self.integers(*sizes)], len(sizes), axis=axis)
        arrays = np.split(self.array, np.cumsum(sizes)[:-1], axis)
        return [Value(self.graph, name, array) for name, array in zip(names, arrays)]

    def depth_to_space(self, factor):
        """What PyTorch calls PixelShuffle."""
        channels, height, width = self.shape[1:]
        array = self.array.reshape(-1, factor, factor, height, width).transpose(0, 3, 1, 4, 2)
        array = array.reshape(1, channels // factor**2, factor * height, factor * width)
        return self.op("DepthToSpace", array, blocksize=factor, mode="CRD")

    def reflect(self, pad):
        """More of the map at each side, mirrored."""
        array = np.pad(self.array, ((0, 0), (0, 0), (pad, pad), (pad, pad)), mode="reflect")
        return self.op("Pad", array, self.integers(0, 0, pad, pad, 0, 0, pad, pad), mode="reflect")

    def upsample(self, factor):
        """To the nearest neighbour."""
        array = self.array.repeat(factor, 2).repeat(factor, 3)
        return self.op("Resize", array, "", self.graph.constant([1, 1, factor, factor]), mode="nearest",
                       coordinate_transformation_mode="asymmetric", nearest_mode="floor")

    def bilinear(self, height, width):
        """The array is that of nearest neighbours, whose mean square is much the same."""
        rows, columns = [np.arange(new) * old // new for new, old in zip((height, width), self.shape[2:])]
        sizes = self.integers(*self.shape[:2], height, width)
        return self.op("Resize", self.array[:, :, rows][..., columns], "", "", sizes, mode="linear",
                       coordinate_transformation_mode="half_pixel")


def standard(array, axes):
    """With a mean of 0 and a variance of 1 over these axes."""
    return (array - array.mean(axes, keepdims=True)) / (array.std(axes, keepdims=True) + 1e-3)


def taps(array, kernel, stride, dilation=1):
    """For each place in a kernel: the place, and the elements that it meets (channels, rows, columns)."""
    spans = [n - dilation * (k - 1) for n, k in zip(array.shape[1:], kernel)]
    for place in np.ndindex(*kernel):
        rows, columns = [slice(dilation * at, dilation * at + span, s) for at, span, s in zip(place, spans, stride)]
        yield place, array[:, rows, columns]


def convolve(array, weights, stride, groups, dilation, pad):
    """A convolution of one image: a product of matrices for each group and place in the kernel."""
    array = np.pad(array, [(0, 0)] + [(p, p) for p in pad])
    channels, kernel = weights.shape[1], weights.shape[2:]
    matrices = np.ascontiguousarray(weights.transpose(2, 3, 0, 1)).reshape(*kernel, groups, -1, channels)
    total = 0
    for place, part in taps(array, kernel, stride, dilation):
        size = part.shape[1:]
        total = total + matrices[place] @ part.reshape(groups, channels, -1)
    return total.reshape(-1, *size)


def start(shape, seed=1):
    """The input of a new network: numbers from -1 to 1."""
    graph = Graph(seed)
    return Value(graph, "input", graph.random.uniform(-1, 1, shape).astype("f4"))


def concat(*values, axis=1):
    array = np.concatenate([value.array for value in values], axis)
    return values[0].op("Concat", array, *[value.name for value in values[1:]], axis=axis)


def model(name, first, last):
    """The network from the one value to the other, as the bytes of an ONNX file."""
    graph = last.graph
    graph.nodes[-1].output[0] = "output"
    info = lambda name, value: helper.make_tensor_value_info(name, TensorProto.FLOAT, value.shape)
    made = helper.make_model(
        helper.make_graph(graph.nodes, name, [info("input", first)], [info("output", last)], graph.constants),
        producer_name="adaps bench/networks", opset_imports=[helper.make_opsetid("", OPSET)], ir_version=IR_VERSION)
    onnx.checker.check_model(made)
    return made.SerializeToString(deterministic=True)
