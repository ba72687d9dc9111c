#!/bin/sh
# adaps run --adapt: an agent that becomes four times as slow at the beginning of a stream, and is lost when another plan
# is in use; what gains nothing; what the option does not go with. Every answer is that of its input, with the bits of
# one device.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

daemon=$build/adaps-agent
models=$src/models
fast=0.4 slow=0.1 long=80
! is_sanitized || { fast=1 slow=0.33 long=60; }
pids=
trap 'for pid in $pids; do kill -KILL "$pid"; done 2>"$work/killed"; wait; cd /; rm -rf "$work"' EXIT

# agent N [OPTION...]: starts agent aN; its process is $agent, its lines of a devices file are in N.conf.
agent() {
    n=$1
    shift
    rm -f ready
    mkfifo ready
    "$daemon" --listen 'tcp://127.0.0.1:*' --speed $fast --threads 1 --cache "cache$n" --ready-fd 3 "$@" 3>ready 2>"agent$n.err" &
    agent=$!
    pids="$pids $agent"
    read -r endpoint <ready
    [ -n "$endpoint" ] || not_ok "agent $n does not start: $(cat "agent$n.err")"
    printf '[a%d]\nboard = x86\naddress = %s\nspeed = %s\nthreads = 1\n' "$n" "$endpoint" $fast >"$n.conf"
}

# stream N [OPTION...]: a run of so many inferences in the background, as $run; what it says is in out and err.
stream() {
    count=$1
    shift
    set -- "$@" net.plan
    i=0
    while [ $i -lt "$count" ]; do
        set -- "$@" "$((i % 3)).png"
        i=$((i + 1))
    done
    rm -rf answers
    mkdir answers
    adaps run -o 'answers/%03d.npy' "$@" >out 2>err &
    run=$!
}

# ends CODE DESCRIPTION: the run does so, with all answers, in order.
ends() {
    wait "$run"
    code=$?
    if [ $code = "$1" ]; then ok "$2"; else not_ok "$2: exit $code instead of $1: $(cat err)"; fi
    wrong=
    i=0
    while [ $i -lt "$count" ]; do
        cmp "$(printf 'answers/%03d.npy' $i)" "$((i % 3)).npy" >differ 2>&1 || wrong="$wrong $i"
        i=$((i + 1))
    done
    check "$2: $count answers, each its input's${wrong:+, but not$wrong}" test -z "$wrong"
}

agent 0
agent 1 --speed-after "10:$slow"
printf '[link]\nbandwidth = 10gbit\nlatency = 0.05ms\n' | cat - 0.conf 1.conf >two.conf
status 0 "a plan" adaps plan -d two.conf -o net.plan "$models/denoise.onnx"
cp "$models/samples/noisy.png" 0.png
for i in 0 1 2; do
    status 0 "answer $i of one device" adaps run --local -o "$i.npy" net.plan $i.png
    status 0 "picture $((i + 1))" adaps run --local -o "$((i + 1)).png" net.plan $i.png
done
check "they differ" sh -c '! cmp -s 0.npy 1.npy && ! cmp -s 1.npy 2.npy'

sed 's/127[.]0[.]0[.]1:/127.0.0.2:/' two.conf >nobody.conf
adaps plan -d nobody.conf --bw 10mbit --lossy --strategy edgeflow -o lossy.plan "$models/denoise.onnx" >plan.out 2>&1 || not_ok "no plan: $(cat plan.out)"
status 2 "a lossy plan, before anything is sent" adaps run --adapt lossy.plan 0.png
says err "a lossy plan has no adaptation" "it says why"

stream $long --adapt --horizon 100000 --failover
until grep -q "planned again" err || ! kill -0 "$run" 2>killed; do sleep 0.1; done
kill -KILL "$agent"
ends 0 "an agent becomes slow, and is lost later"
# Agents with sanitizers are too slow to emulate anything: whether there is another plan depends on the machine.
if ! is_sanitized; then
    says err "^adaps run: after [0-9]* inferences a1 has had 0[.][0-9]* of the planned speed for 20 inferences and more; planned again: .* an inference instead of .*, a gain of .* in the next 100000 for .* (plan .*, push of .*, opening .*)" \
        "a line tells why there is another plan, with figures"
    says err "^adaps run: inference [0-9]* failed, lost: a1; recovered" "and another how it went on without a1"
fi

# With one agent there is nothing to gain, however slow it is; the rest of a short stream gains nothing, either.
if ! is_sanitized; then
    fast=0.8
    agent 2 --speed-after "5:0.4"
    sed 's/speed.*/&\nsource = yes/' 2.conf >one.conf
    status 0 "a plan of one device" adaps plan -d one.conf -o net.plan "$models/denoise.onnx"
    stream 40 --adapt --horizon 100000 --json
    ends 0 "one agent becomes slow"
    check "there is no other plan" sh -c '! grep -q "\"planned_again\":true" out'
else
    agent 2
    sed 's/speed.*/&\nsource = yes/' 2.conf >one.conf
    status 0 "a plan of one device" adaps plan -d one.conf -o net.plan "$models/denoise.onnx"
fi
stream 3 --adapt --json
ends 0 "a short stream"
says out '"adaptations":\[\]' "nothing is looked for"

status 2 "--adapt --local" adaps run --adapt --local net.plan 0.png
status 2 "--adapt --trace" adaps run --adapt --trace t.json net.plan 0.png
says err "^adaps run: --adapt goes with neither --local nor --trace" "it says so"
status 2 "--horizon alone" adaps run --horizon 10 net.plan 0.png
says err "^adaps run: --horizon goes with --adapt" "it says so"
finish
