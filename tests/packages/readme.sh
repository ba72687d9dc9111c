#!/bin/sh
# Follows the first steps of the README in bare roots of a Debian release: two boards with sshd, and a machine, with a
# network of their own between them. Every command is taken from the README word by word, but for the architecture in the
# names of packages.
#
#   tests/packages/readme.sh FOLDER RELEASE DETECTOR
#
# The packages are those of this machine's architecture in FOLDER/RELEASE-ARCHITECTURE, as debian/build.sh makes them. The
# boards have no systemd: the agents are started by the lines that `adaps pair` then tells. The reader's detector is the file
# DETECTOR (tests/support/small_model.c), his photograph a red square, which it finds; RELEASE may be "", for this machine's.
# Needs root, and the network for Debian's packages. Exit status: 0 all
# is well, 1 something failed, 2 usage, 77 it cannot run here (with NO_SKIP in the environment 99).
set -eu

here=$(cd "$(dirname "$0")" && pwd)
readme=$here/../../README.md
machine=$(dpkg --print-architecture)
# shellcheck source=/dev/null
this_release=$(. /etc/os-release && echo "$VERSION_CODENAME")
release=${2:-$this_release}
folder=${1-}/$release-$machine
detector=${3-}
if [ $# != 3 ] || [ ! -d "$folder" ] || [ ! -f "$detector" ]; then
    echo "usage: $0 FOLDER RELEASE DETECTOR; there is no $folder (make deb), or no '$detector'" >&2
    exit 2
fi
# shellcheck source=tests/arm64/mirror.sh
. "$here/../arm64/mirror.sh"
# shellcheck source=tests/support/debian_root.sh
. "$here/../support/debian_root.sh"
need_root

fail() {
    echo "FAIL $*" >&2
    exit 1
}

# steps WHERE: the commands after a line such as "On each board:".
steps() {
    awk -v where="$1" '
        /^## / { inside = /^## Two Raspberry Pis/ }
        !inside { next }
        /^[^ ]/ { wanted = index($0, where) > 0 }
        /^    / && wanted { print substr($0, 5) }' "$readme" | sed "s/_arm64\.deb/_$machine.deb/; s/_amd64\.deb/_$machine.deb/"
}
steps "On each board:" | grep -q . || fail "README.md says nothing of boards"

# What a Debian has that people log in to.
make_root "$release"
in_root "" / sh -euc '
    apt-get -q update
    apt-get -q -y --no-install-recommends install openssh-client openssh-server sudo
    useradd -m -s /bin/sh pi
    echo "pi ALL=(ALL) NOPASSWD: ALL" >/etc/sudoers.d/pi
    echo "APT::Get::Assume-Yes \"true\";" >/etc/apt/apt.conf.d/91yes
    runuser -u pi -- sh -c "mkdir -m 700 ~/.ssh && ssh-keygen -q -t ed25519 -N \"\" -f ~/.ssh/id_ed25519"
    runuser -u pi -- cp /home/pi/.ssh/id_ed25519.pub /home/pi/.ssh/authorized_keys
    printf "StrictHostKeyChecking accept-new\nConnectionAttempts 30\n" >>/etc/ssh/ssh_config' >"$root_folder/log" 2>&1 || {
    tail -n 20 "$root_folder/log"
    fail "the roots"
}
printf '127.0.0.1 localhost\n10.78.0.1 desk\n10.78.0.2 board-a.local board-a\n10.78.0.3 board-b.local board-b\n' >"$root/etc/hosts"
for package in "$folder"/*_"$machine".deb; do
    case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$root/home/pi/" ;;
    esac
done
desk=$root
cp "$detector" "$desk/home/pi/yolov8n.onnx"
# shellcheck disable=SC2059
{
    printf 'P6\n64 64\n255\n'
    printf "$(awk 'BEGIN {
        for (i = 0; i < 64 * 64; i++)
            printf int(i % 64 / 16) == 1 && int(i / 1024) == 2 ? "\\377\\0\\0" : "\\0\\0\\0"
    }')"
} >"$desk/home/pi/street.jpg"
for board in board-a board-b; do
    cp -a "$desk" "$root_folder/$board"
    rm -f "$root_folder/$board"/etc/ssh/ssh_host_*
    chroot "$root_folder/$board" ssh-keygen -q -A
done

# typed ROOT LINE: a command as the user of a root types it, with the network of this machine.
typed() {
    root=$1
    echo "$(basename "$root" | sed 's/^root$/desk/')\$ $2"
    in_root "" /home/pi runuser -u pi -- sh -c "$2" >"$root_folder/log" 2>&1 || {
        tail -n 20 "$root_folder/log"
        fail "$2"
    }
}
for board in board-a board-b; do
    steps "On each board:" >"$root_folder/steps"
    while IFS= read -r line <&3; do
        typed "$root_folder/$board" "$line"
    done 3<"$root_folder/steps"
done
steps "On your machine:" >"$root_folder/steps"
grep '^sudo ' "$root_folder/steps" >"$root_folder/first"
while IFS= read -r line <&3; do
    typed "$desk" "$line"
done 3<"$root_folder/first"
steps "With a detector" >>"$root_folder/steps"
grep -v '^sudo ' "$root_folder/steps" >"$root_folder/second" || fail "README.md says nothing of pairing"

# The rest happens in a network of their own.
code=0
unshare --mount --pid --net --fork --kill-child sh -eu "$here/readme_network.sh" "$desk" "$root_folder" || code=$?
[ "$code" = 0 ] || fail "the network of $release: $code"
echo "readme: passed on $release, $machine"
