"""Reads what `adaps inspect --json` prints and writes a layout for `adaps plan --layout`: two devices share the input
channels of every dense convolution, in blocks whose sums the first one adds."""
import json
import math
import sys


def blocks_of(channels):
    blocks = 1
    while blocks < 4 and channels % (2 * blocks) == 0 and channels // (2 * blocks) > 1:
        blocks *= 2
    return blocks


def layouts(ops, devices):
    channels = {}
    for op in ops:
        channels[op["output"]] = op["dims"][1]
        read = channels.get(op["inputs"][0], 1)
        blocks = blocks_of(read)
        # of a dense one each output has products of all input channels
        if op["kind"] == "Conv" and op["macs"] // math.prod(op["dims"]) % read == 0 and blocks > 1:
            yield {"op": op["name"], "partial": blocks, "dim": "c", "cuts": [blocks // 2 * op["dims"][1]]}
            yield {"op": op["name"] + " sum", "device": devices[0]}


names = sys.argv[1:]
json.dump({"devices": names, "layouts": list(layouts(json.load(sys.stdin)["ops"], names))}, sys.stdout, indent=1)
