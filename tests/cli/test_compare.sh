#!/bin/sh
# adaps plan: strategies side by side, objectives, and what is refused.
set -eu
model=$srcdir/models/denoise.onnx
devices=$srcdir/devices/local3.conf
work=$(mktemp -d "${TMPDIR:-.}/adaps-compare-XXXXXX")
trap 'rm -rf "$work"' EXIT

fail() {
    echo "test_compare: $*" >&2
    exit 1
}

# Exit status $1 for the rest; output in $work/out, messages in $work/err.
expect() {
    want=$1
    shift
    code=0
    "$ADAPS" plan -d "$devices" "$@" "$model" >"$work/out" 2>"$work/err" || code=$?
    [ "$code" = "$want" ] || fail "plan $*: exit status $code, not $want: $(cat "$work/err")"
}

strategies="auto single edgeflow adaps bbgrap modnn coedge deepslicing deepthings"

expect 0 --strategy all
for s in $strategies; do
    grep -q "^$s " "$work/out" || fail "no row for $s"
done
grep -q "^no plan at all can answer sooner than" "$work/out" || fail "no lower bound"

expect 0 --strategy all --json
for s in $strategies; do
    grep -q "\"strategy\": \"$s\"" "$work/out" || fail "no object for $s"
done
for key in predicted_ms bytes messages memory_bytes visited search_s lower_bound_ms; do
    [ "$(grep -c "\"$key\":" "$work/out")" = 9 ] || fail "$key is not there for each strategy"
done

! grep -q exhaustive "$work/out" || fail "exhaustive is compared"

# With one strategy the same object alone, and the layouts.
expect 0 --strategy modnn --json
for key in predicted_ms bytes messages memory_bytes visited search_s lower_bound_ms layouts; do
    grep -q "^  \"$key\":" "$work/out" || fail "$key is not there for modnn"
done

# A cap that nobody meets: each says so, and the answer is no.
expect 1 --strategy all --latency-cap 1us --json
[ "$(grep -c '"error":' "$work/out")" = 9 ] || fail "an error for each strategy is wanted"
expect 1 --strategy edgeflow --latency-cap 1us
grep -q "answers within 1.00 us: the soonest takes" "$work/err" || fail "$(cat "$work/err")"

expect 0 --objective traffic
grep -q "traffic made small, within" "$work/out" || fail "the objective is not told"
expect 0 --objective memory
grep -q "memory made small" "$work/out" || fail "the objective is not told"

expect 2 --objective throughput
grep -q "throughput: not available in this version" "$work/err" || fail "$(cat "$work/err")"
expect 2 --objective speed
expect 2 --latency-cap 0
expect 2 --strategy best
expect 2 --strategy all -o "$work/plan"
[ ! -e "$work/plan" ] || fail "a plan was written"

# One medium for all links: with equal parts, many exchange at once, so the answer comes later; and
# the plan file knows it.
milliseconds() {
    sed -n 's/^  "predicted_ms": \([0-9.]*\).*/\1/p' "$work/out"
}
expect 0 --strategy bbgrap --bw 100mbit --json
switched=$(milliseconds)
sed 's/^bandwidth/medium = shared\n&/' "$devices" >"$work/shared.conf"
devices=$work/shared.conf
expect 0 --strategy bbgrap --bw 100mbit --json -o "$work/plan"
shared=$(milliseconds)
echo "$switched $shared" | awk '{ exit !($1 > 0 && $2 > $1) }' || fail "$switched ms, shared $shared ms"
"$ADAPS" simulate --json "$work/plan" >"$work/out"
[ "$(milliseconds)" = "$shared" ] || fail "simulated: $(milliseconds) ms, planned $shared ms"
