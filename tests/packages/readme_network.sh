#!/bin/sh
# The part of readme.sh that has a network of its own: tests/packages/readme_network.sh DESK FOLDER. DESK is the root of the
# machine, FOLDER has those of the boards, and in the file second the commands. Everything ends with this process.
set -eu
desk=$1
folder=$2

mount -t tmpfs tmpfs /run
mkdir /run/netns
ip link set lo up
ip link add switch type bridge
ip addr add 10.78.0.1/24 dev switch
ip link set switch up

# prepare ROOT: what a running system has.
prepare() {
    mount --bind /dev "$1/dev"
    mount -t proc proc "$1/proc"
    mount -t tmpfs tmpfs "$1/tmp"
    mkdir -p "$1/run/sshd"
}

number=2
for board in board-a board-b; do
    ip netns add $board
    ip link add $board type veth peer name eth0 netns $board
    ip link set $board master switch up
    ip -n $board link set lo up
    ip -n $board addr add 10.78.0.$number/24 dev eth0
    ip -n $board link set eth0 up
    number=$((number + 1))
    prepare "$folder/$board"
    ip netns exec $board chroot "$folder/$board" /usr/sbin/sshd -D -e 2>"$folder/$board.log" &
done
prepare "$desk"

as_user() {
    chroot "$desk" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/home/pi LANG=C.UTF-8 runuser -u pi -- "$@"
}

# typed LINE: as the user types it; said and code are what came of it.
typed() {
    echo "desk\$ $1"
    code=0
    as_user sh -c "cd; $1" >"$folder/said" 2>&1 </dev/null || code=$?
    cat "$folder/said"
}

# A board without systemd is started by the line that is told for it.
start_boards() {
    awk '/: start its agent there/ { board = $1; sub(/:$/, "", board); getline; sub(/^ */, ""); print board, $0 }' "$folder/said" \
        >"$folder/starts"
    [ -s "$folder/starts" ] || return 1
    while read -r board start <&4; do
        echo "$board\$ $start"
        as_user ssh "pi@${board%.local}.local" "$start" >"$folder/$board.agent" 2>&1 </dev/null &
    done 4<"$folder/starts"
}

while IFS= read -r line <&3; do
    typed "$line"
    if [ "$code" = 1 ] && start_boards; then
        typed "$line"
    fi
    case $line in *street.jpg*) grep -q '^street.jpg: red 1\.000 16\.0 32\.0 32\.0 48\.0' "$folder/said" || code="no red square" ;; esac
    case $line in *digit-3.png*) grep -q '^ *3 ' "$folder/said" || code="no 3" ;; esac
    [ "$code" = 0 ] || {
        tail -n 5 "$folder"/board-*.log "$folder"/board-*.agent 2>/dev/null
        exit 1
    }
done 3<"$folder/second"
for file in clean.png found.png; do
    [ -s "$desk/home/pi/$file" ] || { echo "there is no $file"; exit 1; }
done
