#!/bin/sh
# bench/search: the table of simulated latencies.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

search=$build/bench/search
status 2 "no model" "$search" "$src/devices/pi5-pi4.conf"
status 0 "a table" "$search" -e 50 --tsv t.tsv "$src/devices/pi5-pi4.conf" "$src/models/digits.onnx"
check "fifteen strategies on nine clusters" test "$(rows t.tsv)" = 135
check "marked as simulated, with latencies" test "$(rows t.tsv \
    'NF == 11 && f("times") == "simulated" && f("network") == "digits" && f("latency_ms") > 0')" = 135
check "EdgeFlow is the reference" test "$(rows t.tsv 'f("strategy") == "edgeflow" && f("ratio") == 1')" = 9
finish
