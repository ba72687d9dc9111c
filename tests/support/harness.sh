# Sourced by the shell tests of the command line. Sets adaps, src, work (a fresh folder, removed at the
# end, and the current one), and counts failures; a test ends with `finish`.
set -u

absolute() {
    case $1 in
        /*) echo "$1" ;;
        *) echo "$(pwd)/$1" ;;
    esac
}
adaps=$(absolute "${ADAPS:-./adaps}")
npydiff=$(absolute "${NPYDIFF:-./tests/support/npydiff}")
[ -x "$adaps" ] || { echo "no program $adaps (ADAPS)"; exit 99; }
src=$(cd "${srcdir:-.}" && pwd)
work=$(mktemp -d "${TMPDIR:-/tmp}/adaps-test.XXXXXX") || exit 99
export adaps npydiff src work TMPDIR="$work"
PATH=$(dirname "$adaps"):$PATH
export PATH XDG_CONFIG_HOME="$work/config" XDG_CACHE_HOME="$work/cache" COLUMNS=200
trap '[ -z "$local_pid" ] || kill "$local_pid"; wait; cd /; rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
cd "$work" || exit 99
tests=0
failures=0

ok() {
    tests=$((tests + 1))
    printf 'ok %d - %s\n' "$tests" "$1"
}

not_ok() {
    tests=$((tests + 1))
    failures=$((failures + 1))
    printf 'not ok %d - %s\n' "$tests" "$1"
    for file in out err; do
        [ -s "$work/$file" ] && sed "s/^/# $file: /" "$work/$file"
    done
    return 0
}

# status EXPECTED DESCRIPTION COMMAND...: runs it; its output is in $work/out and $work/err.
status() {
    expected=$1
    description=$2
    shift 2
    "$@" >"$work/out" 2>"$work/err"
    code=$?
    if [ "$code" -eq "$expected" ]; then
        ok "$description"
    else
        not_ok "$description: exit $code instead of $expected ($*)"
    fi
}

# says FILE PATTERN DESCRIPTION: $work/FILE matches the basic regular expression.
says() {
    if grep -q -e "$2" "$work/$1"; then
        ok "$3"
    else
        not_ok "$3: no '$2' in $1"
    fi
}

# check DESCRIPTION COMMAND...: the command succeeds. It may read $work/out and $work/err.
check() {
    description=$1
    shift
    if "$@" >"$work/checked" 2>&1; then
        ok "$description"
    else
        not_ok "$description"
        sed "s/^/# it says: /" "$work/checked"
    fi
}

# start_agents N [OPTION...]: adaps local in the background; its devices file is $work/local.conf, its
# process $local_pid. Returns when the agents are ready.
local_pid=
start_agents() {
    rm -f "$work/ready"
    mkfifo "$work/ready"
    adaps local "$@" >"$work/ready" 2>"$work/local.err" &
    local_pid=$!
    cat "$work/ready" >"$work/local.conf"
    [ -s "$work/local.conf" ] || not_ok "adaps local $*: $(cat "$work/local.err")"
}

# Ends them; its exit status is that of adaps local.
stop_agents() {
    kill "$local_pid"
    wait "$local_pid"
    local_code=$?
    local_pid=
    return "$local_code"
}

# agent_pid NAME: the process of an agent, from the devices file.
agent_pid() {
    sed -n "/^\[$1\]/,/^$/s/^; process //p" "$work/local.conf"
}

finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
    exit
}
