#!/bin/sh
# adaps run --failover: agents that are killed or stopped in the middle of a stream, once and twice, one that comes
# back, the source, and what happens without the option. Every answer is that of its input, with the bits of one
# device.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/stream.sh
. "$src/tests/support/stream.sh"

kinds=5 speed=0.3
! is_sanitized || speed=1

# agents [OPTION...]: three of them, those before are ended; their plan, by these options, is net.plan.
agents() {
    for pid in $pids; do kill -KILL "$pid"; done 2>killed
    wait 2>killed
    pids=
    printf '[link]\nbandwidth = 10gbit\nlatency = 0.05ms\n' >three.conf
    for n in 0 1 2; do
        agent $n 'tcp://127.0.0.1:*'
        echo "$agent" >"$n.pid"
        cat "$n.conf" >>three.conf
        [ "$n" != 0 ] || echo "source = yes" >>three.conf
    done
    adaps plan -d three.conf --evaluations 1000 -o net.plan "$@" "$models/denoise.onnx" >plan.out 2>&1 || not_ok "no plan: $(cat plan.out)"
}

# send SIGNAL N ANSWER: to agent aN, when this answer of the stream is there.
send() {
    until [ -s "$(printf 'answers/%03d.npy' "$3")" ]; do
        kill -0 "$run" 2>killed || return
        sleep 0.02
    done
    kill "-$1" "$(cat "$2.pid")"
}

# again N: starts agent aN again at its address.
again() {
    agent "$1" "$(sed -n 's/^address = //p' "$1.conf")"
    echo $agent >"$1.pid"
}

agents
pictures

for signal in KILL STOP; do
    agents
    stream 48 --failover
    send $signal 1 12
    ends 0 "an agent gets SIG$signal"
    answered "SIG$signal"
    says err "^adaps run: inference [0-9]* failed, lost: a1; recovered in .* (detection .*, plan .*, push of .*, opening .*, [1-9] inferences* again .*); predicted .* to " \
        "one line tells how it went on"
    check "of one recovery" test "$(grep -c recovered err)" = 1
done
for n in 0 2; do
    status 0 "agent $n" adaps status --json -d $n.conf
    says out '"state":"idle"' "is free again"
done

# A plan for the throughput, whose inferences take turns; and one whose sums are in blocks.
agents --objective throughput
stream 48 --failover
send KILL 2 12
ends 0 "an agent of a plan for the throughput is killed"
answered "throughput"
says err "lost: a2; recovered in " "it went on"
agents --strategy deeperthings
stream 40 --failover
send KILL 1 8
ends 0 "an agent of a plan with sums in blocks is killed"
references
answered "sums in blocks"

# Two are killed, one after the other: the source goes on alone.
agents
references
stream 60 --failover --json
send KILL 1 12
send KILL 2 30
ends 0 "two agents are killed"
answered "killed twice"
says out '"recoveries":\[{"lost":\["a1"\],"returned":\[\],"inference":[0-9]*,"detection_ms":[0-9.e+-]*,"plan_ms":' "the first loss"
says out '{"lost":\["a2"\],"returned":\[\],"inference":' "the second loss"
says out '"total_ms":[0-9.e+-]*,"latency_ms":[0-9.e+-]*,"predicted_ms":\[[0-9.e+-]*,[0-9.e+-]*\]' "the time it took, and the predicted one"

# Two at the same moment, of which one is only silent: it is found when it should be used.
agents
stream 48 --failover --json
send STOP 2 12
send KILL 1 12
ends 0 "two agents are lost at the same moment"
answered "lost together"
says out '"lost":\["a1".*"repeated"' "the one that is killed is named"
says out '"lost":\[[^]]*"a2"\]' "and the other"

# One that has come back is used when another is lost.
agents
stream 120 --failover --json
send KILL 1 10
until [ -s answers/020.npy ] || ! kill -0 "$run" 2>killed; do sleep 0.02; done
again 1
send KILL 2 30
ends 0 "an agent comes back, and another is killed"
answered "come back"
says out '{"lost":\["a2"\],"returned":\["a1"\]' "it is used again"
status 0 "its own account" adaps status -d 1.conf --json
says out '"inferences":[1-9]' "it has computed"

# With spares: one for each loss but the source's. They are taken, and no search is made.
agents --spares
says plan.out "^  without a1 .* predicted; a stream goes on .* to .* after the loss$" "the plan tells of its spares"
says plan.out "^  without a2 " "of both"
check "and no other" test "$(grep -c "^  without" plan.out)" = 2
status 0 "the plan without them" adaps plan -d three.conf --evaluations 1000 -o plain.plan "$models/denoise.onnx"
check "is smaller" test "$(wc -c <plain.plan)" -lt "$(wc -c <net.plan)"
status 0 "show" adaps show net.plan
says out "^  without a1 " "tells of them, too"
status 0 "show --json" adaps show --json net.plan
tr -d ' \n' <out >shown
check "both are in it" grep -q '"spares":\[{"lost":"a1","digest":"[0-9a-f]*","predicted_ms":[0-9.]*,"recovery_ms":\[[0-9.]*,[0-9.]*\]},{"lost":"a2",' shown
digest=$(sed 's/.*"digest":"\([0-9a-f]*\)","predicted_ms.*"spares".*/\1/' shown)
status 0 "show of the one without" adaps show --json plain.plan
tr -d ' \n' <out >shown
check "it is the same plan" grep -q "\"digest\":\"$digest\"" shown
check "without spares" grep -q '"spares":\[\]' shown
stream 48 --failover
send KILL 2 12
ends 0 "an agent of a plan with spares is killed"
answered "spare"
says err "lost: a2; recovered in .* plan [0-9.]* [mun]*s (spare), push of .* predicted " "the spare was used"
agents --spares
stream 120 --failover --json
send KILL 1 10
until [ -s answers/020.npy ] || ! kill -0 "$run" 2>killed; do sleep 0.02; done
again 1
send KILL 2 30
ends 0 "one comes back, and another is killed"
answered "two spares"
says out '{"lost":\["a1"\],"returned":\[\],"inference":[0-9]*,"detection_ms":[0-9.e+-]*,"plan_ms":[0-9.e+-]*,"plan":"spare"' "a spare"
says out '{"lost":\["a2"\],"returned":\["a1"\],"inference":[0-9]*,"detection_ms":[0-9.e+-]*,"plan_ms":[0-9.e+-]*,"plan":"spare"' "and the other one"
printf '\001' | dd of=net.plan bs=1 seek=$(($(wc -c <net.plan) - 40)) conv=notrunc 2>dd.err
status 3 "a damaged spare" adaps run --failover net.plan 0.png
says err "^adaps run: net.plan: damaged or truncated plan" "the file is named"
status 2 "spares of a lossy plan" adaps plan -d three.conf --bw 10mbit --lossy --spares --strategy edgeflow "$models/denoise.onnx"
says err "a lossy plan has no spares" "it says why"
status 2 "spares of all strategies" adaps plan -d three.conf --spares --strategy all "$models/denoise.onnx"
printf '[link]\nbandwidth = 10gbit\n[a0]\nsource = yes\nmemory = 9MiB\n[a1]\n' >two.conf
status 0 "a source that has not the memory to go on alone" adaps plan -d two.conf --evaluations 1000 --spares -o two.plan "$models/denoise.onnx"
says err "^adaps plan: no spare for the loss of 'a1': the others do not suffice$" "the loss is named"
status 0 "its plan" adaps show two.plan

# An agent that only a spare needs need not be there.
agents
printf '[a3]\naddress = tcp://127.0.0.1:1\nspeed = 0.001\nthreads = 1\n' >>three.conf
status 0 "a plan that leaves a device out" adaps plan -d three.conf --evaluations 1000 --spares -o net.plan "$models/denoise.onnx"
says out " on 3 of 4 devices" "which is slow"
stream 24 --failover
send KILL 1 8
ends 0 "it is not there"
answered "absent"

# The source cannot be replaced.
agents
stream 48 --failover
send KILL 0 12
ends 4 "the source is killed"
says err "the source 'a0' is lost and cannot be replaced: agent 'a0' .* was lost in inference" "it says so, and who"

# Without the option, and where it cannot be.
agents
stream 48
send KILL 1 12
ends 4 "without --failover"
says err "agent 'a1' .* was lost in inference" "the agent is named"
check "nothing is recovered" sh -c '! grep -q recovered err'
agents
adaps plan -d three.conf --bw 10mbit --lossy --strategy edgeflow -o lossy.plan "$models/denoise.onnx" >plan.out 2>&1 || not_ok "no plan: $(cat plan.out)"
status 2 "a lossy plan" adaps run --failover lossy.plan 0.png
says err "a lossy plan has no failover" "it says why"
status 2 "--failover --local" adaps run --failover --local net.plan 0.png
status 2 "--failover --trace" adaps run --failover --trace t.json net.plan 0.png
says err "goes with neither --local nor --trace" "it says so"
finish
