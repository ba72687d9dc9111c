#!/usr/bin/env python3
"""Deals the layers of a model out to keys: prints a mapping (adaps-plan(1)).

    deal_layers.py MODEL.onnx chain|turns|all|some KEY...

chain: as many layers to each, in order; turns: one after the other; all: all to all; some: each third to all, the
others in turns. Layers are named by their nodes or, every second one, by their first outputs, as AutoDiCE's tools do.
"""
import json
import sys

import onnx


def main():
    if len(sys.argv) < 4 or sys.argv[2] not in ("chain", "turns", "all", "some"):
        print(__doc__, file=sys.stderr)
        return 2
    nodes, how, keys = onnx.load(sys.argv[1]).graph.node, sys.argv[2], sys.argv[3:]
    mapping = {key: [] for key in keys}
    for i, node in enumerate(nodes):
        shared = how == "all" or (how == "some" and i % 3 == 0)
        turn = i * len(keys) // len(nodes) if how == "chain" else i % len(keys)
        for key in keys if shared else [keys[turn]]:
            mapping[key].append(node.name if i % 2 and node.name else node.output[0])
    print(json.dumps(mapping, indent=1))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
