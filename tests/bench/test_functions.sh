#!/bin/sh
# bench/functions: a table of rates.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

status 0 "a table" "$build/bench/functions"
says out '^G elements/s  *4 lanes' "a column for each width"
check "a rate of each function at each width" awk 'NR == 1 { widths = (NF - 2) / 2; next }
    { for (i = NF - widths + 1; i <= NF; i++) good += $i > 0; lines++ }
    END { exit !(lines == 13 && good == lines * widths) }' out
finish
