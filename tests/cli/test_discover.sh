#!/bin/sh
# adaps discover, and how agents announce themselves: with a D-Bus and an Avahi of their own, in a network of
# their own.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
PATH=$PATH:/usr/sbin:/sbin

if [ "${1-}" != inside ]; then
    cd / || exit 99
    unshare -nm true 2>"$work/err" || skip "no namespaces: $(cat "$work/err")"
    command -v dbus-daemon >"$work/out" || skip "no dbus-daemon (./bootstrap check installs it)"
    command -v avahi-daemon >"$work/out" || skip "no avahi-daemon (./bootstrap check installs it)"
    command -v ip >"$work/out" || skip "no ip (./bootstrap check installs iproute2)"
    srcdir=$src ADAPS=$adaps NPYDIFF=$npydiff TMPDIR=$work unshare -nm "$src/tests/cli/test_discover.sh" inside
    exit $?
fi
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"
bus=
avahi=
trap 'for pid in $agent $other $avahi $bus; do kill "$pid"; done; wait; cd /; rm -rf "$work"' EXIT
other=

mount -t tmpfs none /run || skip "no mounts"
mkdir -p /run/dbus services
mount --bind services /etc/avahi/services || skip "Avahi has no folder of services"
ip link set lo up
ip link add near0 type veth peer name near1 || skip "no interfaces of our own"
ip address add 10.77.0.1/24 dev near0
ip link set near0 up
ip link set near1 up

cat >bus.conf <<'END'
<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig>
  <type>system</type>
  <listen>unix:path=/run/dbus/system_bus_socket</listen>
  <policy context="default">
    <allow user="*"/>
    <allow own="*"/>
    <allow send_destination="*"/>
    <allow receive_sender="*"/>
  </policy>
</busconfig>
END
cat >avahi.conf <<'END'
[server]
host-name=board-a
allow-interfaces=near0
use-ipv6=no
[wide-area]
enable-wide-area=no
END

start_bus() {
    dbus-daemon --config-file="$work/bus.conf" --nofork --nopidfile --print-address=3 3>address &
    bus=$!
    await test -s address
}

start_avahi() {
    avahi-daemon --no-drop-root --no-chroot --no-rlimits -f "$work/avahi.conf" >>avahi.log 2>&1 &
    avahi=$!
}

stop_avahi() {
    kill "$avahi"
    wait "$avahi"
    avahi=
}

# lists PATTERN DESCRIPTION [OPTION...]: discover lists a line of the kind, sooner or later. What it says is in out and err.
listed() {
    pattern=$1
    shift
    "$adaps" discover --time 300ms "$@" >out 2>err && grep -q -e "$pattern" out
}
lists() {
    pattern=$1
    description=$2
    shift 2
    check "$description" await listed "$pattern" "$@"
}

"$adaps" discover --time 100ms >out 2>err
if grep -q "built without Avahi" err; then skip "this build has no Avahi"; fi
if grep -q "library is not there" err; then skip "no libavahi-client3 (./bootstrap check installs it)"; fi

status 0 "keys for the agent" "$adaps" keygen -o key
public=$(cat out)
status 0 "keys for the controller" "$adaps" keygen
cp out allow

# Without D-Bus, and then without Avahi's daemon.
status 4 "without D-Bus" "$adaps" discover --time 100ms
says err "^adaps discover: Avahi's daemon does not answer (Debian: avahi-daemon): " "it says what is missing"
agent_log=agent.log
start "$daemon" --listen tcp://10.77.0.1:5570 --name lamp --key key --allow allow
await grep -q "^lamp: not announced in the local network: " agent.log
check "an agent works without, and says so once" test "$(grep -c 'not announced' agent.log)" = 1
printf '[a]\nboard = x86\naddress = tcp://10.77.0.1:5570\nkey = %s\n' "$public" >one.conf
status 0 "by its address it is reached" "$adaps" status -d one.conf
stop
start_bus
status 4 "without Avahi's daemon" "$adaps" discover --time 100ms
says err "Daemon not running" "it says what is missing"
start "$daemon" --listen tcp://10.77.0.1:5570 --name lamp --key key --allow allow
start_avahi
lists "^lamp" "an agent waits for the daemon"
check "and says nothing about it" test "$(grep -c announced agent.log)" = 0

# What is told of it.
says out "^lamp *board-a.local *tcp://10.77.0.1:5570 .* not paired$" "name, host and address of one that is not paired"
check "its version" test "$(cell out lamp version)" = "$("$adaps" --version | cut -d ' ' -f 2)"
check "nobody may ask for its load" test "$(cell out lamp load)" = -
lists '"name":"lamp"' "JSON" --json
has out '"name":"lamp","host":"board-a.local","address":"tcp://10.77.0.1:5570","board":' "its place"
has out "\"key\":\"$public\",\"paired\":false,\"device\":null,\"state\":null,\"load\":null" "its key"
check "its board" grep -q -e '"board":"x86"' -e '"board":"n100"' -e '"board":"pi' -e '"board":null' out

# Paired: by the key, wherever it is.
lists "^lamp .* idle .* a$" "a device of the devices file" -d one.conf
check "its state" test "$(cell out lamp state)" = idle
check "its load" expr "$(cell out lamp load)" : '[0-9.]*$' '>' 0
check "it is where the file says" test ! -s err
sed 's/10.77.0.1/10.77.0.9/' one.conf >moved.conf
lists '"paired":true,"device":"a","state":"idle"' "a device that has moved is found by its key" -d moved.conf --json
has err "adaps discover: a is at tcp://10.77.0.1:5570 now, the devices file has tcp://10.77.0.9:5570" "which is said"

# Commands that connect look for it, too, when nobody is at its address, or somebody else.
status 0 "a command finds a device that has moved" "$adaps" status -d moved.conf --deadline 1s
sed 's/10.77.0.1/board-c.invalid/' one.conf >unknown.conf
status 0 "and one whose name is not known any more" "$adaps" status -d unknown.conf --deadline 5s
status 0 "a plan for it" "$adaps" plan -d moved.conf --evaluations 100 -o moved.plan "$src/models/denoise.onnx"
status 0 "runs there" "$adaps" run --deadline 2s moved.plan "$src/models/samples/noisy.png"
status 0 "somebody else's keys" "$adaps" keygen -o other.key
mkfifo elsewhere
"$daemon" --listen tcp://10.77.0.1:5571 --name else --key other.key --allow allow --announce no --ready-fd 3 \
    3>elsewhere 2>other.log &
other=$!
read -r second <elsewhere
sed 's/:5570/:5571/' one.conf >else.conf
status 0 "somebody else at its address" "$adaps" status -d else.conf --deadline 1s
kill "$other" && wait "$other"
other=
sed 's/^key = ./key = 0/' moved.conf >nobody.conf
status 4 "a key that nobody has" "$adaps" status -d nobody.conf --deadline 1s
says err "agent 'a' (tcp://10.77.0.9:5570)" "is told with the address of the file"
mkdir -p config/adaps && cp one.conf config/adaps/cluster.conf
lists "^lamp .* a$" "the user's cluster.conf counts"
echo nonsense >config/adaps/cluster.conf
status 3 "a cluster.conf that is none" "$adaps" discover --time 100ms
says err "cluster.conf.*adaps pair writes it)$" "it says where that comes from"
rm config/adaps/cluster.conf

# A daemon that starts again.
stop_avahi
status 4 "the daemon has gone" "$adaps" discover --time 100ms
start_avahi
lists "^lamp" "the agent announces itself again"

# A new key.
status 0 "another key" "$adaps" keygen -f -o key
new=$(sed 's/[][\\.*^$]/\\&/g' out)
kill -HUP "$agent"
await grep -q "the public key is now" agent.log
lists "\"key\":\"$new\"" "is announced" --json

# Others: without keys, with the same name, without being told, on loopback only.
mkfifo others
"$daemon" --listen tcp://10.77.0.1:5571 --name lamp --insecure --ready-fd 3 3>others 2>other.log &
other=$!
read -r second <others
lists "^lamp #2 .* tcp://10.77.0.1:5571" "one with the same name gets another"
check "one without keys is asked" test "$(cell out 'lamp #2' state)" = idle
lists "^lamp  " "the first is still there"
kill "$other" && wait "$other"
"$daemon" --listen tcp://10.77.0.1:5571 --name quiet --insecure --announce no --ready-fd 3 3>others 2>other.log &
other=$!
read -r second <others
status 0 "an agent that is not to be announced answers" sh -c "printf '[q]\nboard = x86\naddress = %s\n' $second >q.conf
    '$adaps' status -d q.conf"
status 2 "neither yes nor no" "$daemon" --announce perhaps
has err "--announce perhaps: it must be yes or no" "which is said"
printf '[agent]\nannounce = perhaps\n' >bad.conf
status 3 "nor in a file" "$daemon" --config bad.conf
says err "bad.conf:2: \[agent\] announce = perhaps: yes or no is wanted" "which is said"

# Anybody can say anything in a network.
printf '<service-group><name>liar</name><service><type>_adaps._tcp</type><port>5570</port>%s%s</service></service-group>' \
    '<txt-record value-format="binary-hex">board=1b5b33316d78</txt-record>' '<txt-record>key=short</txt-record>' \
    >services/liar.service
kill -HUP "$avahi"
lists '^liar .* ?\[31mx ' "somebody else's words"
check "have no control characters" test "$(tr -d '[:print:]\n' <out | wc -c)" = 0
lists '"name":"liar"' "JSON" --json
has out '"name":"liar","host":"board-a.local","address":"tcp://10.77.0.1:5570","board":"?[31mx","version":null,"key":null' \
    "a key that is none does not count"
check "what is not to be announced is not" test "$(grep -c quiet out)" = 0
stop
check "an agent that ends takes it back" await sh -c "! '$adaps' discover --time 300ms | grep -q '^lamp'"
finish
