#!/bin/sh
# adaps-agent: its file of settings, what it does without keys and with them, and that adaps agent starts it.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"

# The file that the package installs, with other folders, on a port of its own.
mkdir etc
sed "s|/etc/adaps|$work/etc|; s|/var/cache/adaps|$work/cache|; s|:5570|:*|; s|^; announce = yes|announce = no|" "$src/data/agent.conf" >etc/agent.conf

start "$daemon" --config etc/agent.conf
says err "listening on tcp://127.0.0.1:[0-9]*: for this machine only, since $work/etc/key and $work/etc/allow are missing" \
    "without keys it says so"
check "and listens on loopback" test "${endpoint%:*}" = tcp://127.0.0.1
check "its cache is where the file says" test -d cache
devices
status 0 "it answers" adaps status -d one.conf
stop

status 0 "keys for the agent" "$daemon" --config etc/agent.conf --public-key
agent_key=$(cat out)
check "nobody else can read them" test "$(stat -c %a etc/key)" = 600
status 0 "it tells them again" "$daemon" --config etc/agent.conf --public-key
check "the same" test "$(cat out)" = "$agent_key"
check "without an allow list" test ! -e etc/allow
start "$daemon" --config etc/agent.conf
says err "tcp://127.0.0.1:[0-9]*: for this machine only, since $work/etc/allow is missing" "a key alone is not enough"
stop
status 0 "keys for the controller" adaps keygen
controller=$(cat out)
status 0 "they are admitted" "$daemon" --config etc/agent.conf --admit "$controller desk" --admit "$agent_key"
check "which tells the agent's key" test "$(cat out)" = "$agent_key"
status 0 "and others expelled" "$daemon" --config etc/agent.conf --expel "$agent_key"
check "the list has what is left" test "$(cat etc/allow)" = "$controller desk"
start "$daemon" --config etc/agent.conf
says err "listening on tcp://0.0.0.0:[0-9]*$" "with a key and an allow list it listens to all"
devices "$agent_key"
status 0 "whoever is allowed gets an answer" adaps status -d one.conf
status 0 "another controller" adaps keygen -f
status 4 "others do not" adaps status --deadline 1s -d one.conf
stop
echo public >etc/key
status 2 "a bad key to admit" "$daemon" --config etc/agent.conf --admit desk
status 3 "a bad key file" "$daemon" --config etc/agent.conf --public-key
status 3 "a bad key file" "$daemon" --config etc/agent.conf
says err "^adaps-agent: $work/etc/key: no key pair" "is named"

# What settings do, and that options count before them.
cat >settings.conf <<'E2'
[agent]
listen      = tcp://127.0.0.1:*
name        = lamp
speed       = 0.5
threads     = 3
cache       = here/cache
cache-limit = 1MiB
idle-timeout = 90s
E2
start "$daemon" --config settings.conf
devices
status 0 "an agent with settings" adaps status -d one.conf --json
has out '"agent":"lamp"' "its name is that of the file"
has out '"threads":3,' "so are its threads"
check "so is its cache, seen from the file's folder" test -d here/cache
status 0 "the same for people" adaps status -d one.conf
check "so is its speed" test "$(cell out a speed)" = 0.5
stop
start "$daemon" --config settings.conf --speed 0.25 --name table
says err "^table: listening on tcp://127.0.0.1:[0-9]*$" "options count before settings"
devices
status 0 "options and settings" adaps status -d one.conf
check "the option counts" test "$(cell out a speed)" = 0.25
stop

# Speeds that change: what is no list of them.
for changes in 3 3: :0.5 0:0.5 3:2 3:0 3:0.5,3:1 5:0.5,4:1 3:0.5, 1:.1,2:.1,3:.1,4:.1,5:.1,6:.1,7:.1,8:.1,9:.1; do
    status 2 "--speed-after $changes" "$daemon" --listen 'tcp://127.0.0.1:*' --cache changes --speed-after $changes
    says err "^adaps-agent: --speed-after" "it says so"
done

# What it tells of the processor is what it tells a controller. A line for each kind of work, from the table and
# from JSON: work|kernels|instructions|floats|why.
told_rows() {
    awk -F '   *' '
        NR < 6 { next }
        !/^    / { if (row) print row why; row = $1 "|" $2 "|" $3 "|" $4 "|"; why = ""; next }
        { sub(/^    /, ""); why = why (why == "" ? "" : " ") $0 }
        END { print row why }' "$1"
}
json_rows() {
    grep -o '{"work":[^}]*}' "$1" | sed 's/{"work":"\(.*\)","kernels":"\(.*\)","instructions":"\(.*\)","floats":\(.*\),"why":"\(.*\)"}/\1|\2|\3|\4|\5/
        s/|null|/|-|/; s/||/|-|/'
}
status 0 "the daemon tells of its processor" "$daemon" --cpu-info
cp out told
check "on the standard error it says nothing" test ! -s err
status 0 "adaps agent does, too" adaps agent --cpu-info --config none.conf
check "the same" cmp out told
start "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
devices
status 0 "an agent tells a controller" adaps status -d one.conf --json
told_rows told >rows.told
json_rows out >rows.json
check "as much" test "$(wc -l <rows.told)" -gt 10
check "the same of every kind of work" cmp rows.told rows.json
has out "\"kernels\":{\"processor\":\"$(sed -n 's/^Processor: *//p' told | sed 's/^not known$//')\"" "and of the processor"
has out "\"instructions\":\"$(sed -n 's/^Instructions: *//p' told | sed 's/^none that.*//')\",\"xnnpack\":\"20" "and of its instructions"
has out '"live":{"begun":0,"done":0,"failed":0,"errors":{"input":0,' "it tells what it has done"
has out '"doing":"idle","step":0,"steps":0,"layer":null,"plan":null,' "and that it does nothing"
status 0 "people hear of convolutions" adaps status -d one.conf
has out "convolutions by $(sed -n 's/^convolution|[^|]*|\([^|]*\)|.*/\1/p' rows.told): a" "by which instructions they are"
stop

# On an emulated processor of 2008, without AVX.
nehalem="qemu-x86_64 -cpu Nehalem $daemon"
if [ "$(uname -m)" = x86_64 ] && $nehalem --version >out 2>&1; then
    status 0 "a processor without AVX" $nehalem --cpu-info
    says out "^Instructions:  none that matter here$" "has nothing that matters"
    says out "^XNNPACK:       20[0-9]*, kernels for SSE: AVX is not there$" "XNNPACK has SSE"
    told_rows out >rows.old
    says rows.old "^convolution|XNNPACK 20[0-9]*|SSE|-|our convolutions need" "convolutions are XNNPACK's"
    says rows.old "^pooling|adaps|SSE2|4|" "pooling is narrow"
fi

# refused LINE MESSAGE: a file with the line.
refused() {
    printf '[agent]\n%s\n' "$1" >bad.conf
    status 3 "refused: $1" "$daemon" --config bad.conf
    has err "adaps-agent: bad.conf:2: $2" "file, line and rule"
}
refused "threads = 0" "[agent] threads = 0: a number from 1 to 64 is wanted"
refused "threads = many" "[agent] threads = many: a number from 1 to 64 is wanted"
refused "speed = 2" "[agent] speed = 2: a number from 0.0001 to 1 is wanted"
refused "cache-limit = big" "[agent] cache-limit = big: a size such as 4GiB is wanted"
refused "idle-timeout = 0s" "[agent] idle-timeout = 0s: a time above 0, such as 60s,"
refused "listen = here" "[agent] listen = here: 'here' is not an address"
refused "key =" "[agent] key = : it has no value"
refused "insecure = yes" "[agent] insecure = yes: unknown key; there are listen, name, speed, threads, cache, cache-limit, idle-timeout, announce, key, allow"
refused "[server]" "[server]: unknown section; there is [agent]"
refused "nonsense" "neither [section] nor key = value"
printf '[agent]\nname = a\nname = b\n' >bad.conf
status 3 "a key twice" "$daemon" --config bad.conf
has err "bad.conf:3: [agent] name = b: already given in line 2" "both lines are named"
status 3 "no file" "$daemon" --config none.conf
has err "adaps-agent: none.conf: No such file" "it is named"
status 2 "without a file, loopback is not assumed" "$daemon" --listen tcp://0.0.0.0:0 --cache cache
status 2 "an argument too many" "$daemon" now
says err "^Try 'adaps-agent --help'" "it calls itself by its name"
status 0 "its version" "$daemon" --version
check "is that of adaps" test "$(cut -d ' ' -f 2 out)" = "$(adaps --version | cut -d ' ' -f 2)"

# adaps agent becomes the daemon, which is linked without compiler and controller.
start adaps agent --listen 'tcp://127.0.0.1:*' --cache cache
check "adaps agent is adaps-agent" test "$(readlink "/proc/$agent/exe")" = "$(readlink -f "$daemon")"
stop
status 2 "adaps agent with a bad option" adaps agent --nothing
says err "^Try 'adaps agent --help'" "it calls itself so"
mkdir lonely
cp "$adaps" lonely/
status 4 "no daemon beside it" env PATH=/nowhere lonely/adaps agent
says err "^adaps agent: the program adaps-agent is neither beside $work/lonely/adaps nor in the PATH" "it says so"
if command -v nm >/dev/null; then
    nm "$daemon" >symbols
    check "the agent is in the daemon" grep -q ' [Tt] ad_agent_run$' symbols
    check "the compiler and the controller are not" test -z \
        "$(grep -E ' [Tt] (ad_(import|search|pipeline|session|push|report)_|adaps_plan_compile)' symbols)"
fi
finish
