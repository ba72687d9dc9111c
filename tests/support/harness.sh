# Sourced by the shell tests. Sets adaps (the program), src (the source folder), build (the build folder)
# and work (a fresh folder, which is the current one and is removed at the end), and counts failures. A test
# ends with `finish`.
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
build=$(dirname "$adaps")
export adaps npydiff src build work TMPDIR="$work"
PATH=$build:$PATH
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

# skip REASON: ends a test that cannot run here. With NO_SKIP in the environment that is a failure.
skip() {
    echo "1..0 # SKIP $*"
    [ -n "${NO_SKIP-}" ] || exit 77
    echo "Bail out! NO_SKIP is set"
    exit 99
}

# is_sanitized: a sanitizer is in the programs. They are ten times slower then, and their memory grows, since what is freed
# is kept for a while.
is_sanitized() {
    grep -q -e __asan_init -e __tsan_init "$build/adaps-agent"
}

# need_python MODULE...: sets python to an interpreter that has the modules ($PYTHON, or Debian's), or skips.
need_python() {
    python=${PYTHON:-/usr/bin/python3}
    PYTHONDONTWRITEBYTECODE=1
    export python PYTHONDONTWRITEBYTECODE
    for module in "$@"; do
        "$python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$module'))" 2>"$work/err" ||
            skip "$python has no module $module (Debian: python3-$module; ./bootstrap bench installs it)"
    done
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

# has FILE TEXT DESCRIPTION: $work/FILE contains the text.
has() {
    if grep -qF -e "$2" "$work/$1"; then
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

# Tables (TSV files with titles) are read by the names of their columns.

# rows TABLE [CONDITION]: how many lines meet the condition of awk, in which f("TITLE") is a field of the line.
rows() {
    condition=$(printf '%s' "${2-1}" | tr '\n' ' ')
    awk -F '\t' '
        function f(title) {
            if (title in at) return $at[title]
            print "no column " title >"/dev/stderr"
            exit bad = 1
        }
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        '"($condition)"' { n++ }
        END { if (!bad) print n + 0 }' "$1"
}

# field TABLE COLUMN [TITLE=VALUE...]: that column of the lines whose fields have these values.
field() {
    table=$1
    column=$2
    shift 2
    awk -F '\t' -v column="$column" -v wanted="$(printf '%s\t' "$@")" '
        NR == 1 {
            for (i = 1; i <= NF; i++) at[$i] = i
            n = split(wanted, want, "\t") - 1
            for (i = 1; i <= n; i++) {
                title[i] = substr(want[i], 1, index(want[i], "=") - 1)
                value[i] = substr(want[i], index(want[i], "=") + 1)
                if (title[i] != "" && !(title[i] in at)) column = title[i]
            }
            if (!(column in at)) {
                print "no column " column >"/dev/stderr"
                exit 1
            }
            next
        }
        {
            for (i = 1; i <= n; i++) if (title[i] != "" && $at[title[i]] "" != value[i]) next
            print $at[column]
        }' "$table"
}

# cell FILE ROW COLUMN: a cell of a table for people, by the first cell of its row and by its title. Cells
# are separated by two spaces or more. The file may have other text and tables.
cell() {
    awk -F '  +' -v row="$2" -v column="$3" '
        { sub(/^ +/, "") }
        at && $1 == row { print $at; exit }
        { for (i = 1; i <= NF; i++) if ($i == column) { at = i; break } }' "$1"
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
