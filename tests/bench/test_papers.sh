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
check "a line for each network and rate in each table" test "$(grep -c '^AlexNet  *10 ' out)" = 6
for reading in "type 3 split" "type 3 gathered" "split, window of 5.6"; do
    says out "^Claims about latency by the paper's additive model, $reading:" "by the paper's model, $reading"
    says out "^Claims about latency by our clocks, $reading:" "by the clocks, $reading"
    says out "^Claims about bytes, $reading:" "about bytes, $reading"
done
check "every claim holds or does not" test "$(grep -cE '^(holds|does not hold)  +[56][.:]' out)" = 87
check "the reading that is nearest to each column" test "$(grep -c '^Table [45].s column .* is nearest to ours' out)" = 4
check "twice the same network has twice the same figures" test \
    "$(sed -n 's/^AlexNet  *10 [^|]*//p' out | head -1)" = "$(sed -n 's/^HardcoreNAS  *10 [^|]*//p' out | head -1)"
status 0 "table 6" "$build/bench/table6"
says out "^4 of 4 published counts" "the formula gives the published counts for two devices"
says out "no more nodes than published" "and ours visits no more"
finish
