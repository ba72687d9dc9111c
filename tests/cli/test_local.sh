#!/bin/sh
# adaps local: its command line, the devices file, and that no agent is left, however it ends.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

# running PID: the process is there and no zombie.
running() {
    state=$(sed 's/.*) \(.\).*/\1/' "/proc/$1/stat" 2>/dev/null)
    [ -n "$state" ] && [ "$state" != Z ]
}

# all_gone DESCRIPTION PID...
all_gone() {
    description=$1
    shift
    for pid in "$@"; do
        if running "$pid"; then
            not_ok "$description: $pid still runs"
            return
        fi
    done
    ok "$description"
}

no_folder_left() {
    set -- "$work"/adaps-local.*
    if [ -e "$1" ]; then not_ok "no temporary folder is left: $1"; else ok "no temporary folder is left"; fi
}

status 2 "no number" adaps local
status 2 "no agents" adaps local 0
status 2 "too many agents" adaps local 65
status 2 "not a number" adaps local two
status 2 "two numbers" adaps local 1 2
status 2 "fewer speeds than agents" adaps local 3 --speed 1,0.5
says err "2 values for 3 agents" "which says so"
status 2 "more speeds than agents" adaps local 1 --speed 1,0.5
status 2 "a speed above 1" adaps local 1 --speed 1.5
status 2 "no speed" adaps local 2 --speed 1,
status 2 "too many threads" adaps local 1 --threads 65
status 2 "nothing after --" adaps local 1 --

status 7 "the command's exit status" adaps local 1 -- sh -c 'exit 7'
status 127 "a command that is not there" adaps local 1 -- ./no-such-command
status 143 "a signal is passed on to the command" \
    adaps local 1 -- sh -c 'mkfifo never; kill -TERM $PPID; exec cat never'
# shellcheck disable=SC2016
status 0 "the command finds the devices file" adaps local 2 -- sh -c 'cp "$ADAPS_DEVICES" found.conf'
check "it has both agents" grep -c '^\[local[01]\]' found.conf
no_folder_left

status 0 "a file of its own" adaps local 2 --speed 1,0.25 --threads 1 -o own.conf -- \
    adaps status -d own.conf
check "the agents are idle" test "$(cell out local1 state)" = idle
check "and emulated at that speed" test "$(cell out local1 speed)" = 0.25
check "the file tells the speed" grep -q '^speed *= 0.25' own.conf
check "the file marks the loopback" grep -q '^; the loopback' own.conf
check "the file names one source" test "$(grep -c '^source' own.conf)" = 1
check "the file is a devices file" adaps plan -d own.conf "$src/models/digits.onnx"
# shellcheck disable=SC2046
all_gone "the agents are gone with it" $(sed -n 's/^; process //p' own.conf)
no_folder_left

# Without a command: until a signal, which it survives cleanly.
for signal in TERM INT HUP; do
    start_agents 2
    first=$(agent_pid local0) second=$(agent_pid local1)
    if running "$first" && running "$second"; then
        ok "both agents run"
    else
        not_ok "both agents run ($first, $second)"
    fi
    kill -s "$signal" "$local_pid"
    wait "$local_pid"
    check "SIG$signal ends it with 0" test $? = 0
    local_pid=
    all_gone "SIG$signal: the agents are gone" "$first" "$second"
    no_folder_left
done

# An agent that dies is reported by name; when all have died, adaps local ends.
start_agents 2
kill -9 "$(agent_pid local1)"
kill -9 "$(agent_pid local0)"
wait "$local_pid"
check "no agent is left: exit 4" test $? = 4
local_pid=
cp local.err err
says err "agent local1 was killed by signal 9" "local1's death is reported"
says err "agent local0 was killed by signal 9" "local0's death is reported"

# Killed: the kernel kills the agents. They hold the pipe open, so its end shows that they have died.
mkfifo held
adaps local 2 -o killed.conf 2>held &
local_pid=$!
{
    while read -r line; do
        case $line in *"2 agents are ready"*) break ;; esac
    done
    kill -9 "$local_pid"
    if timeout 30 cat >rest; then ok "killed: its agents died"; else not_ok "killed: its agents live"; fi
} <held
wait "$local_pid"
local_pid=
# shellcheck disable=SC2046
all_gone "killed: none runs" $(sed -n 's/^; process //p' killed.conf)
rm -rf "$work"/adaps-local.*

# Caches stay where --cache says, and are found again.
cat >pushes <<'END'
adaps plan -d "$ADAPS_DEVICES" --strategy edgeflow -o net.plan "$src/models/digits.onnx"
adaps push net.plan
END
status 0 "a cache of one's own" adaps local 2 --cache keep -- sh -e pushes
says out "^weights sent: [1-9][0-9]* bytes$" "it sent weights"
check "the cache stays" test -d keep/local1
status 0 "the cache is found again" adaps local 2 --cache keep -- sh -e pushes
says out "^weights sent: 0 bytes$" "nothing was sent"
no_folder_left

finish
