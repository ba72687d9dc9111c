#!/bin/sh
# What an agent does when its folder is taken away or full, when its keys change, and when strangers knock.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"

cp "$src/models/digits.onnx" "$src/models/samples/digit-3.png" .
start "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
devices
sed 's/^address.*/&\nsource = yes/' one.conf >devices.conf
status 0 "a plan" adaps plan -d devices.conf -o plan digits.onnx
status 0 "it is pushed" adaps push plan

rm -r cache
status 0 "its cache is removed: it is pushed again" adaps push plan
status 0 "and answers" adaps run plan digit-3.png
rm -r cache/blobs
mkdir cache/blobs
for file in cache/plans/*; do
    rm "$file"
    mkdir -p "$file/deep"
done
status 0 "a folder in the plan's place is replaced" adaps push plan
status 0 "and it answers" adaps run plan digit-3.png
stop

# A limit on the size of files stands for a full disk.
rm -r cache
start sh -c 'ulimit -f 8; exec "$0" "$@"' "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
devices
status 0 "a plan for another agent" adaps plan -d one.conf -o full digits.onnx
status 4 "its disk is full" adaps push full
has err "cannot write: " "it says so"
status 0 "it is alive" adaps status -d one.conf
stop

# Keys: what others may use or change is refused.
agent_log=log
status 0 "keys for the agent" adaps keygen -o key
agent_key=$(cat out)
status 0 "keys for a controller" adaps keygen
mine=$(cat out)
echo "$mine" >allow
# unsafe MODE FILE PATTERN: the agent does not start.
unsafe() {
    mode=$(stat -c %a "$2")
    chmod "$1" "$2"
    status 3 "$2 of mode $1 is refused" "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --key key --allow "$4"
    says err "$3" "it says which"
    chmod "$mode" "$2"
}
mkdir open
cp allow open/
unsafe 640 key "^adaps-agent: key: others may use or change this secret key (mode 640): chmod 600 key$" allow
unsafe 620 key "key: others may" allow
unsafe 646 allow "allow: others may change this allow list (mode 646): chmod go-w allow$" allow
unsafe 777 open "open/allow: others may put another file in its place: the folder $work/open" open/allow
if [ "$(id -u)" = 0 ]; then
    chown 12345 key
    status 3 "another user's key is refused" "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --key key --allow allow
    has err "key: it belongs to user 12345" "it says whose"
    chown 0 key
    chown 12345 allow
    status 3 "another user's allow list is refused" "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --key key --allow allow
    has err "allow: it belongs to user 12345" "it says whose"
    chown 0:12345 allow
    unsafe 664 allow "allow: others may change this allow list (mode 664)" allow
    chown 0:0 allow
    chown 0:12345 open
    unsafe 775 open "open/allow: others may put another file in its place: the folder $work/open" open/allow

    # As the Debian package has it: the folder of root's can be written by the group of the agent's user.
    user=$(getent passwd | awk -F : '$3 > 0 && $3 == $4 && $1 != "nobody" && ++seen[$4] == 1 { print $1; exit }')
    mkdir -m 775 agents
    chown "0:$user" agents
    cp key allow agents/
    chown "$user" agents/key agents/allow
    chmod 755 "$work"
    as_user="setpriv --reuid=$user --regid=$user --clear-groups"
    if $as_user test -x "$daemon"; then
        start $as_user "$daemon" --listen 'tcp://127.0.0.1:*' --cache agents/cache --key agents/key --allow agents/allow
        devices "$agent_key"
        status 0 "a group of one may write" adaps status -d one.conf
        stop
    fi
fi

# The allow list is read again when it changes, for connections that are there, too.
start "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache --key key --allow allow
devices "$agent_key"
check "an agent with keys writes no core dump" grep -q '^Max core file size  *1  *1 ' "/proc/$agent/limits"
status 0 "who is on the list comes in" adaps status -d one.conf
devices
status 4 "who shows no key does not" adaps status --deadline 5s -d one.conf
says log "refused 127.0.0.1, no key: it d" "which is logged"
devices "$agent_key"
: >allow
status 4 "taken off the list, it does not" adaps status --deadline 5s -d one.conf
says log "refused 127.0.0.1, key $(printf %s "$mine" | sed 's/[].[*^$\\]/\\&/g'): the key is not on the allow list" \
    "the refusal is logged with address and key"
says log "allow was read again: 0 controllers may connect" "so is the change"
echo "$mine" >allow.new
mv allow.new allow
status 0 "put back, it comes in" adaps status -d one.conf
echo nonsense >allow
status 4 "a list that is none lets nobody in" adaps status --deadline 5s -d one.conf
says log "allow: line 1: not a public key.*nobody may connect" "it says so"
echo "$mine" >allow
chmod o+w allow
status 4 "nor does one that others may write" adaps status --deadline 5s -d one.conf
chmod o-w allow
status 0 "until that is mended" adaps status -d one.conf

# SIGHUP ends no agent.
kill -HUP "$agent"
status 0 "SIGHUP: it goes on" adaps status -d one.conf

# A new key of the agent's.
sed 's/^address.*/&\nsource = yes/' one.conf >devices.conf
status 0 "keys for the agent, anew" adaps keygen -f -o key
agent_key=$(cat out)
kill -HUP "$agent"
devices "$agent_key"
check "SIGHUP: it has its new key" await adaps status --deadline 5s -d one.conf
has log "key was read again: the public key is now $agent_key" "it says so"
status 4 "the old one is no good" adaps status --deadline 5s -d devices.conf
echo public >key
kill -HUP "$agent"
check "a bad key file is named" await grep -q 'key: no key pair.*the keys stay as they were' log
status 0 "and the agent goes on" adaps status -d one.conf

# A neighbour takes the agent's address as soon as it is given up, which is so for a moment when keys change: what the
# agent then tries again, it tries until it has it.
cat >neighbour.py <<'END'
import os, socket, sys
while True:
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", int(sys.argv[1])))
            taken.listen(1)
        except OSError:
            continue
        open("taken", "w").close()
        while os.path.exists("taken"):
            pass
        sys.exit()
END
/usr/bin/python3 neighbour.py "${endpoint##*:}" &
neighbour=$!
for _ in $(seq 20); do
    status 0 "keys once more" adaps keygen -f -o key
    agent_key=$(cat out)
    kill -HUP "$agent"
    await sh -c '[ -e taken ] || grep -qF "public key is now $1" log' sh "$agent_key"
    [ ! -e taken ] || break
done
rm -f taken
kill "$neighbour" 2>killed || :
devices "$agent_key"
check "the agent has its address again" await adaps status --deadline 5s -d one.conf
stop
finish
