#!/bin/sh
# Names whose servers are silent: every command ends within its deadline, and names the host. Needs a network
# and a /etc/resolv.conf of its own.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
PATH=$PATH:/usr/sbin:/sbin

# Servers that take questions and answer none.
if [ "${1-}" != inside ]; then
    cd / || exit 99
    unshare -nm true 2>"$work/err" || skip "no namespaces: $(cat "$work/err")"
    command -v nft >"$work/out" || skip "no nft"
    srcdir=$src ADAPS=$adaps NPYDIFF=$npydiff TMPDIR=$work unshare -nm "$src/tests/cli/test_names.sh" inside
    exit $?
fi
ip link set lo up
nft add table inet silent
nft add chain inet silent in '{ type filter hook input priority 0; }'
nft add rule inet silent in udp dport 53 drop
nft add rule inet silent in tcp dport 53 drop
printf '%s\n' 'nameserver 127.0.0.1' 'options timeout:30' >resolv.conf
echo '127.0.0.1 localhost' >hosts
mount --bind resolv.conf /etc/resolv.conf || skip "no mounts"
mount --bind hosts /etc/hosts

# in_time DESCRIPTION COMMAND...: long before the resolver gives up, which takes a minute. The deadline is a second; a
# busy machine may take some more to start the program.
in_time() {
    description=$1
    shift
    begun=$(date +%s%N)
    status 4 "$description" "$@"
    took=$((($(date +%s%N) - begun) / 1000000))
    if [ "$took" -lt 20000 ]; then ok "$description: in time"; else not_ok "$description: it took $took ms"; fi
}

cp -r "$src/devices/boards" boards
cat >far.conf <<'END'
[link]
bandwidth = 100mbit
latency = 0.3ms
[near]
board = pi5
address = tcp://nowhere.example:5570
source = yes
[far]
board = pi5
address = tcp://nowhere.example:5571
END
status 0 "plan" "$adaps" plan -d far.conf --strategy edgeflow -o far.plan "$src/models/denoise.onnx"
in_time "status" "$adaps" status -d far.conf --deadline 1s
in_time "push" "$adaps" push --deadline 1s far.plan
says err "nowhere.example" "the host is named"
in_time "run" "$adaps" run --deadline 1s far.plan "$src/models/samples/noisy.png"
in_time "profile" "$adaps" profile -d far.conf --deadline 1s

# An agent that cannot find another one, though the controller can.
"$adaps" local 2 -o two.conf >local.out 2>&1 &
local_pid=$!
until [ -s two.conf ]; do sleep 0.05; done
sed 's/tcp:..127.0.0.1/tcp:\/\/nearby.example/' two.conf >named.conf
status 0 "plan for agents with names" "$adaps" plan -d named.conf --strategy edgeflow -o named.plan "$src/models/denoise.onnx"
cat >with_hosts <<'END'
#!/bin/sh
{ cat hosts; echo '127.0.0.1 nearby.example'; } >more_hosts
mount --bind more_hosts /etc/hosts
exec "$@"
END
chmod +x with_hosts
status 0 "push" unshare -m ./with_hosts "$adaps" push named.plan
in_time "run" unshare -m ./with_hosts "$adaps" run --deadline 1s named.plan "$src/models/samples/noisy.png"
says err "nearby.example" "the host is named"
status 0 "the agents are usable" "$adaps" verify -d two.conf named.plan
finish
