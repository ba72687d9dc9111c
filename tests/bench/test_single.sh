#!/bin/sh
# bench/single: its tables, in which newer lines take the place of older ones.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy

HEAD_TO_HEAD=$build/bench/head-to-head ZOO=$build/models/zoo
export HEAD_TO_HEAD ZOO

# shellcheck disable=SC2317
single() {
    "$python" "$src/bench/single" "$@"
}

status 2 "an unknown option" single --nobody 1
status 2 "rounds that are none" single --rounds x
status 2 "an unknown engine" single --only tvm
status 2 "a folder without packages" single --ort .
status 2 "a dimension without a size" single --dim N
status 2 "a seed that is none" single --seed -1
status 3 "no such model" single -o results none.onnx

status 0 "two networks, adaps only" single -o results --only none --rounds 3 "$src/models/digits.onnx" lenet5
status 0 "one of them again" single -o results --only none --rounds 2 lenet5
check "a line for each" test "$(field results/single.tsv network | tr '\n' ' ')" = "digits lenet5 "
check "the newer one" test "$(field results/single.tsv rounds network=digits)$(field results/single.tsv rounds network=lenet5)" = 32
check "with times" test "$(rows results/single.tsv 'NF == 11 && f("engine") == "adaps" && f("ms") > 0 &&
    f("cpu_ms") > 0 && f("ratio") == 1')" = 2
check "layers of both" test "$(rows results/layers.tsv 'NF == 10 && f("ms") > 0 &&
    f("kernels") ~ /^(XNNPACK|adaps|copy)/')" -ge 8
for network in digits lenet5; do
    check "$network: layers that add up" awk "BEGIN {
        sum = $(field results/layers.tsv percent "network=$network" | tr '\n' '+')0; exit !(sum > 99 && sum < 101) }"
done

# A table of before layers had kernels is read, and keeps its lines.
mkdir -p older
cut -f 1-9 results/layers.tsv >older/layers.tsv
cp results/single.tsv older
status 0 "an older table" single -o older --only none --rounds 2 lenet5
check "its lines have no kernels" test "$(rows older/layers.tsv 'NF == 10 && f("network") == "digits" &&
    f("kernels") == "" && f("ms") > 0')" = "$(rows results/layers.tsv 'f("network") == "digits"')"
check "new ones have" test "$(rows older/layers.tsv 'f("network") == "lenet5" && f("kernels") != ""')" \
    = "$(rows results/layers.tsv 'f("network") == "lenet5"')"
cut -f 1-8 results/layers.tsv >older/layers.tsv
status 3 "a table of other columns" single -o older --only none --rounds 1 lenet5

# Several inputs and outputs; networks of other sizes are others.
"$build/tests/support/small_model" several several.onnx || not_ok "tests/support/small_model"
status 0 "several inputs" single -o several --only none --rounds 1 several.onnx
status 0 "two images" single -o several --only none --rounds 1 --dim N=2 --seed 3 several.onnx
check "a line for each" test "$(field several/single.tsv network | tr '\n' ',')" = "several,several N=2,"
check "layers of two images" test "$(rows several/layers.tsv 'f("network") == "several N=2" &&
    f("shape") ~ / n2 4x4x3 -> 4x4x3$/')" = 1
status 2 "a dimension that the network has not" single -o several --only none --dim M=2 several.onnx
says err "no input has a symbolic dimension 'M'" "says why"

# Means over the networks that were measured now. bench/head-to-head is one that knows its ratios here.
cat >known <<'END'
#!/bin/sh
while [ $# -gt 1 ]; do
    case $1 in -n) network=$2 ;; -t) threads=$2 ;; -s) engines=$2 ;; -l) layers=$2 ;; esac
    shift
done
ratio=0.5
[ "$network" = digits ] || ratio=2
printf "%s\t$threads\t%s\n" "$network" "adaps	1	1	1	1	1	1	3	0" "$network" "ort	1	1	$ratio	1	1	0.9	3	0" >"$engines"
printf '%s\t%s\tall\tconv\t1\t100\t1\t1\t1\tadaps conv\n' "$network" "$threads" >"$layers"
END
chmod +x known
HEAD_TO_HEAD=./known
status 0 "two networks, one engine" single -o results "$src/models/digits.onnx" lenet5
says out "^adaps / ort: 1.000 by time, 0.900 by processor time, worst 2.000 (geometric mean of 2)$" "the means"
status 0 "one network" single -o results "$src/models/digits.onnx"
says out "^adaps / ort: 0.500 by time, .* (geometric mean of 1)$" "the mean of one"
status 0 "other threads" single -o results --threads 2 "$src/models/digits.onnx"
check "lines of other threads stay" test "$(rows results/single.tsv)" = 6
finish
