#!/bin/sh
# A network with inputs and outputs of other types than float32, and with outputs whose length only the run knows: what
# inspect says, files that go in and come out, agents, and what is refused.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

net=$src/fuzz/corpus/onnx/detector.onnx

# npy TYPE SHAPE ESCAPES: a file for numpy.
npy() {
    head=$(printf "{'descr': '%s', 'fortran_order': False, 'shape': %s, }" "$1" "$2")
    printf '\223NUMPY\1\0v\0%-117s\n' "$head"
    # shellcheck disable=SC2059
    printf "$3"
}

# long N: a little-endian integer of 64 bits.
long() {
    printf '\\%03o\\0\\0\\0\\0\\0\\0\\0' "$1"
}

status 0 "what it takes and gives" adaps inspect "$net"
says out 'input *i *1x4 int64' "an input of integers"
says out 'output *y *8x1x4 at most' "an output of unknown length"
says out 'output *more *1x4 bool' "an output of booleans"
status 0 "the same as JSON" adaps inspect --json "$net"
tr -d ' \n' <out >inspect.json
has inspect.json '"name":"i","dims":[1,4],"type":"int64","open":false' "the input"
has inspect.json '"name":"y","dims":[8,1,4],"type":"float32","open":true' "the output"

npy '<i8' '(1, 4)' "$(long 3)$(long 0)$(long 200)$(long 7)" >i.npy
npy '|u1' '(1, 4)' '\003\000\310\007' >bytes.npy
npy '<f4' '(1, 4)' '\0\0\300\077\0\0\0\0\0\0\0\0\0\0\0\0' >halves.npy # 1.5 0 0 0
npy '<f4' '(1, 3, 6, 6)' "$(awk 'BEGIN { for (i = 0; i < 108; i++) printf "\\0\\0\\%03o\\%03o", i * 37 % 128 + 0, 63 }')" >x.npy
status 0 "a plan" adaps plan -d "$src/devices/local2.conf" --strategy single -o single.plan "$net"
status 0 "a run" adaps run --local --json single.plan x.npy i.npy -o answer.npy
cp out run.json
says run.json '"name": *"number", *"type": *"int32", *"shape": *\[1, *2, *4\]' "integers come out as such"
for part in "" -1 -2 -3 -4 -5; do
    check "output $part" test -s "answer$part.npy"
done
says answer-1.npy "'<i4'" "int32"
says answer-2.npy "'<i8'" "int64"
says answer-4.npy "'|b1'" "bool"
says answer-5.npy "'|u1'" "uint8"
# less = i where 2 i > i, else 2 i: i, whatever it is
check "integers are what they were" cmp answer-3.npy i.npy
status 0 "bytes for an input of int64" adaps run --local single.plan x.npy bytes.npy -o again.npy
check "the same numbers" cmp again-3.npy i.npy
status 3 "no integer" adaps run --local single.plan x.npy halves.npy
has err 'halves.npy: element 0, 1.5, is no int64' "which, and why"
status 3 "floats for all" adaps run --local single.plan x.npy x.npy
has err "x.npy: element 0, 0.5, is no int64" "the first that is none"

cat >verify <<'END'
for strategy in auto edgeflow pipeline; do
    adaps plan -d "$ADAPS_DEVICES" --strategy $strategy --bw 1gbit -o agents.plan detector.onnx 2>/dev/null
    adaps push agents.plan 2>/dev/null
    adaps verify --json agents.plan x.npy i.npy
    adaps run agents.plan x.npy i.npy -o $strategy.npy >/dev/null 2>&1
    for part in "" -1 -2 -3 -4 -5; do
        cmp "$strategy$part.npy" "answer$part.npy"
    done
done
END
cp "$net" detector.onnx
status 0 "three agents" adaps local 3 --speed 1,0.6,0.4 --threads 1 -- sh -e verify
check "no element differs, three times" test "$(grep -c '"differ": *0[,}]' out)" = 3
finish
