#!/bin/sh
# adaps top: what --once and --json print while a stream is open, and the screen: keys, sizes, agents that come and go,
# and that the terminal is as before in the end.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

need_python
daemon=$build/adaps-agent
pids=
trap 'for pid in $pids; do kill "$pid" 2>/dev/null; done; [ -z "$local_pid" ] || kill "$local_pid"; wait; cd /; rm -rf "$work"' EXIT

# screen COLUMNS ROWS DESCRIPTION CONF [OPTION...] <steps: adaps top in a terminal.
screen() {
    columns=$1 rows=$2 description=$3 conf=$4
    shift 4
    "$python" "$src/tests/support/terminal.py" "$columns" "$rows" adaps top -d "$conf" --interval 0.1s "$@" >out 2>err
    code=$?
    if [ $code = 0 ]; then ok "$description"; else not_ok "$description: exit $code"; fi
}

start_agents 2 --speed 0.5,0.25
status 0 "nothing goes on" adaps top --once --interval 0.1s -d local.conf
has out "adaps top - 2 devices, 2 answer, 0 in a session" "all are there"
has out "no plan is loaded" "without a plan"
says out "^local0  idle  .* 0%  " "idle"
says out "^local1  .*  -        -        -  -$" "nothing is measured"
has out "no messages between devices yet" "no link is used"

# A stream that waits for its next picture.
status 0 "a plan" adaps plan -d local.conf --strategy edgeflow -o net.plan "$src/models/digits.onnx"
frames() {
    head -c $((28 * 28 * $1)) /dev/zero
}
mkfifo frames
adaps classify --raw 28x28:gray net.plan frames >run.out 2>run.err &
run=$!
pids="$pids $run"
exec 4>frames
frames 12 >&4
late=$(($(date +%s) + 60))
until [ "$(wc -l <run.out)" -ge 12 ] || [ "$(date +%s)" -ge "$late" ]; do sleep 0.05; done
status 0 "a stream is open" adaps top --once --interval 0.1s -d local.conf
has out "2 answer, 2 in a session" "both have a session"
says out "^plan digits.onnx ([0-9a-f]\{8\}): predicted [0-9.]*m*s" "the plan is named, with its prediction"
says out "; measured [0-9.]*m*s, 0.00/s$" "beside what is measured"
says out "^local0  ready  .*  [0-9.]*ms  *[0-9.]*ms  *[0-9.]*ms  -$" "the source is ready, with times and a prediction"
says out "^local1  ready  .*  -        -        -  -$" "the other has none"
says out "^local0  *local1  *[0-9.]* k*B/s  " "what goes from one to the other"
says out "^local1  *local0  *" "and back"
status 0 "as JSON" adaps top --json --interval 0.1s -d local.conf
cp out top.json
status 0 "of status, too" adaps status --json -d local.conf
cat >compare.py <<'E2'
import json
top, status = (json.load(open(name))["agents"] for name in ("top.json", "out"))
for a, b in zip(top, status, strict=True):
    assert (a["name"], a["address"], a["state"]) == (b["name"], b["address"], "busy"), a
    for key in "begun", "done", "errors", "plan", "durations", "links":
        assert a["live"][key] == b["live"][key], (key, a["live"], b["live"])
    assert a["live"]["done"] == 12 and a["inferences_per_s"] == 0, a
    assert {l["peer"] for l in a["links"]} == {"local0", "local1"} - {a["name"]}, a
assert top[0]["live"]["durations"]["count"] == 12 and top[1]["live"]["durations"]["count"] == 0
E2
check "they agree" "$python" compare.py
frames 3 >&4
exec 4>&-
wait "$run"
check "the stream ends" test $? = 0

# Who does not answer.
printf '[link]\nbandwidth = 1gbit\nlatency = 0.1ms\n[there]\nboard = x86\naddress = %s\n[gone]\nboard = x86\naddress = tcp://127.0.0.1:1\n' \
    "$(sed -n 's/^address = //p' local.conf | sed -n 1p)" >half.conf
status 4 "one of two does not answer" adaps top --once --interval 0.1s --deadline 1s -d half.conf
has out "2 devices, 1 answers, 0 in" "it says so"
says out "^gone  *no answer  " "and which"
says out "^there  *idle  " "the other is shown"
status 4 "as JSON" adaps top --json --interval 0.1s --deadline 1s -d half.conf
has out '"name":"gone","address":"tcp://127.0.0.1:1","state":"no answer","error":"' "likewise"

# What is refused.
status 2 "no terminal" adaps top -d local.conf
if grep -q 'built without ncurses' err; then
    echo "# this build has no ncurses"
    finish
fi
has err "this is no terminal; --once prints the same" "what to do is said"
status 2 "an operand" adaps top -d local.conf more
status 2 "too often" adaps top -d local.conf --interval 1ms
status 3 "no such file" adaps top --once -d none.conf
if ! is_sanitized; then # ncurses forgets some memory then
    status 2 "TERM" "$python" -c "import os, pty, sys
os.environ['TERM'] = 'nobody-has-this'
sys.exit(os.waitstatus_to_exitcode(pty.spawn(['adaps', 'top', '-d', 'local.conf'])))"
    has out "TERM=nobody-has-this is no terminal" "is named"
fi

# The screen.
screen 80 24 "keys" local.conf <<'E2'
await local1
await 2 answer
await sort: file
await local1         local0
fits
send s
await sort: name
send sss
await sort: file
send \x20
await paused
send \x20
gone paused
send h
await pause and go on
gone DEVICE
send h
await DEVICE
show
send q
ends 0
E2
has out "q quit  space pause" "the last line has the keys"
check "without colour and bars it fits 80 columns" sh -c "grep -q '^DEVICE' out && ! grep -q COMPUTING out"
screen 80 24 "a terminal that grows and shrinks" local.conf <<'E2'
await local1
size 132 40
await COMPUTING
await q quit
fits
size 80 8
await more lines
await q quit
gone COMPUTING
fits
size 20 3
await q quit
fits
size 80 24
await local1         local0
send q
ends 0
E2
for number in 2 15 1; do
    screen 80 24 "signal $number" local.conf <<E2
await 2 answer
signal $number
ends $((128 + number))
E2
done

# An agent that goes and comes back, while the other is asked all the time.
agent() {
    rm -f ready
    mkfifo ready
    "$daemon" --listen "$1" --cache cache-come --ready-fd 3 3>ready 2>come.err &
    come=$!
    pids="$pids $come"
    read -r endpoint <ready
}
agent 'tcp://127.0.0.1:*'
printf '[stays]\nboard = x86\naddress = %s\n[comes]\nboard = x86\naddress = %s\n' \
    "$(sed -n 's/^address = //p' local.conf | sed -n 1p)" "$endpoint" >come.conf
cat >again.sh <<E2
"$daemon" --listen "$endpoint" --cache cache-come 2>again.err &
echo \$! >again.pid
E2
screen 80 24 "an agent goes and comes back" come.conf --deadline 1s <<E2
await 2 answer
run kill $come
await no answer
await 1 answers
run sh again.sh
await 2 answer
gone no answer
send q
ends 0
E2
pids="$pids $(cat again.pid)"
stop_agents
finish
