#!/bin/sh
# Agents in a control group with few threads and little memory: errors that say so, and no abort or killed process.
# Needs root and a hierarchy of control groups, of either version.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"
groups=
trap '[ -z "$agent" ] || kill "$agent"; wait; rmdir $groups; cd /; rm -rf "$work"' EXIT

# new_group CONTROLLER: sets group to the folder of a new control group, or skips.
new_group() {
    for root in "/sys/fs/cgroup/$1" /sys/fs/cgroup; do
        group=$root/adaps-test-$$-$1
        [ -e "$root/cgroup.procs" ] || continue
        mkdir "$group" 2>err || continue
        groups="$groups $group"
        [ -e "$group/$2" ] || [ -e "$group/$3" ] && return
    done
    # Not with NO_SKIP either: control groups are the machine's affair, and no package brings them.
    unset NO_SKIP
    skip "no control group with $1 can be made here: $(cat err)"
}

# ./within COMMAND...: becomes it, in the group.
cat >within <<'E2'
#!/bin/sh
echo $$ >"$group/cgroup.procs" && exec "$@"
E2
chmod +x within
export group

# Sanitizers want a thread at the end, and memory of their own.
sanitized=
! is_sanitized || sanitized=yes
ASAN_OPTIONS=${ASAN_OPTIONS-}:detect_leaks=0
export ASAN_OPTIONS

new_group pids pids.max pids.max
for most in 1 2 3 4 5 6; do
    echo "$most" >"$group/pids.max"
    status 4 "an agent that may have $most threads" ./within "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
    says err "^adaps-agent: it may start $((most - 1)) of the 6 threads that it needs (Resource" "says so"
done
printf '[a]\nboard = x86\naddress = tcp://127.0.0.1:9\n' >nobody.conf
for most in 1 2; do # adaps status asks in a thread
    echo "$most" >"$group/pids.max"
    status 4 "a controller that may have $most threads" ./within "$adaps" status -d nobody.conf
    has err "this process: it may start 0 of the 2 threads that it needs (Resource" "says so"
done
echo 7 >"$group/pids.max"
start ./within "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --threads 8
devices
status 0 "with enough for itself it starts" adaps status -d one.conf
cp "$src/models/digits.onnx" "$src/models/samples/digit-3.png" .
status 0 "a plan" adaps plan -d one.conf -o plan digits.onnx
status 0 "is pushed" adaps push plan
status 4 "eight compute threads are too many" adaps run plan digit-3.png
has err "of the 7 threads that it needs" "it says so"
status 0 "and goes on" adaps status -d one.conf
stop

# Memory: a network with 100 MB of weights.
[ -z "$sanitized" ] || finish
new_group memory memory.max memory.limit_in_bytes
limit=$group/memory.max
[ -e "$limit" ] || limit=$group/memory.limit_in_bytes
echo 90M >"$limit"
start ./within "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --threads 1
devices
status 0 "a network" "$zoo" resnet50 -o resnet50.onnx
status 0 "a plan" adaps plan -d one.conf --strategy single -o large resnet50.onnx
status 0 "is pushed: cached files give way" adaps push large
status 4 "it takes more memory than there is" adaps verify large
says err "agent 'a' .*: the session takes up to 1[0-9][0-9].* MB of memory here, and [0-9.]* MB are left for it" "it says so"
status 0 "and goes on" adaps status -d one.conf --json
check "it tells what it may have" grep -q '"memory_total_bytes":94371840' out
echo 400M >"$limit"
status 0 "with enough it answers" adaps verify large
stop
finish
