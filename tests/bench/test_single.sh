#!/bin/sh
# bench/single: its tables, an engine that answers alike, one that answers otherwise, and one that cannot.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

build=$(dirname "$adaps")
head_to_head=$build/bench/head-to-head
HEAD_TO_HEAD=$head_to_head ZOO=$build/models/zoo
export HEAD_TO_HEAD ZOO

# shellcheck disable=SC2317
single() {
    sh "$src/bench/single" "$@"
}

status 2 "an unknown option" single --nobody 1
status 2 "rounds that are none" single --rounds x
status 2 "a folder without packages" single --ort .
status 3 "no such model" single none.onnx
status 2 "no model" "$head_to_head"

status 0 "two networks, alone" single -o results --only none --rounds 3 "$src/models/digits.onnx" lenet5
status 0 "one of them again" single -o results --only none --rounds 2 lenet5
# shellcheck disable=SC2016
check "a line for each, the newer one" awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    NF != 11 || $at["engine"] != "adaps" || !($at["ms"] > 0) || !($at["cpu_ms"] > 0) || $at["ratio"] != 1 { bad = 1 }
    { rounds[$1] = $at["rounds"] }
    END { exit bad || NR != 3 || rounds["digits"] != 3 || rounds["lenet5"] != 2 }' results/single.tsv
# shellcheck disable=SC2016
check "layers that add up" awk -F '\t' '
    NR > 1 { sum[$1] += $6; if (NF != 9 || !($5 > 0)) bad = 1; if ($4 ~ /^conv/ && !($7 > 0)) bad = 1 }
    END { for (n in sum) if (sum[n] < 99 || sum[n] > 101) bad = 1; exit bad || NR < 8 }' results/layers.tsv

# Engines that compute nothing: a first answer, then a millisecond for each inference.
cat >competitor <<'END'
cp "$1" "$COMPETITOR_OUTPUT"
[ "$COMPETITOR_SHAPE" = 1x1x28x28 ] && [ "$(wc -c <"$COMPETITOR_INPUT")" = 3136 ] && [ "$COMPETITOR_THREADS" = 1 ] || exit 1
echo ready
while read -r _; do echo 1000000 500000; done
END
dd if=/dev/zero of=zeros bs=40 count=1 2>/dev/null
dd if=/dev/zero of=few bs=36 count=1 2>/dev/null
"$ZOO" lenet5 -o lenet5.onnx 2>/dev/null || not_ok "models/zoo"
status 1 "an answer of zeros" "$head_to_head" -r 4 -s engines lenet5.onnx "zeros=sh competitor zeros"
says out "^ *zeros *1.000 *0.500 " "with its times"
# shellcheck disable=SC2016
check "and the ratio to them" awk -F '\t' '
    $3 == "adaps" { ours = $4 } $3 == "zeros" { found = NF == 11 && $6 >= $7 && $6 <= $8 && $6 > 0 }
    END { exit !(found && ours > 0) }' engines
status 1 "two of them, each ended by the end of its input" timeout 60 "$head_to_head" -r 2 -s engines lenet5.onnx \
    "zeros=sh competitor zeros" "nothing=sh competitor zeros"
check "a line for each" awk -F '\t' '$3 == "zeros" || $3 == "nothing" { n++ } END { exit n != 2 }' engines
status 0 "an answer that is too short" "$head_to_head" -r 2 lenet5.onnx "few=sh competitor few"
says err "without few: the answer has not 10 elements" "is left out"
status 0 "one that cannot" "$head_to_head" -r 2 lenet5.onnx "none=echo no such engine; exit 1"
says err "without none: no such engine" "and says why"
# shellcheck disable=SC2016
status 4 "one that ends" "$head_to_head" -r 2 lenet5.onnx 'ends=dd if=/dev/zero of=$COMPETITOR_OUTPUT bs=40 count=1 2>/dev/null; echo ready'
says err "ends has ended" "is named"

finish
