"""Makes docs/operators.md of what `adaps inspect --operators --json` prints (standard input), and holds
that against ONNX' own schemas where these are installed."""
import json
import sys

HEAD = """# Operators

Which ONNX operators adaps imports, and how each is executed. This file is made of the operator table
(`src/import/operators.c`) by `tests/import/operators.sh`; `adaps inspect --operators` prints the same.
`tests/import/test_onnx_operators.c` imports every operator in every version and compares what becomes of it, and what
the region rules say of that, with the table.

Opsets %d to %d of the default domain are read. Operators of other domains (com.microsoft, ai.onnx.ml) are refused
but for those of "Quantised networks", and so is every operator that is not below, by name. float16 and float64 are read and computed in float32.

- *imported*: the versions (the opsets that changed the operator) that are imported; *refused*: older ones that are not.
- *rows*, *columns*, *channels*: what a part of the result reads of the input along this axis.
  *same*: the same part, so that nothing is exchanged between operators that are split alike. *halo*: elements around it,
  too. *other*: elements elsewhere, but not all. *all*: everything, so that each device that computes a part has all of it
  (of a convolution: a share of the output channels). *no*: the result is not split along this axis.
  *all, sums*: the input channels can be shared, too; each device then adds a part of every sum (`src/ir/partial.h`).
- *whole*: it runs on one device, the one that has its inputs or is chosen by the planner. *constant*: the importer computes
  it, so nothing of it is left to execute.
- *bits*: however it is split, the answer has the same bits as on one device. *any*: on any processor; *kind*: on
  processors of one kind, and else within 1e-5 of the output's range (`docs/numerics.md`). Partial sums add in an order that
  is a part of the plan: the same bits for any number of devices, within 1e-5 of the layer in one piece.
- *types*: of its data, when they are computed at run time. What is not float32 runs whole.
- *form*: rows, columns and channels hold for this form on a map N x C x H x W. Other forms run whole, or become
  operators of this table.

"""

TAIL = """
Exporters write some operators as several others. Idioms that are recognised (`src/import/idioms.c`) become the operator
that is meant, so a Transpose or a Reshape often disappears (`docs/numerics.md`, "Transposed convolutions").

## Quantised networks

An operator on floats between DequantizeLinear and QuantizeLinear becomes one on bytes, with a scale and a zero point for
each value (`src/import/quantise.c`, `docs/numerics.md`, "Values of one byte"). It is split along rows, columns and channels
like that on floats, with the same bits on every processor; shares of the input channels add up to the very bytes of
the whole.

- On bytes: Conv, ConvTranspose and Gemm with constant weights, MatMul (by a constant; of two computed operands whole, as on
  floats), Add, Mul, AveragePool, GlobalAveragePool, MaxPool, Concat, Resize and Upsample (of maps; to the nearest of other shapes,
  too), Pad, what moves elements, and functions of one number (Relu, Sigmoid, HardSwish, ...).
- Nodes that read and make bytes become the same (`src/import/qlinear.c`): QLinearConv, QLinearMatMul; of com.microsoft QGemm,
  QLinearAdd, QLinearMul, QLinearAveragePool, QLinearGlobalAveragePool, QLinearConcat, QLinearLeakyRelu, QLinearSigmoid,
  QLinearSoftmax.
- All others (Softmax, Resize along other axes that mixes) compute with floats between their DequantizeLinear and
  QuantizeLinear.
- Dynamic quantisation: MatMulInteger and ConvInteger (of maps) of what DynamicQuantizeLinear makes, by constant weights, become
  layers of bytes that devices share (`src/import/integer.c`), unless their sums could reach 2^24. DynamicQuantizeLinear and
  all other MatMulInteger and ConvInteger run whole.

## Forms that are refused

Whatever an attribute or an input says that is not supported is refused by name, with the node. Beyond what ONNX forbids
these are:

"""

NAMES = {
    "float32": "float", "int8": "int8", "uint8": "uint8", "int32": "int32", "int64": "int64", "bool": "bool",
}
INTEGERS = ["int8", "uint8", "int32", "int64"]


def types_text(types):
    words = [NAMES[t] for t in types if t not in INTEGERS]
    integers = [t for t in types if t in INTEGERS]
    if integers == INTEGERS:
        words.insert(1 if "float" in words else 0, "integers")
    else:
        words[1:1] = integers if "float" in words else []
        words = words if "float" in words else integers + words
    return ", ".join(words) or "-"


def numbers(versions):
    return " ".join(str(v) for v in versions) or "-"


def row_text(op):
    since = op["since"]
    along = [op.get(axis) for axis in ("rows", "columns", "channels")]
    if op["runs"] != "split":
        along = [op["runs"]] * 3
    elif op["partial_sums"]:
        along[2] += ", sums"
    cells = [
        op["operator"],
        numbers(v for v in op["versions"] if v >= since),
        numbers(v for v in op["versions"] if v < since),
        *along,
        op.get("bits", "-"),
        types_text(op["types"]),
        op.get("form", ""),
    ]
    return "| " + " | ".join(cells) + " |"


def document(table):
    titles = ["operator", "imported", "refused", "rows", "columns", "channels", "bits", "types", "form"]
    lines = ["| " + " | ".join(titles) + " |", "|" + " --- |" * len(titles)]
    lines += [row_text(op) for op in table["operators"]]
    refused = ["- %s: %s." % (op["operator"], "; ".join(op["refuses"])) for op in table["operators"] if op["refuses"]]
    return HEAD % tuple(table["opsets"]) + "\n".join(lines) + "\n" + TAIL + "\n".join(refused) + "\n"


def check_schemas(table):
    """Versions and attributes against ONNX' schemas, as far as the installed release knows opsets."""
    try:
        import onnx.defs
    except ImportError:
        return
    last = onnx.defs.onnx_opset_version()
    versions, attributes = {}, {}
    for schema in onnx.defs.get_all_schemas_with_history():
        if schema.domain == "" and schema.since_version <= table["opsets"][1]:
            versions.setdefault(schema.name, set()).add(schema.since_version)
            attributes.setdefault(schema.name, set()).update(schema.attributes)
    for op in table["operators"]:
        name = op["operator"]
        known = {v for v in op["versions"] if v <= last}
        if known != versions.get(name, set()):
            sys.exit("%s: versions %s, but ONNX says %s" % (name, sorted(known), sorted(versions.get(name, []))))
        if not attributes.get(name, set()) <= set(op["attributes"]):
            missing = sorted(attributes[name] - set(op["attributes"]))
            sys.exit("%s: ONNX has attributes %s, too" % (name, missing))
    print("versions and attributes are those of ONNX %s" % onnx.__version__, file=sys.stderr)


def main():
    table = json.load(sys.stdin)
    check_schemas(table)
    sys.stdout.write(document(table))


main()
