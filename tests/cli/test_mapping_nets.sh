#!/bin/sh
# Mappings of networks with branches, gates, dense layers and views, made by dealing the layers out: in turns, all
# to all, and a third of them shared. Agents answer with the bits of one device, whatever is parted.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python onnx

cat >deal.py <<'END'
import json, onnx, sys
model, how, keys = onnx.load(sys.argv[1]), sys.argv[2], sys.argv[3:]
out = {key: [] for key in keys}
for i, node in enumerate(model.graph.node):
    shared = how == "all" or (how == "some" and i % 3 == 0)
    # by the node's name or, as AutoDiCE's tools do, by that of its first output
    name = node.name if i % 2 and node.name else node.output[0]
    for key in keys if shared else [keys[i % len(keys)]]:
        out[key].append(name)
print(json.dumps(out))
END
cat >verify <<'END'
for how in turns all some; do
    "$python" deal.py "$net.onnx" "$how" local0_cpu0 local1_cpu0 local2_cpu0 >"$how.json"
    adaps plan -d "$ADAPS_DEVICES" --mapping "$how.json" -o net.plan "$net.onnx" >"$how.out"
    adaps verify --deadline 120s --json net.plan
done
END
for net in lenet5 squeezenet hardcorenas; do
    export net
    "$zoo" "$net" -o "$net.onnx" 2>"$work/err" || not_ok "$net was not written"
    status 0 "$net on three agents" adaps local 3 --speed 1,0.6,0.4 --threads 1 -- sh -e verify
    check "$net has the bits of one" test "$(grep -c '"differ": *0,' out)" = 3
    check "$net is on three devices" test "$(grep -l 'on 3 of 3 devices' turns.out all.out some.out | wc -l)" = 3
    rm -f "$net.onnx"
done
finish
