#!/bin/sh
# bench/q8: a table of layers and their ratios.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

status 0 "a table" "$build/bench/q8" mobilenetv2
says out '^bytes by [A-Z]' "by which instructions"
check "ratios of each layer and of all" awk '$1 == "mobilenetv2" { all = $2 == "all"; good += $(10 + (all ? -3 : 0)) > 0 &&
    $(11 + (all ? -3 : 0)) > 0; lines++ } END { exit !(lines == 31 && good == lines) }' out
check "how many bytes XNNPACK has otherwise" awk '$1 == "mobilenetv2" && $2 != "all" { n += $NF ~ /^[0-9]+$/ } END { exit n != 30 }' out
status 2 "an unknown network" "$build/bench/q8" lenet
says err "no network 'lenet'" "it is named"
finish
