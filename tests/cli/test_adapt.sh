#!/bin/sh
# adaps run --adapt: an agent that becomes four times as slow at the beginning of a stream, and is lost when another plan
# is in use; what gains nothing; what the option does not go with. Every answer is that of its input, with the bits of
# one device.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/stream.sh
. "$src/tests/support/stream.sh"

kinds=3 speed=0.4 slow=0.1 long=80
! is_sanitized || { speed=1 slow=0.33 long=60; }

agent 0 'tcp://127.0.0.1:*'
agent 1 'tcp://127.0.0.1:*' --speed-after "10:$slow"
printf '[link]\nbandwidth = 10gbit\nlatency = 0.05ms\n' | cat - 0.conf 1.conf >two.conf
status 0 "a plan" adaps plan -d two.conf -o net.plan "$models/denoise.onnx"
pictures

sed 's/127[.]0[.]0[.]1:/127.0.0.2:/' two.conf >nobody.conf
adaps plan -d nobody.conf --bw 10mbit --lossy --strategy edgeflow -o lossy.plan "$models/denoise.onnx" >plan.out 2>&1 || not_ok "no plan: $(cat plan.out)"
status 2 "a lossy plan, before anything is sent" adaps run --adapt lossy.plan 0.png
says err "a lossy plan has no adaptation" "it says why"

stream $long --adapt --horizon 100000 --failover
until grep -q "planned again" err || ! kill -0 "$run" 2>killed; do sleep 0.1; done
kill -KILL "$agent"
ends 0 "an agent becomes slow, and is lost later"
answered "an agent becomes slow, and is lost later"
# Agents with sanitizers are too slow to emulate anything: whether there is another plan depends on the machine.
if ! is_sanitized; then
    says err "^adaps run: after [0-9]* inferences a1 has had 0[.][0-9]* of the planned speed for 20 inferences and more; planned again: .* an inference instead of .*, a gain of .* in the next 100000 for .* (plan .*, push of .*, opening .*)" \
        "a line tells why there is another plan, with figures"
    says err "^adaps run: inference [0-9]* failed, lost: a1; recovered" "and another how it went on without a1"
fi

# With one agent there is nothing to gain, however slow it is; the rest of a short stream gains nothing, either.
if ! is_sanitized; then
    speed=0.8
    agent 2 'tcp://127.0.0.1:*' --speed-after "5:0.4"
    sed 's/speed.*/&\nsource = yes/' 2.conf >one.conf
    status 0 "a plan of one device" adaps plan -d one.conf -o net.plan "$models/denoise.onnx"
    stream 40 --adapt --horizon 100000 --json
    ends 0 "one agent becomes slow"
    answered "one agent becomes slow"
    check "there is no other plan" sh -c '! grep -q "\"planned_again\":true" out'
else
    agent 2 'tcp://127.0.0.1:*'
    sed 's/speed.*/&\nsource = yes/' 2.conf >one.conf
    status 0 "a plan of one device" adaps plan -d one.conf -o net.plan "$models/denoise.onnx"
fi
stream 3 --adapt --json
ends 0 "a short stream"
answered "a short stream"
says out '"adaptations":\[\]' "nothing is looked for"

status 2 "--adapt --local" adaps run --adapt --local net.plan 0.png
status 2 "--adapt --trace" adaps run --adapt --trace t.json net.plan 0.png
says err "^adaps run: --adapt goes with neither --local nor --trace" "it says so"
status 2 "--horizon alone" adaps run --horizon 10 net.plan 0.png
says err "^adaps run: --horizon goes with --adapt" "it says so"
finish
