#!/bin/sh
# models/zoo: the list, parameter counts, equal bytes for equal seeds, errors.
# $ZOO: the program (./models/zoo).
set -u

zoo=${ZOO:-./models/zoo}
work=$(mktemp -d "${TMPDIR:-.}/test_zoo.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failures=0

fail() {
    echo "test_zoo: $*" >&2
    failures=$((failures + 1))
}

# status EXPECTED ARGUMENTS...: runs zoo; its output is in out and err.
status() {
    expected=$1
    shift
    "$zoo" "$@" >"$work/out" 2>"$work/err"
    code=$?
    [ "$code" -eq "$expected" ] || fail "zoo $*: exit $code, expected $expected"
}

names="lenet5 alexnet vgg16 vgg19 resnet50 mobilenetv2 inceptionv3 resnet101 densenet121 squeezenet
    yolov2 hardcorenas"
status 0 --list
for name in $names; do
    grep -qx "$name" "$work/out" || fail "--list lacks $name"
done

# Parameters and multiply-accumulates of the published networks.
status 0 --info
while read -r name params macs; do
    awk -v n="$name" -v p="$params" -v m="$macs" '
        $1 == n { found = $2 == p && $3 == m } END { exit !found }' "$work/out" ||
        fail "--info: $name does not have $params parameters and $macs MACs"
done <<END
lenet5 61706 416520
alexnet 61100840 714188480
vgg16 138357544 15470264320
vgg19 143667240 19632062464
resnet50 25557032 4089184256
mobilenetv2 3504872 300774272
inceptionv3 23834568 5713216096
resnet101 44549160 7801405440
densenet121 7978856 2834161664
squeezenet 1235496 349151936
yolov2 50655389 14680167424
hardcorenas 5513544 292756576
END

# Same seed, same bytes; another seed, others; the seed's default is 1.
status 0 lenet5 -o "$work/a" --seed 7
status 0 lenet5 -o "$work/b" --seed 7
status 0 lenet5 -o "$work/c" --seed 8
status 0 lenet5 -o "$work/d"
status 0 lenet5 --output="$work/e" -s 1
status 0 lenet5 -o -
cmp -s "$work/a" "$work/b" || fail "the same seed gave other bytes"
cmp -s "$work/a" "$work/c" && fail "another seed gave the same bytes"
cmp -s "$work/d" "$work/e" || fail "the default seed is not 1"
cmp -s "$work/d" "$work/out" || fail "standard output differs from the file"
# Pinned: the file must be the same on every machine and after every change of the program.
sum=$(cksum <"$work/d")
[ "$sum" = "3688893472 248123" ] || fail "lenet5 of seed 1 changed: cksum $sum"

# Every parameter is there: 4 bytes each, and little else.
size=$(wc -c <"$work/d")
if [ "$size" -lt $((4 * 61706)) ] || [ "$size" -gt $((4 * 61706 + 4000)) ]; then
    fail "lenet5 has $size bytes"
fi

# Folded batch normalisation: fewer nodes, another file.
status 0 mobilenetv2 -o "$work/bn"
status 0 mobilenetv2 -o "$work/nobn" --no-bn
grep -q BatchNormalization "$work/bn" || fail "mobilenetv2 has no BatchNormalization"
grep -q BatchNormalization "$work/nobn" && fail "--no-bn left a BatchNormalization"

status 2 nosuchnet -o "$work/none"
grep -q nosuchnet "$work/err" || fail "the unknown name is not in the message"
for name in $names; do
    grep -qx "$name" "$work/err" || fail "the message on an unknown name lacks $name"
done
[ ! -e "$work/none" ] || fail "an unknown name left a file"
status 2
status 2 lenet5 alexnet
status 2 --nosuchoption
for seed in -1 1x '' 18446744073709551616; do
    status 2 lenet5 -o "$work/none" --seed "$seed"
done
status 0 lenet5 -o "$work/max" --seed 18446744073709551615
status 1 lenet5 -o "$work/no/such/folder"
if [ -c /dev/full ]; then
    "$zoo" lenet5 -o - >/dev/full 2>"$work/err" && fail "a full disk went unnoticed"
    grep -q 'standard output' "$work/err" || fail "a full disk is not reported"
fi

[ "$failures" -eq 0 ]
