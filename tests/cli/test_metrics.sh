#!/bin/sh
# Metrics of an agent and of a run, over HTTP: read by a parser of its own, held against what the run says; who may
# read them; what is refused; and that the dashboard knows no others.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

need_python
daemon=$build/adaps-agent
pids=
trap 'for pid in $pids; do kill "$pid" 2>/dev/null; done; wait; cd /; rm -rf "$work"' EXIT
"$daemon" --metrics 127.0.0.1:1 --config nowhere >out 2>err
! grep -q 'without libmicrohttpd' err || skip "this build has no libmicrohttpd"
metrics() {
    "$python" "$src/tests/support/metrics.py" "$@"
}

# url FILE: where a program said that its metrics are, once it has.
url() {
    late=$(($(date +%s) + 60))
    until grep -q 'metrics at ' "$1" || [ "$(date +%s)" -ge "$late" ]; do sleep 0.05; done
    sed -n 's/^.*metrics at //p' "$1"
}

# agent NAME OPTION...: in the background; sets endpoint, and what it says is in NAME.err.
agent() {
    name=$1
    shift
    rm -f ready
    mkfifo ready
    "$daemon" --listen 'tcp://127.0.0.1:*' --threads 1 --cache "cache-$name" --ready-fd 3 "$@" 3>ready 2>"$name.err" &
    pids="$pids $!"
    read -r endpoint <ready
    [ -n "$endpoint" ] || not_ok "agent $name does not start: $(cat "$name.err")"
    printf '[%s]\nboard = x86\naddress = %s\nspeed = %s\nthreads = 1\n' "$name" "$endpoint" "$speed" >>two.conf
}

# value METRIC: of $work/out.
value() {
    awk -v name="$1" '$1 == name { print $2 }' out
}

# is DESCRIPTION METRIC NUMBER
is() {
    check "$1: $(value "$2") is $3" test "$(value "$2")" = "$3"
}

printf '[link]\nbandwidth = 1gbit\nlatency = 0.1ms\n' >two.conf
speed=1
agent lamp --name 'la"mp\' --metrics 127.0.0.1:*
lamp=$(url lamp.err)
agent table --metrics '[::1]:0'
table=$(url table.err)
case $table in
    'http://[::1]:'*) ok "an IPv6 address" ;;
    *) table=
        grep -q '::1' table.err && not_ok "no IPv6 address: $table" ;;
esac

status 0 "metrics of an agent that has done nothing" metrics fetch "$lamp" plain
is "no inference" adaps_inferences_total 0
is "no session" adaps_session_open 0
has out "adaps_build_info{machine=\"$(uname -m) Linux" "its version and machine"
has out ',name="la"mp\"' "a name with anything in it"
check "memory" test "$(value 'adaps_memory_bytes{kind="total"}')" -gt 1000000
check "its start" sh -c "awk '/^process_start_time_seconds/ { exit !(\$2 > 1.6e9 && \$2 <= $(date +%s) + 1) }' out"
check "no predictions without a plan" sh -c "! grep -q predicted out"
status 0 "OpenMetrics" metrics fetch "$lamp" open
for kind in 'application/openmetrics-text open' 'text/plain plain' '*/* plain' \
    'application/openmetrics-text;q=0.3,text/plain;q=0.4 plain' 'application/openmetrics-text;version="1.0.0",*/* open' \
    'application/openmetrics-text;version=2.0.0 plain' 'application/openmetrics-text;q=0 plain' ', ;;q plain'; do
    status 0 "Accept: ${kind% *}" metrics fetch "$lamp" accept "${kind% *}" "${kind##* }"
done

# Who asks otherwise.
status 0 "HEAD" metrics head HEAD "$lamp"
says out '^200$' "is answered"
says out '^bytes: 0$' "without the text"
status 0 "POST" metrics head POST "$lamp"
says out '^405$' "is refused"
has out "Allow: GET, HEAD" "and told what is not"
status 0 "another path" metrics head GET "${lamp}x"
says out '^404$' "is not there"
status 0 "the root" metrics head GET "${lamp%metrics}"
says out '^200$' "says where to look"
status 0 "a parameter" metrics fetch "$lamp?x=y" plain

# Many connections that say nothing or too much: the agent takes some of them at a time, and serves again when they end.
cat >hold.py <<'E2'
import os, socket, sys, time, urllib.parse
at = urllib.parse.urlparse(sys.argv[1])
files = lambda: len(os.listdir(f"/proc/{sys.argv[2]}/fd"))
before, held, most = files(), [], 0
for i in range(28):
    s = socket.create_connection((at.hostname, at.port), 60)
    try:
        s.sendall(b"GET /metrics HTTP/1.1\r\nX: " + b"x" * 40000 if i % 8 == 7 else b"GET")
    except ConnectionError:
        pass
    held.append(s)
    most = max(most, files())
late = time.time() + 60
while files() < before + 16 and time.time() < late:
    pass
print("connections:", max(most, files()) - before)
E2
lamp_pid=${pids# }
status 0 "strangers" "$python" hold.py "$lamp" "${lamp_pid%% *}"
says out '^connections: 16$' "get sixteen connections, whatever they send"
status 0 "and the agent serves on" metrics fetch "$lamp" plain

# A stream, which waits for its last picture: its own metrics and the agents' agree.
status 0 "a plan" adaps plan -d two.conf --strategy edgeflow -o net.plan "$src/models/digits.onnx"
picture=$src/models/samples/digit-7.png
frames() {
    head -c $((28 * 28 * $1)) /dev/zero
}
mkfifo frames
adaps classify --metrics 127.0.0.1:0 --raw 28x28:gray net.plan frames >run.out 2>run.err &
run=$!
pids="$pids $run"
exec 4>frames
frames 9 >&4
own=$(url run.err)
late=$(($(date +%s) + 60))
until metrics fetch "$own" open >out 2>err && [ "$(value adaps_inferences_begun_total)" -ge 9 ] || [ "$(date +%s)" -ge "$late" ]; do
    sleep 0.05
done
is "a session while it runs" adaps_session_open 1
cp out during
"$python" -c "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())" "$own" >run.text
status 0 "the agent's, meanwhile" metrics fetch "$lamp" open
is "it has a session" adaps_session_open 1
has out 'adaps_plan_info{digest="' "and a plan"
has out 'model="digits.onnx"} 1' "which it names"
check "with its prediction" sh -c "grep -q '^adaps_predicted_latency_seconds 0[.]' out"
frames 1 >&4
exec 4>&-
wait "$run"
check "the stream ends" test $? = 0
status 0 "the source's" metrics fetch "$lamp" plain
is "ten inferences" adaps_inferences_total 10
is "all of them timed" adaps_inference_duration_seconds_count 10
is "none failed" 'adaps_inference_errors_total{kind="agent"}' 0
is "no session any more" adaps_session_open 0
is "there was one" adaps_sessions_total 1
sent=$(value 'adaps_link_transmit_bytes_total{peer="table"}')
received=$(value 'adaps_link_receive_bytes_total{peer="table"}')
check "bytes went to the peer" test "$sent" -gt 0
if [ -n "$table" ]; then
    status 0 "the peer's" metrics fetch "$table" plain
    is "it received what was sent" 'adaps_link_receive_bytes_total{peer="lamp"}' "$sent"
    is "and sent what was received" 'adaps_link_transmit_bytes_total{peer="lamp"}' "$received"
    is "nothing was timed there" adaps_inference_duration_seconds_count 0
fi
status 0 "the same of status" adaps status -d two.conf --json
has out "\"peer\":\"table\",\"bytes_sent\":$sent," "in bytes"
cp during out
has out 'adaps_device_compute_seconds_total{device="table"}' "a run's metrics have its devices"

# A run's server ends with it, also when it fails.
status 2 "an address with a path is refused" adaps run --metrics "$lamp" net.plan "$picture"
has err "an address and a port, such as 127.0.0.1:9570, are wanted" "and it says what is wanted"
status 4 "an address in use" adaps run --metrics "$(echo "$lamp" | sed 's|http://||; s|/metrics||')" net.plan "$picture"
has err "cannot serve metrics at" "is told"

# Who may read them: nobody on other machines, unless it is said.
for address in 0.0.0.0:0 '[::]:0' '*:0' 192.0.2.1:9570; do
    status 2 "$address" "$daemon" --metrics "$address"
    has err "$address can be reached from other machines" "is refused"
    has err "say $address,public" "but for this"
done
for address in '' localhost 127.0.0.1:99999 lamp.local:9570 127.0.0.1:9570,private tcp://127.0.0.1:9570; do
    status 2 "--metrics '$address'" "$daemon" --metrics "$address"
done
speed=1
agent open --metrics 0.0.0.0:0,public
has open.err "metrics at http://0.0.0.0:" "said plainly, it serves all"
agent odd --name "$(printf 'od\377d\033[2J\302\265')" --metrics 127.0.0.1:0
status 0 "a name of bytes that are no text" metrics fetch "$(url odd.err)" open
has out ',name="od?d?[2J'"$(printf '\302\265')\"" "is cleaned"
printf '[agent]\nmetrics = 0.0.0.0:9570\n' >bad.conf
status 3 "a settings file" "$daemon" --config bad.conf
has err "bad.conf:2: [agent] metrics = 0.0.0.0:9570: 0.0.0.0:9570 can be reached" "has the same rule"
printf '[agent]\nmetrics = 127.0.0.1:0\n' >good.conf
agent settings --config good.conf
status 0 "and the same server" metrics fetch "$(url settings.err)" plain

# The rules of Prometheus, and the dashboard.
if command -v promtool >/dev/null; then
    "$python" -c "import sys, urllib.request as u; sys.stdout.write(u.urlopen(sys.argv[1]).read().decode())" "$lamp" >text
    promtool check metrics <text >out 2>err
    check "promtool has nothing to say of an agent's" test $? = 0 -a ! -s err
    promtool check metrics <run.text >out 2>err
    check "nor of a run's" test $? = 0 -a ! -s err
else
    echo "# promtool is not installed (Debian: prometheus)"
fi
metrics fetch "$lamp" plain >all
cat during >>all
metrics names "$src/data/grafana-dashboard.json" >named
check "the dashboard has metrics" test "$(wc -l <named)" -ge 10
while read -r name; do
    case $name in
        *temperature*) grep -q "^$name[{ ]" all || continue ;; # not all machines say
    esac
    check "the dashboard's $name is served" grep -q "^$name[{ ]" all
done <named
metrics fetch "$lamp" plain | sed 's/[{ ].*//; s/_bucket$//; s/_sum$//; s/_count$//' | sort -u >served
sed 's/[{ ].*//; s/_bucket$//; s/_sum$//; s/_count$//' during | sort -u >served-run
while read -r name; do
    check "adaps-agent(8) tells of $name" grep -q "$name" "$src/man/adaps-agent.8"
done <served
while read -r name; do
    check "adaps-run(1) tells of $name" grep -q "$name" "$src/man/adaps-run.1"
done <served-run
finish
