#!/bin/sh
# adaps quantize: what it writes runs as bytes, on agents with the same bits, near the floats; verify --against says how near.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python json

digits=$src/models/digits.onnx
denoise=$src/models/denoise.onnx
mkdir pictures empty
cp "$src"/models/samples/digit-*.png pictures

# judge FILE EXPRESSION DESCRIPTION: the expression of Python holds for the JSON of the file, x.
judge() {
    check "$3" "$python" -c "
import json, sys
x = json.load(open('$1'))
sys.exit(not ($2))"
}

# quantized NAME OPTION...: NAME.onnx, and its table in NAME.json.
quantized() {
    name=$1
    shift
    status 0 "$name" adaps quantize --json -o "$name.onnx" "$@"
    cp out "$name.json"
}
for method in minmax percentile entropy mse; do
    quantized "by-$method" --calibrate pictures --method $method "$digits"
    judge "by-$method.json" 'x["samples"] == 2 and not x["random"] and x["snr_db"] > 10' "$method: the answer is near"
    judge "by-$method.json" 'all(n["int8"] for n in x["nodes"])' "$method: all nodes are bytes"
done
judge by-minmax.json 'all(t["scale"] > 0 and 0 <= t["zero"] <= 255 and t["least"] <= 0 <= t["most"] or t["least"] > 0
    for t in x["tensors"])' "ranges with 0"
quantized random --random "$digits"
judge random.json 'x["random"] and x["samples"] == 8' "eight random inputs"
quantized equal --calibrate pictures --equalize "$digits"
judge equal.json 'x["snr_db"] > 10' "equalized: the answer is near"
quantized kept --calibrate pictures --keep-float /conv1/Conv,/fc2/Gemm "$digits"
judge kept.json 'sorted(n["name"] for n in x["nodes"] if not n["int8"]) ==
    ["/MaxPool", "/conv1/Conv", "/fc2/Gemm"]' "two stay floats, and what stands between floats"
quantized better --calibrate pictures --keep-float snr=70 "$digits"
judge better.json 'x["snr_db"] is None or x["snr_db"] >= 70' "the ratio that was asked for"
judge better.json 'any(not n["int8"] for n in x["nodes"])' "and floats for that"

check "a decoder" "$build/tests/support/small_model" decoder decoder.onnx
quantized decoder8 --random decoder.onnx
judge decoder8.json 'len(x["nodes"]) == 5 and all(n["int8"] for n in x["nodes"]) and x["snr_db"] > 25' \
    "ConvTranspose and Resize are bytes, and near"
status 0 "inspect" adaps inspect decoder8.onnx
says out "ConvTranspose.* uint8 " "ConvTranspose computes with bytes"
says out "Resize.* uint8 " "Resize computes with bytes"

status 0 "the table" adaps quantize --calibrate pictures -o again.onnx "$digits"
has out "/conv1/Conv" "a line for each node"
says out "^[0-9]* of [0-9]* nodes compute with bytes; the answer's signal to noise: [0-9.]* dB\$" "the last line"
check "the same file again" cmp again.onnx by-minmax.onnx
status 0 "inspect" adaps inspect by-minmax.onnx
says out "Conv.* uint8 " "it shows bytes"
status 0 "of pictures" adaps quantize --calibrate "$src/models/samples" -o denoise8.onnx "$denoise"
status 0 "a ratio that only floats have" adaps quantize --random --keep-float snr=400 -o floats.onnx "$denoise"
has out "0 of 9 nodes compute with bytes" "no bytes then"

# What is wrong.
refused() {
    wanted=$1
    has=$2
    shift 2
    status "$wanted" "refused: $*" adaps quantize "$@"
    has err "$has" "  and why"
}
refused 2 "no file to write" --random "$digits"
refused 2 "--calibrate DIR or --random" -o x.onnx "$digits"
refused 2 "--calibrate DIR or --random" -o x.onnx --random --calibrate pictures "$digits"
refused 2 "minmax, percentile, entropy or mse" -o x.onnx --random --method best "$digits"
refused 2 "a number of decibels" -o x.onnx --random --keep-float snr=much "$digits"
refused 3 "no pictures, .npy or .pb files" -o x.onnx --calibrate empty "$digits"
refused 3 "nowhere" -o x.onnx --calibrate nowhere "$digits"
refused 3 "no-such-node" -o x.onnx --random --keep-float no-such-node "$digits"
refused 3 "by-minmax.onnx" -o x.onnx --random by-minmax.onnx
check "nothing is written" test ! -e x.onnx

# On agents.
cat >agents.sh <<'END'
set -u
adaps plan -d "$ADAPS_DEVICES" -o floats.plan "$1" && adaps plan -d "$ADAPS_DEVICES" -o bytes.plan by-minmax.onnx
adaps verify --json --runs 5 bytes.plan >same.json
echo "same $?"
adaps verify --json --against floats.plan bytes.plan pictures >near.json
echo "near $?"
adaps verify --against "$1" --snr-floor 10 bytes.plan pictures >near.txt
echo "reached $?"
adaps verify --against floats.plan --snr-floor 99 bytes.plan pictures >missed.txt
echo "missed $?"
adaps verify --against "$2" bytes.plan
echo "other $?"
adaps verify --snr-floor 10 bytes.plan
echo "alone $?"
adaps verify bytes.plan empty
echo "empty $?"
adaps verify --against floats.plan floats.plan pictures >itself.txt
echo "itself $?"
END
status 0 "agents" adaps local 3 --speed 1,0.6,0.4 -- sh agents.sh "$digits" "$denoise"
has out "same 0" "the same bits on agents"
judge same.json 'x["differ"] == 0 and x["elements"] == 50 and x["against"] is None' "  no element differs"
has out "near 0" "near the floats"
judge near.json 'x["elements"] == 20 and x["against"]["ranked"] == x["against"]["agreed"] == 2 and
    x["against"]["snr_db"] > 10 and x["differ"] > 0' "  a row for each picture"
has out "reached 0" "--snr-floor reached"
has near.txt "the same first class in 2 of 2 answers" "  the first classes"
has out "missed 1" "--snr-floor missed"
has out "other 3" "another network's sizes"
has err "its inputs and outputs have other sizes" "  and why"
has out "alone 2" "--snr-floor without --against"
has out "empty 3" "an empty folder"
has out "itself 0" "a network against itself"
has itself.txt "signal to noise: inf dB" "  without noise"
finish
