#!/bin/sh
# Several controllers at once: the second is told who is served; with --wait it waits in line.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

digits=$src/models/digits.onnx
three=$src/models/samples/digit-3.png
cp -r "$src/devices/boards" boards

# await COMMAND...: until it succeeds, at most a minute; then it fails.
await() {
    late=$(($(date +%s) + 60))
    while [ "$(date +%s)" -lt "$late" ]; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    "$@"
}

# hold PLAN: a controller that keeps a session of the plan, until `release`.
hold() {
    rm -f frames && mkfifo frames
    adaps classify --raw 28x28:gray "$1" - <frames >held 2>held.err &
    holder=$!
    exec 4>frames
    head -c 784 /dev/zero >&4
    await test -s held || not_ok "a session is held: $(cat held.err)"
}
release() {
    exec 4>&-
    wait "$holder"
    check "who was served ends well" test $? = 0
}

# waits NAME [OPTION...]: a run in the background that waits; its process is $pid, it writes NAME.npy, NAME.err, and its name
# into the file `order` when it is done.
waits() {
    name=$1
    shift
    (
        exec 4>&-
        adaps run --wait "$@" -o "$name.npy" both.plan "$three" 2>"$name.err" &
        echo $! >"$name.pid"
        wait $! && echo "$name" >>order
    ) &
    pid=$!
    await grep -q "^adaps run: waiting: agent " "$name.err" || not_ok "$name waits: $(cat "$name.err")"
}

start_agents 2 --speed 1,1
status 0 "a plan for both agents" adaps plan -d local.conf --strategy edgeflow -o both.plan "$digits"
check "both have work" test "$(adaps show both.plan --json | grep -o '"program"' | wc -l)" != 1
status 0 "the answer" adaps run both.plan "$three" -o wanted.npy

# The second is told who is served.
hold both.plan
status 4 "a second controller" adaps run both.plan "$three"
says err "^adaps run: agent 'local[01]' (.*): busy: it has been in a session of the controller at 127.0.0.1 (without keys) for [0-9]* s$" \
    "is told who is served"
status 4 "one that waits for a moment" adaps run --wait=300ms both.plan "$three"
says err "^adaps run: waiting: agent 'local[01]' (.*): busy: " "says what for"
says err "for [0-9]* s; waited for 0.[0-9]* s$" "and how long it was"
status 2 "no time" adaps run --wait=soon both.plan "$three"
says err "^adaps run: --wait soon: a time above 0, such as 30s, is wanted" "is refused"
status 0 "a push need not wait" adaps push --wait both.plan

# In line, in the order of arrival.
: >order
waits first
first=$pid
waits second
second=$pid
says second.err "; 1 other in line before this one$" "the second in line is told of the first"
status 4 "whoever does not wait is not the next" adaps run both.plan "$three"
says err "^adaps run: .*: busy: " "but is told"
release
wait "$first"
check "the first is served" test $? = 0
wait "$second"
check "and the second" test $? = 0
check "in this order" test "$(xargs <order)" = "first second"
check "the same bits" cmp wanted.npy first.npy
check "for both" cmp wanted.npy second.npy

# Who goes away, or is stopped, is forgotten.
hold both.plan
: >order
waits gone
waits stopped
waits last
last=$pid
says last.err "; 2 others in line before this one$" "two are before it"
kill -KILL "$(cat gone.pid)"
kill -STOP "$(cat stopped.pid)"
await grep -q ") for [0-9]* s$" last.err
says last.err ") for [0-9]* s$" "nobody is before it any more"
release
wait "$last"
check "it is served" test $? = 0
kill -KILL "$(cat stopped.pid)"

# Two that need both agents, named in another order, and others that need one: nobody waits for ever.
awk -v RS= '{ part[NR] = $0 } END { print part[1] "\n"; for (i = NR; i > 1; i--) print part[i] "\n" }' local.conf >turned.conf
status 0 "the agents in another order" adaps plan -d turned.conf --strategy edgeflow -o turned.plan "$digits"
status 0 "one agent" adaps plan -d local.conf --strategy single -o one.plan "$digits"
: >order
pids=
for i in 1 2; do
    for plan in both turned one; do
        (adaps run --wait -o "$plan$i.npy" "$plan.plan" "$three" 2>"$plan$i.err" && echo "$plan$i" >>order) &
        pids="$pids $!"
    done
done
for pid in $pids; do wait "$pid" || not_ok "one of them fails: $(cat ./*[12].err)"; done
check "six at the same time are all served" test "$(wc -l <order)" = 6
for file in both[12].npy turned[12].npy one[12].npy; do check "$file" cmp wanted.npy "$file"; done

# Other commands.
awk -v RS= '/local0 local1|local1 local0|^\[local1\]/ { next } { print $0 "\n" }' local.conf >single.conf
hold both.plan
(exec 4>&-; adaps verify --wait both.plan >verify.out 2>verify.err; echo $? >verify.code) &
verify=$!
(exec 4>&-; adaps profile --wait --no-links --budget 200ms -d single.conf -o measured.conf >profile.out 2>profile.err; echo $? >profile.code) &
profile=$!
await grep -q "^adaps verify: waiting: " verify.err
await grep -q "^adaps profile: waiting: " profile.err
release
wait "$verify" "$profile"
check "verify waits" test "$(cat verify.code)" = 0
check "profile waits" test "$(cat profile.code)" = 0
stop_agents

# With keys the one who is served has a name.
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"
status 0 "keys for an agent" adaps keygen -o key
key=$(cat out)
status 0 "keys for this side" adaps keygen
cp out allow
start "$daemon" --listen 'tcp://127.0.0.1:*' --key key --allow allow --idle-timeout 1s
devices "$key"
status 0 "a plan for it" adaps plan -d one.conf -o keyed.plan "$digits"
hold keyed.plan
status 4 "another controller" adaps run --wait=100ms keyed.plan "$three"
has err "(key $(cut -c 1-8 allow)...) for " "is told whose key that has"
status 0 "a session that was idle for long makes way" adaps run --wait keyed.plan "$three" -o keyed.npy
check "for the right answer" cmp wanted.npy keyed.npy
exec 4>&-
wait "$holder"
stop
finish
