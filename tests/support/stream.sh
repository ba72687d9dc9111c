# For tests in shell of streams through agents that come and go: sourced after harness.sh, with the agents' $speed and
# the number of different inputs, $kinds, set. All its processes end with the test.
# shellcheck shell=sh
daemon=$build/adaps-agent
models=$src/models
pids=
trap 'for pid in $pids; do kill -KILL "$pid"; done 2>"$work/killed"; wait; cd /; rm -rf "$work"' EXIT

# agent N ENDPOINT [OPTION...]: starts agent aN; its process is $agent, its lines of a devices file are in N.conf.
agent() {
    n=$1 listen=$2
    shift 2
    rm -f ready
    mkfifo ready
    "$daemon" --listen "$listen" --speed "$speed" --threads 1 --cache "cache$n" --ready-fd 3 "$@" 3>ready 2>"agent$n.err" &
    agent=$!
    pids="$pids $agent"
    read -r endpoint <ready
    [ -n "$endpoint" ] || not_ok "agent $n does not start: $(cat "agent$n.err")"
    printf '[a%d]\nboard = x86\naddress = tcp://127.0.0.1:%s\nspeed = %s\nthreads = 1\n' "$n" "${endpoint##*:}" "$speed" >"$n.conf"
}

# stream N [OPTION...]: a run of net.plan with so many inputs in the background, as $run; what it says is in out and err.
stream() {
    count=$1
    shift
    set -- "$@" net.plan
    i=0
    while [ $i -lt "$count" ]; do
        set -- "$@" "$((i % kinds)).png"
        i=$((i + 1))
    done
    rm -rf answers
    mkdir answers
    adaps run -o 'answers/%03d.npy' "$@" >out 2>err &
    run=$!
}

# ends CODE DESCRIPTION: the run does so.
ends() {
    wait "$run"
    code=$?
    if [ $code = "$1" ]; then ok "$2"; else not_ok "$2: exit $code instead of $1: $(cat err)"; fi
}

# pictures: a noisy one, and each other is what net.plan makes of the one before; and the answers, which differ.
pictures() {
    cp "$models/samples/noisy.png" 0.png
    i=1
    while [ $i -lt "$kinds" ]; do
        status 0 "picture $i" adaps run --local -o "$i.png" net.plan "$((i - 1)).png"
        i=$((i + 1))
    done
    references
    check "they differ" sh -c "! cmp -s 0.npy 1.npy && ! cmp -s $((kinds - 2)).npy $((kinds - 1)).npy"
}

# references: the answers of one device by net.plan.
references() {
    i=0
    while [ $i -lt "$kinds" ]; do
        status 0 "answer $i of one device" adaps run --local -o "$i.npy" net.plan "$i.png"
        i=$((i + 1))
    done
}

# answered DESCRIPTION: all answers are there, in order, with the bits of one device.
answered() {
    wrong=
    i=0
    while [ $i -lt "$count" ]; do
        cmp "$(printf 'answers/%03d.npy' $i)" "$((i % kinds)).npy" >differ 2>&1 || wrong="$wrong $i"
        i=$((i + 1))
    done
    check "$1: $count answers, each its input's${wrong:+, but not$wrong}" test -z "$wrong"
}
