#!/bin/sh
# bench/effort: against a table of one cell that is what the default search finds.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy

# shellcheck disable=SC2317
effort() {
    ADAPS=$adaps ZOO=$build/models/zoo "$python" "$src/bench/effort" "$@"
}

status 2 "no seeds" effort --seeds 0
status 3 "no such table" effort --reference none
printf 'a\tb\n1\t2\n' >other
status 3 "a table of something else" effort --reference other
says err "columns network" "the columns are named"
printf 'network\tdevices\tmbit\tms\tlower_bound_ms\n' >cell
printf 'lenet5\t2\t100\t1000\t0\n' >>cell
status 0 "a cell" effort --reference cell --seeds 1
says out "^lenet5  *2 devices  *100 mbit: -[0-9.]* %" "a plan that is ahead"
says out "^mean -" "the mean"
ms=$(sed -n 's/.*: -\([0-9.]*\) %, worst.*/\1/p' out)
check "it is far ahead of a second" test "${ms%.*}" -ge 90
finish
