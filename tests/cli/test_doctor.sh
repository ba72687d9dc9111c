#!/bin/sh
# adaps doctor: two healthy agents have no bad line; then troubles are planted one by one, and each is found, judged, and
# told what to do about.
# shellcheck disable=SC2154 # pid
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
daemon=$build/adaps-agent
old_agent=$build/tests/support/old_agent
COLUMNS=1000
pids=
trap 'for pid in $pids; do kill -KILL "$pid"; done 2>"$work/killed"; wait; cd /; rm -rf "$work"' EXIT

# --- agents on planted machines ---

# tree NAME: what a healthy board says, below the folder NAME.
tree() {
    rm -rf "$1"
    mkdir -p "$1/proc/self" "$1/proc/device-tree" "$1/sys/devices/platform/soc/soc:firmware" "$1/sys/class/thermal/thermal_zone0" \
        "$1/sys/devices/system/cpu/cpu0/cpufreq" "$1/sys/class/net/lo" "$1/sys/fs/cgroup"
    echo 0.10 0.10 0.10 1/100 200 >"$1/proc/loadavg"
    memory "$1" 2000000 0
    printf 'pswpin 0\npswpout 0\n' >"$1/proc/vmstat"
    printf 'Raspberry Pi 4 Model B Rev 1.4\0' >"$1/proc/device-tree/model"
    throttled "$1" 0
    echo 45000 >"$1/sys/class/thermal/thermal_zone0/temp"
    echo performance >"$1/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"
    echo 1000 >"$1/sys/class/net/lo/speed"
    echo full >"$1/sys/class/net/lo/duplex"
    echo 1500 >"$1/sys/class/net/lo/mtu"
}
# memory NAME KIB SWAPPED_KIB
memory() {
    printf 'MemTotal: 4000000 kB\nMemAvailable: %s kB\nSwapTotal: 100000 kB\nSwapFree: %s kB\n' "$2" $((100000 - $3)) >"$1/proc/meminfo"
}
throttled() {
    echo "$2" >"$1/sys/devices/platform/soc/soc:firmware/get_throttled"
}

# agent NAME [OPTION...]: an agent, whose process is $agent and whose port is $port; $within: a command that becomes it.
agent() {
    name=$1
    shift
    rm -f ready
    mkfifo ready
    ${within-} "$daemon" --listen 'tcp://127.0.0.1:*' --name "$name" --sysroot "$name" --cache "cache-$name" --ready-fd 3 "$@" 3>ready 2>"$name.log" &
    agent=$!
    pids="$pids $agent"
    read -r endpoint <ready
    [ -n "$endpoint" ] || not_ok "$name does not start: $(cat "$name.log")"
    port=${endpoint##*:}
}

# stop PID: ends it, and waits until it is gone.
stop() {
    kill -KILL "$1"
    wait "$1" 2>"$work/killed"
}

# old WORD VALUE...: something like an agent (old_agent.c), and a devices file for it. It ends with `gone`.
old() {
    rm -f stay said
    mkfifo stay said
    "$old_agent" "$@" <stay >said &
    pids="$pids $!"
    exec 4>stay
    read -r endpoint <said
    printf '[old]\naddress = %s\nboard = x86\n' "$endpoint" >old.conf
}
gone() {
    exec 4>&-
    wait "$!"
}

# --- what doctor says ---

# finding DEVICE ID: its line "VERDICT FOUND -> ADVICE" in $work/out. A pair is "A - B", the whole "all together".
finding() {
    awk -v device="$1" -v id="$2" '
        /^[^ ]/ { at = $0 == device || index($0, device "  ") == 1; next }
        at && $2 == id { line = $1; for (i = 3; i <= NF; i++) line = line " " $i; next }
        /^ *->/ && line != "" { for (i = 1; i <= NF; i++) line = line " " $i }
        line != "" { print line; line = ""; exit }
        END { if (line != "") print line }' "$work/out"
}

# found DEVICE ID PATTERN: the line matches.
found() {
    if finding "$1" "$2" | grep -q -e "$3"; then
        ok "$1: $2: $3"
    else
        not_ok "$1: $2 is '$(finding "$1" "$2")' and not '$3'"
    fi
}

# doctor CODE [OPTION...]: on both agents, asking only.
doctor() {
    code=$1
    shift
    status "$code" "doctor $*" adaps doctor --quick --deadline 10s "$@"
}

# --- usage ---

status 2 "no devices file" adaps doctor
status 2 "two plans" adaps doctor -d x.conf a b
status 3 "a devices file that is not there" adaps doctor -d x.conf
printf '[a]\nwrong = 1\n' >wrong.conf
status 3 "one that is wrong" adaps doctor -d wrong.conf
printf '[a]\naddress = tcp://127.0.0.1:9\n' >nobody.conf
status 3 "a plan that is not there" adaps doctor -d nobody.conf no.plan

# --- two healthy agents ---

tree a
tree b
agent a --threads 1 --speed 0.02
a=$agent a_port=$port
agent b --threads 1 --speed 0.02
b_port=$port
cat >pair.conf <<END
[link]
bandwidth = 100mbit
latency   = 0.3ms
[a]
address = tcp://127.0.0.1:$a_port
board   = x86
threads = 1
speed   = SPEED
source  = yes
[b]
address = tcp://127.0.0.1:$b_port
board   = x86
threads = 1
speed   = SPEED
END
# The file promises what they do: this machine may be quicker or slower than the board's table has it. Both do the same, and
# the quicker one counts, since other work on this machine only makes them slower.
for device in a b; do
    sed -n "s/SPEED/0.02/; s/^source.*//; /^\[$device\]/,/^speed/p" pair.conf >guess.conf
    adaps doctor --json -d guess.conf
done >guess.json
speed=$(tr '{' '\n' <guess.json | awk -F '[:,]' '/"id":"speed"/ {
    for (i = 1; i < NF; i++) { if ($i == "\"expected\"") e = $(i + 1); if ($i == "\"value\"") v = $(i + 1) }
    if (v > 0 && 0.02 * e / v > most) most = 0.02 * e / v
} END { print most }')
check "their speed is measured" test -n "$speed"
sed "s/SPEED/$speed/" pair.conf >healthy.conf
tries=1
while ! adaps doctor -d healthy.conf >well && [ $tries -lt 8 ]; do
    tries=$((tries + 1)) # other work may have disturbed it
done
status 0 "nothing is bad" grep ' 0 bad' well
cp well out
for device in a b; do
    for id in reach key protocol version session clock voltage throttle temperature governor threads load memory swap cache interface mtu; do
        found $device $id '^ok '
    done
    found $device speed '^\(ok\|warning\) .*predicted'
done
found 'a - b' link '^ok '
found 'all together' together '^\(ok\|warning\) .*predicted'
says out '^[0-9]* ok, [0-9]* warnings*, 0 bad, [0-9]* unknown$' "a summary"
check "agents log no stranger" test ! -s a.log -o -z "$(grep refused a.log)"

doctor 0 -d healthy.conf
check "--quick measures nothing" sh -c "! grep -q -e '^a - b' -e 'all together' -e '  speed ' -e '  loss ' out"
status 0 "devices of the environment" env ADAPS_DEVICES=healthy.conf adaps doctor --quick
found b reach '^ok '
status 0 "the same as JSON" adaps doctor --quick --json -d healthy.conf
says out '"verdict":"ok"' "which is well"
has out '"id":"voltage","device":"b","peer":null,"what":"its power supply","verdict":"ok","found":"enough","advice":null,"value":0.0,"expected":null,"unit":"bits"' "a check"

# --- troubles of the machine ---

# trouble VERDICT ID PATTERN: of a; b stays well, and so is a again afterwards. Warnings alone are exit status 0.
trouble() {
    doctor "$([ "$1" = bad ] && echo 1 || echo 0)" -d healthy.conf
    found a "$2" "^$1 $3"
    found b "$2" '^ok '
    tree a
}
throttled a 4
status 1 "a trouble as JSON" adaps doctor --quick --json -d healthy.conf
says out '"verdict":"bad"' "which is bad"
has out '"bad":1,"unknown":0}' "one check"
if command -v python3 >/dev/null; then
    check "which another parser reads" python3 -c 'import json; c = json.load(open("out"))["checks"]
assert [x["id"] for x in c if x["verdict"] == "bad" and x["device"] == "a" and x["value"] == 4] == ["throttle"]'
fi
trouble bad throttle 'throttled now -> .*heat sink'
throttled a 50000
doctor 0 -d healthy.conf
found a voltage '^warning under-voltage since boot, not now -> .*power supply'
found a throttle '^warning throttled since boot, not now -> '
throttled a 1
trouble bad voltage 'under-voltage now -> .*power supply'
memory a 2000000 60000
trouble warning swap '61.4 MB of 102 MB in use -> .*sudo swapoff -a && sudo swapon -a'
echo powersave >a/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor
trouble warning governor 'powersave: .* -> .*echo performance | sudo tee /sys/devices/system/cpu/cpu\*/cpufreq/scaling_governor'
echo 84500 >a/sys/class/thermal/thermal_zone0/temp
case $(uname -m) in
    x86_64) trouble ok temperature '84 C' ;;
    *) trouble bad temperature '84 C: .* -> .*fan' ;;
esac
echo 101000 >a/sys/class/thermal/thermal_zone0/temp
trouble bad temperature '101 C: it slows itself down -> .*fan'
mkdir a/sys/class/net/lo/wireless
trouble warning interface 'lo is Wi-Fi.* -> connect it by cable.*medium = shared'
echo 100 >a/sys/class/net/lo/speed
trouble warning interface 'lo at 100 mbit/s, and it can do 1000: Raspberry Pi 4.* -> another cable'
echo 1280 >a/sys/class/net/lo/mtu
trouble warning mtu '1280 bytes on lo.* -> .*sudo ip link set lo mtu 1500'
echo 9.50 9 9 1/100 200 >a/proc/loadavg
trouble warning load '9.50 in the last minute.* -> .*top says who'
echo 0::/ >a/proc/self/cgroup
echo '50000 100000' >a/sys/fs/cgroup/cpu.max
trouble bad threads '1 compute threads share the time of 0.5 cores.* -> .*CPUQuota'
rm -r cache-a
touch cache-a
trouble bad cache 'nothing can be pushed there: .*cache-a.* -> .*df -h'
rm cache-a

# A small disk of its own, where that is allowed.
tree full
if unshare --mount true 2>"$work/err"; then
    cat >full-disk <<'END'
mkdir cache-full
mount -t tmpfs -o size=1m tmpfs cache-full
mkdir cache-full/blobs cache-full/plans cache-full/tmp
head -c 2000000 /dev/zero >cache-full/blobs/fill 2>fill.err
exec "$@"
END
    within="unshare --mount sh full-disk"
    agent full
    within=
    sed "s/127.0.0.1:$a_port/127.0.0.1:$port/" healthy.conf >full.conf
    doctor 1 -d full.conf
    found a cache '^bad nothing can be pushed there: .*No space left on device -> .*df -h'
    stop "$agent"
fi

# Nothing is told where the machine does not say.
rm -r a
mkdir a
doctor 0 -d healthy.conf
for id in voltage throttle temperature governor swap; do
    found a $id '^unknown not known'
done
tree a

# --- memory, for a plan ---

cp "$src/models/digits.onnx" .
status 0 "a plan" adaps plan -d healthy.conf --strategy modnn -o net.plan digits.onnx
doctor 0 -d healthy.conf net.plan
found a memory '^ok .* free, the plan needs '
doctor 0 net.plan
found b memory '^ok .* free, the plan needs '
doctor 0 -d healthy.conf digits.onnx
found a memory '^ok .* free, the plan needs '
memory a 100 0
doctor 1 net.plan
found a memory '^bad 102 kB free, and the plan needs .* -> .*memory = 0MiB'
found b memory '^ok '
tree a

# --- a session of somebody else: of a controller that is stopped ---

set -- net.plan
while [ $# -lt 800 ]; do
    set -- "$@" "$src/models/samples/digit-3.png"
done
adaps run -o 'answers.%03d.npy' "$@" >run.out 2>run.err &
run=$!
pids="$pids $run"
busy=
while [ -z "$busy" ] && kill -0 "$run" 2>"$work/killed"; do
    adaps status -d healthy.conf >status.out 2>&1
    grep -q busy status.out && busy=yes
done
kill -STOP "$run"
check "a session is open" test -n "$busy"
status 0 "doctor meanwhile" adaps doctor -d healthy.conf
found a session '^warning busy with the session of another controller -> wait'
found a speed '^unknown not measured: it is busy'
found 'a - b' link '^unknown not measured: it is busy'
stop "$run"

# --- links ---

# A relay in user space between the two: bench/testbed.
cat >relayed <<'END'
sed 's/^bandwidth.*/bandwidth = 1gbit/; s/^latency.*/latency = 0.1ms/' "$ADAPS_DEVICES" >promised.conf
adaps doctor -d promised.conf
END
status 1 "a link that is slower and longer than the file says" env TESTBED_HELPER="$build/bench/testbed-helper" ADAPS="$adaps" \
    sh "$src/bench/testbed" -n 2 --bed relay --rate 100mbit --latency 3ms --speed 0.1 -- sh relayed
found 'dev0 - dev1' rate '^bad [0-9.]* mbit/s, and the devices file says 1.00 gbit/s -> .*adaps profile --links-only'
found 'dev0 - dev1' rate-back '^bad [0-9.]* mbit/s, and the devices file says 1.00 gbit/s -> .*adaps profile --links-only'
found 'dev0 - dev1' latency '^bad [0-9.]* ms, and the devices file says 100 us -> .*power_save'
found 'dev0 - dev1' link '^ok '

# --- half of the promised speed; more threads than cores ---

stop "$a"
agent a --threads 1 --speed 0.008
sed "s/127.0.0.1:$a_port/127.0.0.1:$port/; /^\[b\]/,\$d" healthy.conf >half.conf
status 1 "an agent of half the speed" adaps doctor -d half.conf
found a speed '^bad .*times as long as predicted -> the agent is told to be slow, with --speed 0.008'
check "one device does nothing together" sh -c "! grep -q together out"
stop "$agent"
agent a --threads 64
sed "s/127.0.0.1:$a_port/127.0.0.1:$port/" healthy.conf >threads.conf
if [ "$(nproc)" -lt 64 ]; then
    doctor 1 -d threads.conf
    found a threads '^bad 64 compute threads by the agent.s --threads.* -> start it with --threads'
fi
stop "$agent"
agent a
sed "s/127.0.0.1:$a_port/127.0.0.1:$port/; s/^threads.*/threads = 64/" healthy.conf >threads.conf
if [ "$(nproc)" -lt 64 ]; then
    doctor 1 -d threads.conf
    found a threads '^bad the devices file has 64 threads.* -> .*threads = '
fi
stop "$agent"

# --- nobody, a stranger, no name ---

status 1 "nobody listens" adaps doctor --deadline 1s -d threads.conf
check "what was not heard is not judged" test -z "$(finding a clock)$(finding a cache)$(finding a speed)"
found a reach '^bad the machine is there, but nobody listens at .* -> .*systemctl status adaps-agent'
found b reach '^ok '
found 'a - b' link '^unknown not measured: it does not answer'
found 'all together' together '^unknown not measured: the source is missing'
printf '[a]\naddress = tcp://no-such-host.invalid:5570\n[b]\n' >names.conf
doctor 1 --deadline 5s -d names.conf
found a reach "^bad .*no-such-host.invalid.* -> .*getent hosts"
found b reach '^bad the devices file has no address for it -> .*address = tcp://HOST:5570'
old stranger 'SSH-2.0-OpenSSH_9.2
'
doctor 1 --deadline 1s -d old.conf
found old reach '^bad another program has the port .*SSH-2.0.* -> correct the port'
gone
old stranger ''
doctor 1 --deadline 1s -d old.conf
found old reach '^bad somebody takes connections at .*, but it closes the connection -> .*sudo ss -ltnp'
gone

# --- keys ---

status 0 "keys of an agent" adaps keygen -o key
agent_key=$(cat out)
status 0 "other keys" adaps keygen -o other
other_key=$(cat out)
status 0 "keys of this side" adaps keygen
mine=$(cat out)
echo "$mine" >allow
agent a --key key --allow allow
# keyed [KEY]: a devices file for the agent.
keyed() {
    printf '[a]\nboard = x86\naddress = tcp://127.0.0.1:%s\n%s\n' "$port" "${1:+key = $1}" >keyed.conf
}
keyed "$agent_key"
doctor 0 -d keyed.conf
found a key '^ok encrypted'
keyed
doctor 1 -d keyed.conf
found a key '^bad the agent wants keys, the devices file has none .* -> .*key = the agent'
found a reach '^ok '
keyed "$other_key"
doctor 1 --deadline 1.5s -d keyed.conf
found a key '^bad the agent has another key than the devices file says -> .*sudo grep public'
keyed "$agent_key"
: >allow
doctor 1 --deadline 2s -d keyed.conf
found a key '^bad the agent does not have this side.s key on its list -> .*/etc/adaps/allow'
has out "$mine" "the line to add is told"
check "after this key, the other" test "$mine" != "$agent_key"
rm -r "$XDG_CONFIG_HOME"
doctor 1 --deadline 2s -d keyed.conf
found a key '^bad the agent wants keys, and this side has none -> here: adaps keygen'
stop "$agent"
agent a
keyed "$agent_key"
status 0 "keys of this side again" adaps keygen
doctor 1 --deadline 2s -d keyed.conf
found a key '^bad the devices file has a key for it, the agent has none -> '
stop "$agent"

# --- older agents, other clocks ---

old version 0.0.1
doctor 0 -d old.conf
found old version '^warning 0.0.1: older than this side.s .* -> .*on the device: sudo apt update && sudo apt install adaps-agent'
found old clock '^unknown not known'
gone
old version "$(printf '0.0.1\033[31m')"
doctor 0 -d old.conf
found old version '^warning 0.0.1?\[31m: '
gone
old version 99.1
doctor 0 -d old.conf
found old version '^warning 99.1: newer than this side.s .* -> .*here: sudo apt'
gone
old protocol 3
doctor 1 --deadline 3s -d old.conf
found old protocol '^bad the agent speaks version 3, this side version .* -> the agent is older: on the device: sudo apt'
gone
old clock 3600
doctor 1 -d old.conf
found old clock '^bad 3600 s ahead of this side.s: answers stay right.*certificates.* -> .*sudo timedatectl set-ntp true'
gone
old clock -20
doctor 0 -d old.conf
found old clock '^warning 20 s behind'
gone

finish
