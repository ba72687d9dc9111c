#!/bin/sh
# bench/chart: its picture of a table, and what is refused.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy matplotlib

# shellcheck disable=SC2317
chart() {
    "$python" "$src/bench/chart" "$@"
}

status 2 "no table" chart
: >empty
status 3 "an empty table" chart empty
printf 'a\tb\n1\n' >short
status 3 "a line that is too short" chart short
says err "short:2" "which is named"
printf 'a\tb\n1\t2\n' >other
status 3 "a table of something else" chart other
status 3 "no such table" chart none

status 0 "a table" "$build/bench/search" -e 50 --tsv t.tsv "$src/devices/pi5-pi4.conf" "$src/models/digits.onnx"
status 0 "its picture" chart t.tsv
says out "^<svg .*" "which is one"
says out "simulated" "and says what it is of"
says out "one device is best" "and where one device is best"
says out "latency relative to EdgeFlow" "and what its scale is"
says out "^</svg>" "to its end"
cp out first
status 0 "its picture again" chart t.tsv
check "is the same" cmp first out
# What names say is shown, not obeyed.
sed 's/digits/$<b>\&/' t.tsv >named
status 0 "a strange name" chart named
says out '\$&lt;b&gt;&amp;' "is escaped"

# Both tables that are kept can be drawn.
for table in compare simulated; do
    status 0 "$table.tsv" chart "$src/bench/results/$table.tsv"
done
finish
