#!/bin/sh
# bench/head-to-head: its tables, a competitor that answers otherwise, and one that cannot run.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

head_to_head=$build/bench/head-to-head
ENGINES="network threads engine ms cpu_ms ratio ratio_lo ratio_hi cpu_ratio rounds difference"
LAYERS="network threads layer shape ms percent gflops gbytes_s peak_percent"

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
check "times of layers" test "$(rows "$table" 'NF == 9 && f("ms") > 0')" = "$(rows "$table")"
check "rates of convolutions" test "$(rows "$table" 'f("shape") ~ /^conv/ && f("gflops") > 0')" \
    = "$(rows "$table" 'f("shape") ~ /^conv/')"
check "layers that add up" awk "BEGIN { sum = $(field "$table" percent | tr '\n' '+')0; exit !(sum > 99 && sum < 101) }"

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
finish
