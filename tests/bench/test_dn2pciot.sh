#!/bin/sh
# bench/papers/dn2pciot: its graphs, one system's lines with few starts, and what it says in words.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

papers=$build/bench/papers/dn2pciot
status 2 "no such system" "$papers" 3
status 2 "no starts" "$papers" --starts 0 2
status 2 "an unknown option" "$papers" --fast
mkdir bin # without gpmetis
PATH_BEFORE=$PATH
PATH=$work/bin:/bin/none
status 0 "two devices" "$papers" --starts 2 2
PATH=$PATH_BEFORE
cp out tables
says out "^LeNet 1:1: 2343 vertices, [0-9]* edges, 546.625 KiB, 353820 FLOP" "the graph of one neuron a vertex"
says out "^LeNet 2:1: 604 vertices, [0-9]* edges, 546.625 KiB, 353820 FLOP" "the graph of several"
for table in 5 6 7; do
    says out "^Table $table: " "table $table"
done
check "the paper's lines beside ours" test "$(grep -cE '[0-9x]  paper$' out)" = 4
check "ours" test "$(grep -cE '[0-9x]  here' out)" = 4
says out "^gpmetis is not there" "METIS is said to be missing"
says out "^holds  *2 devices: our best rate, [0-9.]*, is at least Table 7's, 864.22" "the rate of Table 7"
says out "^holds  *5.1: the moves lead to the best rate of every line" "the moves are best"
says out "^holds  *5.1: whole layers are possible" "whole layers"
check "every claim holds or does not" test "$(grep -cE '^(holds|does not hold)  +' out)" = 7
check "no rate is above what the devices can compute" awk '/STM32F469xx/ { if ($5 > 2 * $3) exit 1 }' tables
if command -v gpmetis >/dev/null && ! is_sanitized; then
    status 0 "with METIS" "$papers" --starts 1 4
    says out "^holds  *5.1: METIS is valid on 2, 4 and 11 devices" "it is valid on 4 devices"
fi
finish
