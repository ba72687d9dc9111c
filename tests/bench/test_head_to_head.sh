#!/bin/sh
# bench/head-to-head: its tables, networks of several inputs and outputs, competitors that answer otherwise and one
# that cannot run, and the layers that one thread computes.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

head_to_head=$build/bench/head-to-head
ENGINES="network threads engine ms cpu_ms ratio ratio_lo ratio_hi cpu_ratio rounds difference"
LAYERS="network threads layer shape ms percent gflops gbytes_s peak_percent kernels"

# titled NAMES FILE: the table, with the titles that bench/single gives it.
titled() {
    { echo "$1" | tr ' ' '\t' && cat "$2"; } >titled
    echo titled
}

status 2 "no model" "$head_to_head"
"$build/models/zoo" lenet5 -o lenet5.onnx 2>/dev/null || not_ok "models/zoo"
status 0 "adaps only" "$head_to_head" -r 3 -s engines -l layers lenet5.onnx
check "its times" test "$(rows "$(titled "$ENGINES" engines)" 'NF == 11 && f("network") == "lenet5" &&
    f("engine") == "adaps" && f("ms") > 0 && f("cpu_ms") > 0 && f("ratio") == 1 && f("rounds") == 3')" = 1
table=$(titled "$LAYERS" layers)
check "times of layers" test "$(rows "$table" 'NF == 10 && f("ms") > 0')" = "$(rows "$table")"
check "rates of convolutions" test "$(rows "$table" 'f("shape") ~ /^conv/ && f("gflops") > 0')" \
    = "$(rows "$table" 'f("shape") ~ /^conv/')"
check "layers that add up" awk "BEGIN { sum = $(field "$table" percent | tr '\n' '+')0; exit !(sum > 99 && sum < 101) }"

# Which kernels compute a layer, as adaps tells of this processor; a summary by kind of layer and kernels.
kernels=$(adaps agent --cpu-info | sed -n 's/^convolution   *\([A-Za-z]*\) .*/\1/p')
check "their kernels" test "$(rows "$table" "f(\"shape\") ~ /^conv/ && f(\"kernels\") ~ /^$kernels/")" = 2
check "those of dense layers" test "$(rows "$table" 'f("shape") ~ /^fc/ && f("kernels") == "XNNPACK"')" = 3
check "those of pooling" test "$(rows "$table" 'f("shape") ~ /pool/ && f("kernels") == "adaps wide"')" = 2
check "convolutions in the summary" test "$(cell out "conv 5x5" layers)" = 2
check "dense layers" test "$(cell out fc kernels),$(cell out fc layers)" = XNNPACK,3
# shellcheck disable=SC2016
check "the summary adds up" awk '/^kind of layer/ { on = 1; next } on && NF == 0 { exit }
    on { sum += substr($0, 57, 6) } END { exit !(sum > 99 && sum < 101) }' out
status 0 "XNNPACK's convolutions" "$head_to_head" -r 1 -k 0 -l layers lenet5.onnx
table=$(titled "$LAYERS" layers)
check "are told" test "$(rows "$table" 'f("shape") ~ /^conv/ && f("kernels") == "XNNPACK"')" = 2

# Winograd's algorithm, where adaps plan would take it.
status 0 "Winograd" "$head_to_head" -r 1 -l layers "$src/models/denoise.onnx"
table=$(titled "$LAYERS" layers)
check "some layers" test "$(rows "$table" 'f("shape") ~ / w[24] / && f("kernels") == "adaps Winograd"')" -gt 0
status 0 "and without" "$head_to_head" -r 1 --conv direct -l layers "$src/models/denoise.onnx"
check "none" test "$(rows "$(titled "$LAYERS" layers)" 'f("kernels") == "adaps Winograd"')" = 0
status 2 "another way" "$head_to_head" --conv fast lenet5.onnx

# Competitors that compute nothing: a first answer, then a millisecond for each inference.
cat >competitor <<'END'
cp "$1" "$COMPETITOR_OUTPUT"
[ "$COMPETITOR_SHAPE" = 1x1x28x28 ] && [ "$(wc -c <"$COMPETITOR_INPUT")" = 3136 ] &&
    [ "$COMPETITOR_THREADS" = 1 ] || exit 1
echo ready
while read -r _; do echo 1000000 500000; done
END
dd if=/dev/zero of=zeros bs=40 count=1 2>/dev/null
dd if=/dev/zero of=few bs=36 count=1 2>/dev/null
status 1 "an answer of zeros" "$head_to_head" -r 4 -s engines lenet5.onnx "zeros=sh competitor zeros"
says out "^ *zeros *1.000 *0.500 " "with its times"
table=$(titled "$ENGINES" engines)
check "and the ratio to them" test "$(rows "$table" 'NF == 11 && f("engine") == "zeros" &&
    f("ratio") >= f("ratio_lo") && f("ratio") <= f("ratio_hi") && f("ratio") > 0')" = 1
check "ours" test "$(rows "$table" 'f("engine") == "adaps" && f("ms") > 0')" = 1
status 1 "two of them, each ended by the end of its input" timeout 60 "$head_to_head" -r 2 -s engines lenet5.onnx \
    "zeros=sh competitor zeros" "nothing=sh competitor zeros"
check "a line for each" test "$(field "$(titled "$ENGINES" engines)" engine | tr '\n' ' ')" = "adaps zeros nothing "
status 0 "an answer that is too short" "$head_to_head" -r 2 lenet5.onnx "few=sh competitor few"
says err "without few: the answer has not 10 elements" "is left out"
status 0 "one that cannot" "$head_to_head" -r 2 lenet5.onnx "none=echo no such engine; exit 1"
says err "without none: no such engine" "and says why"
# shellcheck disable=SC2016
status 4 "one that ends" "$head_to_head" -r 2 lenet5.onnx \
    'ends=dd if=/dev/zero of=$COMPETITOR_OUTPUT bs=40 count=1 2>/dev/null; echo ready'
says err "ends has ended" "is named"

# Several inputs of several types, which this network's outputs are: a copy of the inputs is the answer.
small_model=$build/tests/support/small_model
"$small_model" several several.onnx || not_ok "tests/support/small_model"
cat >copies <<'END'
[ "$COMPETITOR_SHAPE" = "$1" ] || { echo "inputs of $COMPETITOR_SHAPE"; exit 1; }
cp "$COMPETITOR_INPUT" "$COMPETITOR_OUTPUT"
[ -z "${2-}" ] || printf '\000\000\000\077' | dd of="$COMPETITOR_OUTPUT" bs=4 seek="$2" conv=notrunc 2>/dev/null
echo ready
while read -r _; do echo 1000000 500000; done
END
status 0 "several inputs and outputs" "$head_to_head" -r 2 several.onnx "copies=sh copies 1x3x4x4,1x5,scalar"
says out "^ *copies .* 0.0e+00$" "are compared"
status 0 "of two images" "$head_to_head" -r 2 --dim N=2 several.onnx "copies=sh copies 2x3x4x4,2x5,scalar"
says out "^ *copies .* 0.0e+00$" "are compared, too"
check "all of the numbers" test "$(wc -c <input.raw)" = 428
check "integers are such" test "$(od -An -v -tf4 -w4 -N384 input.raw | awk '$1 == int($1) && $1 >= 0 && $1 < 256' |
    wc -l)" = 96
check "not all alike" test "$(od -An -v -tf4 -w4 input.raw | sort -u | wc -l)" -gt 20
cp input.raw one.raw
status 0 "the same again" "$head_to_head" -r 1 --dim N=2 several.onnx "copies=sh copies 2x3x4x4,2x5,scalar"
check "has the same inputs" cmp -s input.raw one.raw
status 0 "another seed" "$head_to_head" -r 1 --seed 2 --dim N=2 several.onnx "copies=sh copies 2x3x4x4,2x5,scalar"
check "has others" test "$(cmp input.raw one.raw 2>/dev/null | wc -l)" = 1
status 1 "an element of the last output but one" "$head_to_head" -r 1 several.onnx \
    "copies=sh copies 1x3x4x4,1x5,scalar 50"
says err "several: output 'vector_out' of copies is off by " "is named"
status 1 "the last element" "$head_to_head" -r 1 several.onnx "copies=sh copies 1x3x4x4,1x5,scalar 53"
says err "output 'scalar_out' of copies is off" "is named, too"
status 2 "a dimension that the network has not" "$head_to_head" --dim M=2 several.onnx
says err "no input has a symbolic dimension 'M'" "says why"
status 2 "a size that is none" "$head_to_head" --dim N=0 several.onnx
status 2 "two sizes" "$head_to_head" --dim N=1 --dim N=2 several.onnx
status 2 "a seed that is none" "$head_to_head" --seed x several.onnx

# Layers of which one thread does all, by XNNPACK and by adaps; and one that threads share.
"$small_model" alone alone.onnx || not_ok "tests/support/small_model"
status 0 "layers on one thread" "$head_to_head" -r 5 -t 2 alone.onnx
# named KIND: whether a layer of this kind is in the list.
named() {
    awk -v kind="$1" '/^on one thread  / { on = 1; next } on && $2 == kind { found = 1 } END { exit !found }' out
}
check "the softmax is named" named softmax
check "the sum is named" named reduce
status 0 "with one thread" "$head_to_head" -r 1 alone.onnx
check "no list" test "$(grep -c "on one thread" out)" = 0
"$small_model" shared shared.onnx || not_ok "tests/support/small_model"
status 0 "a layer that threads share" "$head_to_head" -r 1 -t 2 shared.onnx
says out "^on one thread: no layer that takes 1 % of the time$" "is not named"
finish
