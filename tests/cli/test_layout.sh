#!/bin/sh
# adaps plan --layout: what plan --json printed gives the same plan again, for every strategy; layouts written by hand
# run on agents with the bits of one device; bad files are refused by name.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

model=$src/models/denoise.onnx
devices=$src/devices/pi5x2-pi4x2.conf

# number KEY FILE: of a plan's JSON.
number() {
    sed -n "s/^  \"$1\": \([0-9.]*\),\$/\1/p" "$2"
}

# The same steps at the same times, which show prints below the head.
steps() {
    adaps show --json "$1" | sed -n '/"programs"/,$p'
}

round_trip() {
    status 0 "$* is planned" adaps plan -d "$devices" "$@" --json -o first.plan "$model"
    cp out first.json
    status 0 "and its layout followed" adaps plan -d "$devices" --layout first.json --json -o second.plan "$model"
    cp out second.json
    says second.json '"strategy": "layout"' "as strategy layout"
    check "the same predicted_ms" test "$(number predicted_ms first.json)" = "$(number predicted_ms second.json)"
    steps first.plan >first.steps
    steps second.plan >second.steps
    check "there are steps" grep -q '"kind": "compute"' first.steps
    check "the same steps" cmp first.steps second.steps
    check "the bound is one" awk "BEGIN { exit !($(number lower_bound_ms second.json) <= $(number predicted_ms second.json)) }"
}

for strategy in auto single edgeflow adaps bbgrap modnn coedge deepslicing deepthings deeperthings aofl dpfp flexpie edgeci halp; do
    round_trip --strategy "$strategy"
done
for strategy in pipeline replicas; do
    round_trip --objective throughput --strategy "$strategy"
    check "the same interval_ms" test "$(number interval_ms first.json)" = "$(number interval_ms second.json)"
done
check "replicas are several turns" test "$(grep -c '"inferences"' second.json)" -gt 1
cp second.json turns.json
round_trip --lossy
round_trip --compress
round_trip --late
round_trip --input f32 --dims w
cp first.json w.json

# expect TEXT DESCRIPTION: layout.json is refused with exit status 3 and this text; files that are made of lines.
expect() {
    status 3 "$2" adaps plan -d two.conf --layout layout.json "$model"
    has err "$1" "$2: the message"
}
layout() {
    printf '%s\n' "$1" >layout.json
}
cp -r "$src/devices/boards" boards
cat >two.conf <<'END'
[a]
board = pi5
[b]
board = pi4
END

layout '{'
expect "layout.json: line 2: " "no JSON"
layout '[]'
expect "layout.json: an object is wanted, not an array" "no object"
layout '{"a": 1, "a": 2}'
expect "duplicate object key" "a key twice"
layout '{}'
expect "layouts: an array is wanted; this is missing" "no layouts"
layout '{"layouts": [7]}'
expect "layouts[0]: an object is wanted, not a number" "an entry that is no object"
layout '{"layouts": [{"op": "/nowhere", "device": "a"}]}'
expect "layouts[0]: the model has no operator '/nowhere'" "an unknown op"
layout '{"layouts": [{"op": "/Add", "device": "a"}, {"op": "/Add", "device": "b"}]}'
expect "layouts[1]: '/Add' is there twice" "an op twice"
layout '{"layouts": [{"op": "/Add", "device": "c"}]}'
expect "layouts[0] (/Add): device: c is no device of the devices file" "an unknown device"
layout '{"layouts": [{"op": "/Add"}]}'
expect "(/Add): it does not say where" "an entry without a place"
layout '{"layouts": [{"op": "/Add", "device": "a", "cuts": [1]}]}'
expect "(/Add): it says where in several ways" "an entry with two places"
layout '{"layouts": [{"op": "/Add", "cuts": [1, 2]}]}'
expect "(/Add): cuts: 1 ascending numbers are wanted" "too many cuts"
layout '{"layouts": [{"op": "/Add", "cuts": [241]}]}'
expect "(/Add): cuts[0]: an integer from 0 to 240 is wanted" "a cut outside"
layout '{"layouts": [{"op": "/Add", "dim": "n", "cuts": [1]}]}'
expect "(/Add): dim: h, w or c is wanted" "an unknown dimension"
layout '{"layouts": [{"op": "/Add", "regions": [null]}]}'
expect "(/Add): regions: an array with an entry for each of 2 devices is wanted" "too few regions"
layout '{"layouts": [{"op": "/Add", "regions": [null, [0, 240, 0, 320, 0]]}]}'
expect "(/Add): regions[1]: null or [h0, h1, w0, w1, c0, c1] is wanted" "a region of five numbers"
layout '{"layouts": [{"op": "/Add", "regions": [null, [0, 241, 0, 320, 0, 3]]}]}'
expect "(/Add): regions[1] is outside of the output, which is [0, 240, 0, 320, 0, 3]" "a region outside"
layout '{"layouts": [{"op": "/Add", "regions": [null, [9, 9, 0, 320, 0, 3]]}]}'
expect "(/Add): regions[1] is empty: null says that" "an empty region"
layout '{"layouts": [{"op": "/tail/Conv", "regions": [[0, 1, 0, 1, 0, 3], [0, 240, 0, 320, 0, 3]]}]}'
expect "(/tail/Conv): regions[0]: a Conv cannot compute this part alone; the next larger one is [0, " "one pixel"
layout '{"layouts": [{"op": "/Add", "regions": [[0, 100, 0, 320, 0, 3], [101, 240, 0, 320, 0, 3]]}]}'
expect "no device computes 100:101 of /Add, which the network's output reads" "a gap in the output"
layout '{"layouts": [{"op": "/block1/Add", "regions": [[0, 100, 0, 320, 0, 32], [120, 240, 0, 320, 0, 32]]}]}'
expect "layout.json: no device computes 100:120 of /block1/Add, which /block2/" "a gap"
layout '{"layouts": [], "devices": ["a"]}'
expect "devices: an array of the 2 devices of the devices file is wanted" "too few devices"
layout '{"layouts": [], "devices": ["a", "a"]}'
expect "devices[1]: 'a' is there twice" "a device twice"
layout '{"layouts": [], "devices": ["a", "c"]}'
expect "devices[1]: 'c' is not in the devices file" "another device"
layout '{"layouts": [], "schedule": {"order": "random"}}'
expect "schedule: order: graph, ready, pieces, edges or cores is wanted" "an unknown order"
layout '{"turns": [{"layouts": []}, {"layouts": []}], "deal": [0, 2]}'
expect "deal[1]: the number of a turn is wanted, 0 to 1" "a deal to a turn that there is not"
layout '{"turns": [{"layouts": []}, {"layouts": []}], "deal": [1]}'
expect "deal: no inference takes turns[0]" "a turn without inferences"
layout '{"turns": [{"layouts": []}, {"layouts": []}]}'
expect "deal: an array of 1 to 64 turns is wanted, not missing" "turns without a deal"
layout '{"turns": [{"layouts": []}, {"layouts": [7]}], "deal": [0, 1]}'
expect "turns[1]: layouts[0]: an object is wanted" "a bad layout of a turn"
layout '{"layouts": [], "schedule": {"hub": "c"}}'
expect "schedule: hub: 'c' is no device of the devices file" "an unknown hub"
layout '{"layouts": [], "schedule": {"input_chunks": 5}}'
expect "schedule: input_chunks: 0 to 4 is wanted" "too many chunks"
layout '{"layouts": [], "schedule": {"encodings": [{"from": "a", "to": "b", "encoding": "u8"}]}}'
expect "encoding: f32, f16, zfp or lz4 is wanted" "an encoding that links cannot have"
status 3 "another cluster's layout" adaps plan -d two.conf --layout w.json "$model"
has err "devices: an array of the 2 devices" "another cluster's layout: the message"
status 3 "a missing layout" adaps plan -d two.conf --layout missing.json "$model"
has err "missing.json" "a missing layout: the message"
status 2 "--layout with --strategy" adaps plan -d two.conf --layout w.json --strategy auto "$model"
sed 's/^board = pi5/&\nmemory = 1MB/' two.conf >small.conf
layout '{"layouts": []}'
status 1 "a layout that does not fit" adaps plan -d small.conf --layout layout.json "$model"
has err "no plan of strategy layout fits into the devices' memory: in the closest a needs" "it is told"

# What is not listed follows from what reads it: an empty list is all on the source.
status 0 "an empty list" adaps plan -d two.conf --layout layout.json --json "$model"
says out '"messages": 0,' "is the source alone"

layout '{"layouts": [{"op": "/block1/conv1/Conv", "partial": 3}]}'
expect "(/block1/conv1/Conv): partial: a power of two from 2 to" "no power of two"
layout '{"layouts": [{"op": "/Add", "partial": 2}]}'
expect "(/Add): partial: its input channels cannot be added in blocks" "what has no sums"

# What is early by hand is computed and sent first.
layout '{"layouts": [{"op": "/Add", "cuts": [180]}, {"op": "/block1/Add", "cuts": [180]}]}'
status 0 "two exchanges" adaps plan -d two.conf --layout layout.json --json "$model"
cp out late.json
layout '{"layouts": [{"op": "/Add", "cuts": [180]}, {"op": "/block1/Add", "cuts": [180], "early": true}]}'
status 0 "the first of them early" adaps plan -d two.conf --layout layout.json --json "$model"
check "is sooner" awk "BEGIN { exit !($(number predicted_ms out) < $(number predicted_ms late.json)) }"

# On agents.
cat >bands.json <<'END'
{"layouts": [
  {"op": "/Add", "cuts": [80, 160]},
  {"op": "/block1/Add", "dim": "w", "cuts": [100, 220], "early": true},
  {"op": "/block2/conv1/Conv", "dim": "c", "cuts": [8, 16]},
  {"op": "/head/Conv", "regions": [null, [0, 240, 0, 320, 0, 32], [0, 9, 0, 320, 0, 32]]}],
 "devices": ["local2", "local0", {"name": "local1"}],
 "schedule": {"order": "pieces", "input_chunks": 2, "band_chunks": 2}}
END
# Two convolutions by output and by input channels; the second's sums are merged on the third device.
cat >sums.json <<'END'
{"layouts": [
  {"op": "/block2/conv1/Conv", "dim": "c", "cuts": [8, 24]},
  {"op": "/block2/conv2/Conv", "partial": 4, "dim": "c", "cuts": [32, 96]},
  {"op": "/block2/conv2/Conv sums of 2", "device": "local2"},
  {"op": "/block2/conv2/Conv sum", "device": "local2"}]}
END
cat >verify <<'END'
for layout in bands.json sums.json found.json; do
    adaps plan -d "$ADAPS_DEVICES" --strategy adaps --json models.onnx >found.json
    adaps plan -d "$ADAPS_DEVICES" --layout "$layout" -o net.plan models.onnx >"$layout.out"
    adaps verify --deadline 120s --json net.plan
done
END
cp "$model" models.onnx
status 0 "three agents follow layouts" adaps local 3 --speed 1,0.6,0.4 --threads 1 -- sh -e verify
check "with the bits of one" test "$(grep -c '"differ": *0,' out)" = 3
check "all of them compute" grep -q 'strategy *layout' bands.json.out
finish
