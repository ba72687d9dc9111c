# Sourced by shell tests of one agent, after harness.sh. Sets daemon (the program).
daemon=$build/adaps-agent
agent=
trap '[ -z "$agent" ] || kill "$agent"; wait; cd /; rm -rf "$work"' EXIT

# start COMMAND...: an agent in the background. Sets agent (its process) and endpoint ("" when it did not start);
# what it says is in $work/err, or in the file that agent_log names.
start() {
    rm -f ready
    mkfifo ready
    "$@" --ready-fd 3 3>ready 2>"${agent_log-err}" &
    agent=$!
    endpoint=
    read -r endpoint <ready
    [ -n "$endpoint" ] || not_ok "$* does not start"
}

stop() {
    kill "$agent"
    wait "$agent"
    check "SIGTERM ends it with 0" test $? = 0
    agent=
}

# await COMMAND...: until it succeeds, at most a minute; then it fails.
await() {
    late=$(($(date +%s) + 60))
    while [ "$(date +%s)" -lt "$late" ]; do
        "$@" >/dev/null 2>&1 && return
        sleep 0.05
    done
    "$@"
}

# devices [KEY]: a devices file for the agent.
devices() {
    printf '[a]\nboard = x86\naddress = tcp://127.0.0.1:%s\n' "${endpoint##*:}" >one.conf
    [ $# = 0 ] || echo "key = $1" >>one.conf
}
