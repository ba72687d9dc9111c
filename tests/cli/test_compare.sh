#!/bin/sh
# adaps plan: strategies side by side, objectives, and what is refused.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

model=$src/models/denoise.onnx
devices=$src/devices/local3.conf
strategies="auto single edgeflow adaps bbgrap modnn coedge deepslicing deepthings deeperthings aofl dpfp flexpie edgeci halp"

# plan CODE OPTION...: its exit status.
plan() {
    wanted=$1
    shift
    status "$wanted" "plan $*" adaps plan -d "$devices" "$@" "$model"
}

# count PATTERN: the lines of $work/out that match.
count() {
    grep -c -e "$1" "$work/out"
}

plan 0 --strategy all
for s in $strategies; do
    says out "^$s " "a row for $s"
done
says out "^no plan at all can answer sooner than" "a lower bound"

plan 0 --strategy all --json
for s in $strategies; do
    says out "\"strategy\": \"$s\"" "an object for $s"
done
for key in predicted_ms bytes messages memory_bytes visited search_s lower_bound_ms; do
    check "$key for each strategy" test "$(count "\"$key\":")" = 15
done
check "exhaustive is not compared" test "$(count exhaustive)" = 0

# One strategy: its object alone, with the layouts.
plan 0 --strategy modnn --json
for key in predicted_ms bytes messages memory_bytes visited search_s lower_bound_ms layouts; do
    says out "^  \"$key\":" "$key for modnn"
done

# A cap that no strategy meets: each says so, and the exit status is 1.
plan 1 --strategy all --latency-cap 1us --json
check "an error for each strategy" test "$(count '"error":')" = 15
plan 1 --strategy edgeflow --latency-cap 1us
says err "answers within 1.00 us: the soonest takes" "the soonest is told"

plan 0 --objective traffic
says out "traffic made small, within" "the objective is told"
plan 0 --objective memory
says out "memory made small" "the objective is told"

plan 2 --objective speed
says err "there are latency, throughput, traffic, memory" "which is said"
plan 2 --latency-cap 0
plan 2 --strategy best
plan 2 --strategy all -o all.plan
check "no plan is written" test ! -e all.plan

# One medium for all links: with equal bands, many devices exchange at once, so the answer comes later.
# The plan file says that the medium is shared.
milliseconds() {
    sed -n 's/^  "predicted_ms": \([0-9.]*\).*/\1/p' out
}
plan 0 --strategy bbgrap --bw 100mbit --json
switched=$(milliseconds)
sed 's/^bandwidth/medium = shared\n&/' "$devices" >shared.conf
devices=shared.conf
plan 0 --strategy bbgrap --bw 100mbit --json -o shared.plan
shared=$(milliseconds)
check "a shared medium is slower: $shared ms, not $switched ms" \
    awk "BEGIN { exit !($switched > 0 && $shared > $switched) }"
status 0 "simulate its plan" adaps simulate --json shared.plan
check "the same time" test "$(milliseconds)" = "$shared"

finish
