#!/bin/sh
# An agent whose controller's machine is away, and one whose controller is only stopped, when somebody else comes.
# shellcheck source=tests/support/harness.sh
if [ -z "$ADAPS_AWAY_INSIDE" ]; then
    PATH=$PATH:/usr/sbin:/sbin
    export PATH
    for way in -n -rn; do
        unshare $way sh -c "ip link set lo up && nft list ruleset" >/dev/null 2>&1 || continue
        ADAPS_AWAY_INSIDE=yes exec unshare $way "$0"
    done
fi
. "${srcdir:-.}/tests/support/harness.sh"
[ -n "$ADAPS_AWAY_INSIDE" ] || skip "no network of its own, or no nft"
ip link set lo up

speed=0.05
! is_sanitized || speed=1
cp "$src/models/samples/noisy.png" 0.png
pid=
trap 'kill -KILL $pid $run 2>"$work/killed"; wait; cd /; rm -rf "$work"' EXIT
mkfifo ready
"$build/adaps-agent" --listen tcp://127.0.0.2:5570 --speed $speed --threads 1 --cache cache --ready-fd 3 3>ready 2>agent.err &
pid=$!
read -r endpoint <ready
check "the agent starts" test -n "$endpoint"
printf '[a0]\nboard = x86\naddress = tcp://127.0.0.2:5570\nthreads = 1\n' >one.conf
status 0 "a plan" adaps plan -d one.conf --evaluations 100 -o net.plan "$src/models/denoise.onnx"

# stream: a long one in the background, $run, of which the first answer is there.
stream() {
    rm -f first-0.npy
    set -- "$build/adaps" run --deadline 60s -o 'first-%d.npy' net.plan
    i=0
    while [ $i -lt "$count" ]; do
        set -- "$@" 0.png
        i=$((i + 1))
    done
    "$@" >run.out 2>run.err &
    run=$!
    until [ -s first-0.npy ] || ! kill -0 $run 2>killed; do sleep 0.02; done
}

busy() {
    adaps status -d one.conf --json >status.out 2>&1 && grep -q '"state":"busy"' status.out
}

# Stopped: it goes on, though somebody asks again and again for longer than a call takes to be answered.
count=6
stream
kill -STOP $run
i=0
kept=yes
while [ $i -lt 30 ]; do
    busy || kept=no
    sleep 0.15
    i=$((i + 1))
done
check "a stopped controller keeps its session" test $kept = yes
kill -CONT $run
wait $run
code=$?
[ $code = 0 ] || sed "s/^/# /" run.err agent.err
check "and gets its answers" test $code = 0

# Away: nothing comes from its machine any more, not even the end of the connection.
count=200
stream
ports=$(ss -tnH dst 127.0.0.2:5570 | awk '{ sub(/.*:/, "", $4); print $4 }' | paste -sd, -)
nft "add table ip away; add chain ip away in { type filter hook input priority 0; }; \
     add rule ip away in tcp sport { $ports } drop; add rule ip away in tcp dport { $ports } drop"
kill -KILL $run
wait $run 2>killed
sleep 1
while busy; do sleep 0.1; done
check "the agent is free" grep -q '"state":"idle"' status.out
says agent.err "ended: its controller cannot be reached, and another one is here$" "since somebody else came"
status 0 "who can use it" adaps run net.plan 0.png
finish
