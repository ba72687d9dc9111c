#!/bin/sh
# Boots the systemd of a Debian root, in namespaces of its own (of the network, there is only loopback), runs a command
# as a service of it once all others have started, and ends it.
#
#   tests/packages/boot.sh ROOT COMMAND...
#
# Needs root, and cgroup2. Exit status: that of the command, 77 it cannot run here (with NO_SKIP in the environment
# 99), 124 it took longer than two minutes.
set -eu

# shellcheck source=tests/support/debian_root.sh
. "$(dirname "$0")/../support/debian_root.sh"
root=$1
shift
groups=$(findmnt -n -t cgroup2 -o TARGET | head -n 1)
group=$groups/adaps-boot.$$
{ [ -n "$groups" ] && mkdir "$group" 2>/dev/null; } || skip "a system can only be booted where there is cgroup2"
trap 'find "$group" -depth -type d -exec rmdir {} +' EXIT

cat >"$root/etc/systemd/system/command.service" <<E2
[Unit]
After=multi-user.target
[Service]
Type=oneshot
Environment=HOME=/root NO_SKIP=${NO_SKIP-}
ExecStart=/bin/sh -c '"\$@"; systemctl exit \$?' sh $*
StandardOutput=file:/packages/said
StandardError=inherit
[Install]
WantedBy=multi-user.target
E2
mkdir -p "$root/etc/systemd/system/default.target.wants"
ln -sf ../command.service "$root/etc/systemd/system/default.target.wants/command.service"
: >"$root/packages/said"
code=0
# shellcheck disable=SC2016
sh -c 'echo $$ >"$1/cgroup.procs" && exec timeout --kill-after=5 120 unshare --mount --pid --uts --ipc --net --cgroup \
    --fork --kill-child sh -euc "$3" sh "$2"' sh "$group" "$root" '
    root=$1
    ip link set lo up
    mount --bind "$root" "$root"
    mount -t proc proc "$root/proc"
    mount -t sysfs -o ro sysfs "$root/sys"
    mount -t cgroup2 cgroup2 "$root/sys/fs/cgroup"
    mount -t tmpfs tmpfs "$root/run"
    mount -t tmpfs -o mode=755 tmpfs "$root/dev"
    for device in null:3 zero:5 full:7 random:8 urandom:9; do
        mknod -m 666 "$root/dev/${device%:*}" c 1 "${device#*:}"
    done
    mknod -m 666 "$root/dev/tty" c 5 0
    mkdir "$root/dev/pts" "$root/dev/shm" "$root/dev/mqueue"
    mount -t devpts -o newinstance,ptmxmode=666 devpts "$root/dev/pts"
    mount -t tmpfs tmpfs "$root/dev/shm"
    ln -s pts/ptmx "$root/dev/ptmx"
    ln -s /proc/self/fd "$root/dev/fd"
    mkdir -p "$root/mnt"
    cd "$root"
    pivot_root . mnt
    cd /
    umount --lazy /mnt
    exec env -i container=adaps PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --log-target=null' || code=$?
cat "$root/packages/said"
exit "$code"
