#!/bin/sh
# bench/papers/defer: its tables, claims, and plans with one encoding on all links.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

papers=$build/bench/papers/defer
devices=$src/devices/pi4x4.conf
status 0 "a small network" "$build/models/zoo" lenet5 -o lenet5.onnx
status 2 "no model" "$papers" "$devices"
status 3 "no such model" "$papers" "$devices" none.onnx
status 2 "no such encoding" "$papers" --plan gzip out.plan "$devices" lenet5.onnx
status 0 "the tables" "$papers" "$devices" lenet5.onnx
check "messages and weights by codec" test "$(grep -cE '^  (data|weights)  +here ' out)" = 14
check "what the paper has" test "$(grep -cE '^  (data|weights|architecture)  +paper ' out)" = 10
check "three sizes at two rates" test "$(grep -cE '^  [468] nodes ' out)" = 6
check "every claim holds or does not" test "$(grep -cE '^(holds|does not hold)  +V: ' out)" = 5
cp out tables
ratio() {
    sed -n "s/^  data  *here  *$1  .*MB  \([0-9.]*\) of float32.*/\1/p" tables
}
check "binary16 is half" test "$(ratio binary16)" = 0.500
check "zfp is 12 of 32 bits, or a little more" sh -c "awk 'BEGIN { exit !($(ratio 'zfp 12 bit') >= .375 && $(ratio 'zfp 12 bit') < .5) }'"
start_agents 2
for encoding in f32 lz4 f16 zfp; do
    status 0 "a plan of $encoding" "$papers" --plan $encoding $encoding.plan local.conf lenet5.onnx
    status 0 "its encoding" adaps show --json $encoding.plan
    says out "\"encoding\": \"$encoding\"" "is that of a link"
    if [ $encoding = f32 ] || [ $encoding = lz4 ]; then
        status 0 "verify it" adaps verify --json $encoding.plan
        says out '"differ":0' "no element differs"
    fi
done
stop_agents || not_ok "adaps local ended with $local_code"
finish
