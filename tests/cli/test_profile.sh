#!/bin/sh
# adaps profile: two agents of unequal speed are measured in little time; the file that is written plans
# and runs, and knows the slower one.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

# value KEY: of the second device in found.conf, as a plain number.
value() {
    sed -n '/^\[local1\]/,/^\[shapes/s/^'"$1"' *= *\([0-9.e+-]*\).*/\1/p' found.conf
}

status 2 "an unexpected argument" adaps profile -d x.conf more
status 2 "no devices file" adaps profile
status 2 "no time to measure" adaps profile -d x.conf --budget 0.1s
status 2 "too long a time" adaps profile -d x.conf --budget 11000s
for other in --budget=3s --model=x.onnx --no-links --links-only; do
    status 2 "--quick with $other" adaps profile -d x.conf --quick "$other"
    says err "quick goes without" "is refused"
done
status 3 "a devices file that is not there" adaps profile -d x.conf
printf '[a]\naddress = tcp://127.0.0.1:9\n' >nobody.conf
status 4 "an agent that is not there" adaps profile -d nobody.conf --deadline 1s -o nothing.conf
says err "agent 'a'" "which is named"
check "nothing is written then" test ! -e nothing.conf

start_agents 2 --speed 1,0.3 --threads 1
status 3 "a model that is not there" adaps profile -d local.conf --model none.onnx
status 0 "two agents" adaps profile -d local.conf -o found.conf --budget 3s \
    --model "$src/models/denoise.onnx"
says out "local1" "a table"
status 0 "hardly any time" adaps profile -d local.conf -o few.conf --no-links --budget 0.2s \
    --model "$src/models/denoise.onnx"
says err "warning: local1: denoise.onnx was run 1 time " "which is told"
check "date and conditions" grep -q '^; measured .* UTC in .*load' found.conf
check "the emulated speed" grep -q '^; the agent emulates 0.3' found.conf
check "the operators of the network" grep -q '^; denoise.onnx: ' found.conf
check "links, both ways" grep -q '^latency_back' found.conf
check "inputs and outputs" sh -c "grep -q '^feed .*; measured' found.conf && grep -q '^fetch .*; measured' found.conf"
check "addresses are kept" test "$(grep -c '^address' found.conf)" = 2
check "the table tells what it is worth" grep -q '^conv .*measured, .* within' found.conf

# Not faster: the share that the agent measured in its own processor time. Other work on this machine makes
# it smaller, never larger. bench/profile.sh measures how exact it is.
check "0.3 of the machine, or less" sh -c \
    "sed -n 's/.*emulates 0.3 .*measured \([0-9.]*\):.*/\1/p' found.conf | grep -q '^0\.\([012]\|3$\|3[0-5]\)'"
check "there is a rate for each class" test -n "$(value conv)" -a -n "$(value copy)"

check "what messages take of the processors" grep -q '^message  *= .*us ; measured' found.conf
status 2 "links only, and no links" adaps profile -d found.conf --links-only --no-links
sed 's/^memory_bandwidth/idle_watts = 2.75\ncore_watts = 1.5\nnetwork_watts = 0.25\n&/' found.conf >watts.conf
mv watts.conf found.conf
cp found.conf paired.conf
sed -i '/^\[local1\]/a ssh = pi@board-b.local' paired.conf
status 0 "quickly" adaps profile -d paired.conf --quick -o quick.conf --json
says out '"measured": *true' "links are measured, too"
check "so are operators" grep -q '^conv .*measured, .* within' quick.conf
check "how ssh reaches a device is kept" test "$(grep -c '^ssh *= pi@board-b.local$' quick.conf)" = 1
status 0 "the links once more" adaps profile -d found.conf --links-only --budget 1s -o again.conf
check "operators as they were" sh -c \
    'for f in found again; do sed -n "s/^\(conv 3x3.*\) =.*/\1/p" $f.conf >$f; done; test -s found && cmp found again'
check "which the file says" grep -q '^conv .* ; as told' again.conf
for watts in "idle_watts .* 2.75" "core_watts .* 1.5" "network_watts .* 0.25"; do
    check "as were watts: $watts" test "$(grep -c "^$watts ; as told" again.conf)" = 2
done
check "and links measured" grep -q '^latency .*; measured' again.conf
status 0 "a plan with what was found" adaps plan -d found.conf -o found.plan "$src/models/denoise.onnx"
status 0 "shown" adaps show found.plan
says out "of that at the ends  .* to put inputs in, .* to take outputs out" "what the source does besides"
status 0 "simulated" adaps simulate found.plan
status 0 "every strategy" adaps plan -d found.conf --strategy all "$src/models/denoise.onnx"
status 0 "verified" adaps verify found.plan
says out "0 of" "the bits are the same"
sed 's/^threads.*/threads = 3/' found.conf >three.conf
status 0 "once more, as JSON, links as they were told" adaps profile -d three.conf --budget 1s \
    --no-links --at-once --json
check "of both devices" test "$(grep -o '"emulated_speed"' out | wc -l)" = 2
says out '"classes"' "with the classes"
says out '"measured": *false' "the links were not measured"
says out '"threads": *1,' "the threads that the agents have"

# Not slower: relative to the other agent, which was measured in the same run. Half of what was asked for is
# enough, and less where a program of full speed does not get a whole processor either. Other work may hit
# one agent more than the other, so the best of three runs counts.
relative() {
    tr ',{' '\n\n' <out | sed -n 's/^ *"relative": *//p' | tail -n 1
}
# The share of a processor that a loop of full speed gets now (bench/testbed_measure.c).
free_share() {
    "$build/bench/testbed-helper" work 1 1 | cut -d ' ' -f 1
}
share=$(free_share)
for run in 1 2 3; do
    [ "$run" = 1 ] || status 0 "run $run" adaps profile -d three.conf --budget 1s --no-links --at-once --json
    found=$(relative) after=$(free_share)
    said="$found of the other agent, while a loop got $share to $after of a processor"
    slow=$(awk "BEGIN { print $found < 0.15 * ($share < $after ? $share : $after) }")
    [ "$slow" = 1 ] || break
    share=$after
done
check "at least half of 0.3: $said" test "$slow" = 0
stop_agents
finish
