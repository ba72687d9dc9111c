#!/usr/bin/env python3
"""Re-creates tests/exec/q8_golden.h: bytes as ONNX Runtime makes them.

AveragePool and Resize between DequantizeLinear and QuantizeLinear, with ONNX Runtime's default
optimisations, on x86. Needs Debian's python3-onnx, node, and the npm packages onnxruntime-node and
onnxruntime-common in NODE_PATH. From anywhere:

    /usr/bin/python3 tests/interop/make_q8_golden.py
"""
import os
import subprocess
import tempfile

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
H, W = 7, 9

# signed, zeros and scales before and after, window, strides, pads (top, left, bottom, right), whether they count
POOLS = [(0, 77, 77, .0235, .0235, (2, 2), (2, 2), (0, 0, 0, 0), 0),
         (0, 0, 0, .0713, .0713, (1, 2), (1, 1), (0, 0, 0, 0), 0),
         (1, -3, -3, .0235, .0235, (2, 2), (1, 1), (1, 1, 0, 0), 1),
         (1, 0, 0, .0713, .0713, (2, 3), (2, 1), (0, 1, 1, 1), 0),
         (1, 5, 7, .03, .02, (3, 3), (2, 2), (1, 1, 1, 1), 0),
         (0, 128, 120, .03, .02, (7, 9), (1, 1), (0, 0, 0, 0), 0)]
# likewise; the mode, the coordinates, the size afterwards
RESIZES = [(0, 77, 77, .0235, .0235, "linear", "half_pixel", (14, 18)),
           (1, -3, -3, .0235, .0235, "linear", "half_pixel", (10, 13)),
           (1, 0, 7, .03, .02, "linear", "asymmetric", (21, 27)),
           (0, 128, 135, .03, .02, "linear", "align_corners", (13, 11)),
           (0, 128, 135, .03, .02, "linear", "half_pixel", (9, 5)),
           (1, 5, 5, .0235, .0235, "cubic", "half_pixel", (10, 13))]
HALF = {"half_pixel": "HALF_PIXEL", "asymmetric": "ASYMMETRIC", "align_corners": "ALIGN_CORNERS"}


def numbers_of(signed):
    """The input, as tests/exec/test_q8_golden.c makes it."""
    i = np.arange(H * W)
    return (i * i * 37 + i * 11 + 5 & 255) - 128 * signed


def answer_of(case, node, more, path):
    """The bytes that ONNX Runtime makes."""
    signed, zero, out_zero, scale, out_scale = case[:5]
    kind = np.int8 if signed else np.uint8
    constants = {"s": np.float32(scale), "z": kind(zero), "t": np.float32(out_scale), "y": kind(out_zero), **more}
    nodes = [helper.make_node("QuantizeLinear", ["in", "s", "z"], ["a"]),
             helper.make_node("DequantizeLinear", ["a", "s", "z"], ["b"]), node,
             helper.make_node("QuantizeLinear", ["c", "t", "y"], ["d"]),
             helper.make_node("DequantizeLinear", ["d", "t", "y"], ["out"])]
    graph = helper.make_graph(nodes, "g", [helper.make_tensor_value_info("in", TensorProto.FLOAT, (1, 1, H, W))],
                              [helper.make_tensor_value_info("out", TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)])
    model.ir_version = 8
    files = {key: os.path.join(path, key) for key in ("MODEL", "INPUT", "OUTPUT")}
    onnx.save(model, files["MODEL"])
    ((numbers_of(signed) - zero) * np.float32(scale)).astype(np.float32).tofile(files["INPUT"])
    env = {**os.environ, **{"COMPETITOR_" + key: file for key, file in files.items()},
           "COMPETITOR_SHAPE": f"1x1x{H}x{W}", "COMPETITOR_THREADS": "1"}
    run = os.path.join(HERE, "..", "..", "bench", "competitor_ort.js")
    subprocess.run(["node", run], env=env, check=True, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    answer = np.fromfile(files["OUTPUT"], np.float32)
    return np.rint(answer / np.float32(out_scale)).astype(int) + out_zero & 255


def row_of(case, figures, answer):
    kind = ", ".join(["{%s, %d, %#.9gf}" % (str(bool(case[0])).lower(), zero, np.float32(scale))
                      for zero, scale in zip(case[1:3], case[3:5])])
    return "    {%s, %s,\n     {%s}},\n" % (kind, figures, ", ".join(map(str, answer)))


def main():
    pools = resizes = ""
    with tempfile.TemporaryDirectory() as path:
        for case in POOLS:
            window, strides, pads, counts = case[5:]
            node = helper.make_node("AveragePool", ["b"], ["c"], kernel_shape=window, strides=strides, pads=pads,
                                    count_include_pad=counts)
            figures = "{%s}, %s" % (", ".join(map(str, window + strides + pads)), str(bool(counts)).lower())
            pools += row_of(case, figures, answer_of(case, node, {}, path))
        for case in RESIZES:
            mode, where, size = case[5:]
            node = helper.make_node("Resize", ["b", "", "", "size"], ["c"], mode=mode,
                                    coordinate_transformation_mode=where)
            figures = "AD_METHOD_%s, %s, {%d, %d}" % (mode.upper(), HALF[where], *size)
            resizes += row_of(case, figures, answer_of(case, node, {"size": np.int64([1, 1, *size])}, path))
    with open(os.path.join(HERE, "..", "exec", "q8_golden.h"), "w", encoding="ascii") as file:
        file.write("/* What ONNX Runtime 1.30 makes of bytes: by tests/interop/make_q8_golden.py. */\n"
                   "static const struct pool pools[] = {\n" + pools + "};\n\n"
                   "static const struct resize resizes[] = {\n" + resizes + "};\n")
    subprocess.run(["clang-format", "-i", file.name], check=True)


if __name__ == "__main__":
    main()
