#!/bin/sh
# bench/papers/adaps and bench/table6: their tables, and what they say in words.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

papers=$build/bench/papers/adaps
status 0 "a small network" "$build/models/zoo" lenet5 -o lenet5.onnx
net=lenet5.onnx
status 2 "models are missing" "$papers" "$src/devices/pi5-pi4.conf" $net
status 3 "no such model" "$papers" "$src/devices/pi5-pi4.conf" $net $net $net $net none.onnx
status 0 "five networks" "$papers" "$src/devices/pi5-pi4.conf" $net $net $net $net $net
for title in "Table 4, 2 devices" "Table 5, 4 devices" "Figure 7, 2 devices" "Figure 8, 4 devices" "Table 6"; do
    says out "^$title" "$title"
done
check "a line for each network and rate in each table" test "$(grep -c '^AlexNet  *10 ' out)" = 4
check "claims under both models" test "$(grep -c '^Claims, under' out)" = 2
check "every claim holds or does not" test "$(grep -cE '^(holds|does not hold)  +5\.' out)" = 12
status 0 "table 6" "$build/bench/table6"
says out "^4 of 4 published counts" "the formula gives the published counts for two devices"
says out "no more nodes than published" "and ours visits no more"
finish
