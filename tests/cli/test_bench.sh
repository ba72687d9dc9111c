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
strategies="auto single edgeflow adaps bbgrap modnn coedge deepslicing deepthings"
for strategy in $strategies; do
    # shellcheck disable=SC2016
    check "$strategy: six inferences, none differs, an interval around its ratios" awk -F '\t' -v s="$strategy" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i }
        $1 == s {
            found = NF == 18 && $at["inferences"] == 6 && $at["differ"] == 0 && $at["latency_ms"] > 0 &&
                $at["predicted_ms"] > 0 && $at["ratio_lo"] <= $at["ratio"] &&
                $at["ratio"] <= $at["ratio_hi"] && $at["single_lo"] <= $at["single_hi"] &&
                $at["sent_bytes"] == $at["planned_bytes"] && $at["wire_bytes"] == "-"
        }
        END { exit !found }' all.tsv
done
# shellcheck disable=SC2016
check "the reference is 1" awk -F '\t' '
    $1 == "edgeflow" { good = $6 == 1 && $7 == 1 && $8 == 1 } END { exit !good }' all.tsv

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
# shellcheck disable=SC2016
check "each with its name, none differs" awk -F '\t' '
    NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
    { names = names $1 " "; differ += $at["differ"]; count += $at["inferences"] }
    $1 == "local" && ($at["sent_bytes"] != 0 || $at["ratio"] != 1) { differ++ }
    END { exit !(names == "edgeflow edgeflow+late local " && differ == 0 && count == 6) }' out

# What the links carried: counters that grow by 1000 at each look, a title, two links.
cat >count <<'END'
n=$(cat n 2>/dev/null || echo 0)
echo $((n + 1000)) >n
echo "link up down"
echo "a $n 5"
echo "b $n 7"
END
status 0 "counters" adaps bench -d local.conf --strategy single --rounds 1 --runs 4 --tsv --counters "sh count" "$digits"
# shellcheck disable=SC2016
check "2000 bytes in 4 inferences and those before them" awk -F '\t' '
    NR == 2 { all = 2000 / $14; good = all > 4.5 && (all - int(all + 0.5)) ^ 2 < 1e-6 } END { exit !good }' out
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
# shellcheck disable=SC2016
check "six columns" awk -F '\t' 'NF != 6 { bad = 1 } END { exit bad || NR < 4 }' out

# One that has no plan is told; the others are measured.
sed 's/^threads.*/&\nmemory = 1kB/' local.conf >tiny.conf
status 1 "nobody has the memory" adaps bench -d tiny.conf --strategy single,edgeflow "$digits"
says err "strategy single: " "why is said"
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
# shellcheck disable=SC2016
check "a ratio, and the peak above the weights" awk -F '\t' '
    $1 == "overhead" { good += $4 > 0 && $5 <= $4 && $4 <= $6 }
    $1 == "memory" { good += $4 > 1 && $6 > $5 }
    END { exit !(NR == 3 && good == 2) }' runtime.tsv

finish
