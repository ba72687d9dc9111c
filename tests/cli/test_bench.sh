#!/bin/sh
# adaps bench: what is refused, the fields of its answers, and that no answer differs.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

digits=$src/models/digits.onnx
denoise=$src/models/denoise.onnx

status 2 "no model" adaps bench
status 2 "no devices" adaps bench "$digits"
status 2 "an unknown strategy" adaps bench --strategy auto,best "$digits"
says err "there are all, auto" "which says what there is"
status 2 "a strategy twice" adaps bench --strategy auto,auto "$digits"
status 2 "an unknown strategy, late" adaps bench --strategy auto,best+late "$digits"
status 2 "something else than late" adaps bench --strategy auto+later "$digits"
status 2 "no agents to predict" adaps bench --predict --strategy local "$digits"
status 2 "a reference that is not measured" adaps bench --strategy auto,single --reference modnn "$digits"
status 2 "no rounds" adaps bench --rounds 0 "$digits"
status 2 "no time" adaps bench --seconds 0 "$digits"
status 2 "two formats" adaps bench --json --tsv "$digits"
status 2 "predict looks at one" adaps bench --predict --strategy auto,single "$digits"
status 2 "refine looks at one" adaps bench --refine --strategy auto,single "$digits"
status 2 "nothing to predict" adaps bench --refine --predict "$digits"
status 2 "refine of one inference" adaps bench --refine --runs 1 "$digits"
status 2 "agents twice" adaps bench --local-agents 2 -d "$src/devices/local2.conf" "$digits"
status 2 "speeds of nobody" adaps bench --speed 1,0.5 "$digits"
status 2 "too many agents" adaps bench --local-agents 65 "$digits"
status 3 "no such model" adaps bench --local-agents 1 none.onnx

# The addresses of an example are nobody's.
awk '/^address/ { $0 = "address = tcp://127.0.0.1:" 10 + n++ } { print }' "$src/devices/local2.conf" >nobody.conf
status 4 "no agents" adaps bench -d nobody.conf --strategy edgeflow --deadline 1s "$digits"
says err "strategy edgeflow: agent 'local" "strategy and agent are named"

start_agents 2 --speed 1,0.5
status 0 "all strategies" adaps bench -d local.conf --rounds 3 --runs 2 --tsv "$digits"
cp out all.tsv
strategies="auto single edgeflow adaps bbgrap modnn coedge deepslicing deepthings deeperthings aofl dpfp flexpie edgeci halp"
for strategy in $strategies; do
    check "$strategy: six inferences, none differs, an interval around its ratios" test "$(rows all.tsv '
        f("strategy") == "'$strategy'" && NF == 18 && f("inferences") == 6 && f("differ") == 0 &&
        f("latency_ms") > 0 && f("predicted_ms") > 0 && f("ratio_lo") <= f("ratio") &&
        f("ratio") <= f("ratio_hi") && f("single_lo") <= f("single_hi") &&
        f("sent_bytes") == f("planned_bytes") && f("wire_bytes") == "-"')" = 1
done
check "the reference is 1" test "$(rows all.tsv \
    'f("strategy") == "edgeflow" && f("ratio") == 1 && f("ratio_lo") == 1 && f("ratio_hi") == 1')" = 1

status 0 "JSON" adaps bench -d local.conf --strategy single,edgeflow --rounds 2 --runs 1 --json "$digits"
for key in model reference rounds runs seed strategies strategy devices_used latency_ms predicted_ms \
    error_percent ratio single_ratio planned_bytes sent_bytes wire_bytes messages inferences elements \
    differ round_ms; do
    says out "\"$key\":" "it has $key"
done
says out '"differ": 0' "none differs"
status 0 "within adaps local" env ADAPS_DEVICES=local.conf \
    adaps bench --strategy edgeflow,auto --rounds 2 --runs 1 "$denoise"
says out "^edgeflow .* 1.000 .* 0\$" "the table"

status 0 "nothing ahead, and no agents" adaps bench -d local.conf --strategy edgeflow,edgeflow+late,local --rounds 2 \
    --runs 1 --reference local --wall --tsv "$denoise"
check "each with its name" test "$(field out strategy | tr '\n' ' ')" = "edgeflow edgeflow+late local "
check "two inferences of each, none differs" test "$(rows out 'f("inferences") == 2 && f("differ") == 0')" = 3
check "no agents" test "$(rows out 'f("strategy") == "local" && f("sent_bytes") == 0 && f("ratio") == 1')" = 1

# What the links carried: counters that grow by 1000 at each look, a title, two links.
cat >count <<'END'
n=$(cat n 2>/dev/null || echo 0)
echo $((n + 1000)) >n
echo "link up down"
echo "a $n 5"
echo "b $n 7"
END
status 0 "counters" adaps bench -d local.conf --strategy single --rounds 1 --runs 4 --tsv --counters "sh count" "$digits"
check "2000 bytes in 4 inferences and those before them" test "$(rows out \
    '2000 / f("wire_bytes") > 4.5 && (2000 / f("wire_bytes") - int(2000 / f("wire_bytes") + 0.5)) ^ 2 < 1e-6')" = 1
status 0 "a command before the measuring" \
    adaps bench -d local.conf --strategy single --rounds 1 --when-pushed "echo x >pushed" "$digits"
check "it ran" test -s pushed
status 3 "one that fails" adaps bench -d local.conf --strategy single --rounds 1 --when-pushed false "$digits"
status 3 "counters that fail" adaps bench -d local.conf --counters false "$digits"
status 3 "counters that say nothing" adaps bench -d local.conf --counters true "$digits"

status 0 "a prediction" adaps bench -d local.conf --predict --strategy edgeflow --rounds 2 --runs 3 "$denoise"
says out "^latency: predicted .* measured .* error" "the latency"
says out "^local1  " "each device"
says out "^local0  local1 " "each link"
says out "^the step that errs most: agent 'local[01]' step [0-9]* [A-Z]* .*: predicted .*, measured " "the worst step"
status 0 "a prediction as JSON" adaps bench -d local.conf --predict --strategy edgeflow --rounds 1 --json "$denoise"
for key in strategy inferences latency clock_uncertainty_ms devices busy idle end links timed transfer \
    steps what time; do
    says out "\"$key\":" "it has $key"
done
status 0 "a prediction as a table" adaps bench -d local.conf --predict --rounds 1 --tsv "$denoise"
check "six columns" test "$(rows out 'NF != 6')" = 0 -a "$(rows out)" -ge 3

# One that has no plan is told; the others are measured.
sed 's/^threads.*/&\nmemory = 1kB/' local.conf >tiny.conf
status 1 "nobody has the memory" adaps bench -d tiny.conf --strategy single,edgeflow "$digits"
says err "strategy single: " "why is said"
# A devices file that does not know how slow the second agent is: the first round's plan shows it.
grep -v '^speed' local.conf >same.conf
status 0 "a plan is refined" adaps bench -d same.conf --refine --rounds 3 --runs 8 --bw 1gbit --json "$denoise"
for key in strategy best rounds predicted_per_s measured_per_s devices name predicted_ms measured_ms busy queue correction; do
    says out "\"$key\":" "it has $key"
done
says out '"strategy": "collaborative"' "the default strategy"
check "the first round is without corrections" test "$(grep -m 2 -c '"correction": 1[.,]0*' out)" = 2
status 0 "as a table" adaps bench -d same.conf --refine --strategy single --rounds 1 --runs 3 "$digits"
says out "^round 1 (best): .* answers/s predicted, .* measured" "a line for the round"
says out "^  local0 .*%" "a line for a device"
stop_agents || not_ok "adaps local ended with $local_code: $(cat local.err)"
status 0 "agents of its own" adaps bench --local-agents 2 --speed 1,0.5 --strategy edgeflow --seconds 0.1 "$digits"

# bench/runtime with it.
runtime=$src/bench/runtime
status 0 "help" sh "$runtime" --help
status 2 "no such table" sh "$runtime" -o . nothing
status 0 "overhead and memory" env ADAPS="$(command -v adaps)" sh "$runtime" -o . --networks "$digits" --rounds 2 \
    --runs 1 overhead memory
status 0 "once more, of which one line stays" env ADAPS="$(command -v adaps)" sh "$runtime" -o . \
    --networks "$digits" memory
check "two lines" test "$(rows runtime.tsv)" = 2
check "a ratio within its interval" test "$(rows runtime.tsv '
    f("table") == "overhead" && f("value") > 0 && f("lower") <= f("value") && f("value") <= f("upper")')" = 1
check "the peak above the weights" test "$(rows runtime.tsv '
    f("table") == "memory" && f("value") > 1 && f("upper") > f("lower")')" = 1

finish
