#!/bin/sh
# Mappings of networks with branches, gates, dense layers and views, made by dealing the layers out: in turns, all
# to all, and a third of them shared. Agents answer with the bits of one device, whatever is parted.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python onnx

cat >verify <<'END'
for how in turns all some; do
    "$python" "$src/tests/support/deal_layers.py" "$net.onnx" "$how" local0_cpu0 local1_cpu0 local2_cpu0 >"$how.json"
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
