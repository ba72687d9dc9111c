# shellcheck shell=sh
# Sourced by scripts that work in a minimal Debian root of their own, after tests/arm64/mirror.sh. The root
# ends with the script.

# Ends the script: it cannot run here.
skip() {
    echo "SKIP $*"
    [ -z "${NO_SKIP-}" ] || exit 99
    exit 77
}

# Skips where no root can be made.
need_root() {
    [ "$(id -u)" = 0 ] || skip "a root of Debian can only be made by root"
    command -v debootstrap >/dev/null || skip "no debootstrap (./bootstrap deb and ./bootstrap arm64 install it)"
    unshare --mount --pid --fork --net true 2>/dev/null || skip "mounts and networks of one's own are not allowed here"
}

# make_root RELEASE: sets `root`. debootstrap makes it once; it is kept as $SYSROOTS/RELEASE.tar
# (~/.cache/adaps-sysroots).
make_root() {
    kept=${SYSROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/adaps-sysroots}/$1.tar
    mkdir -p "$(dirname "$kept")"
    root_folder=$(mktemp -d "${TMPDIR:-/tmp}/adaps-root.XXXXXX")
    trap 'rm -rf "$root_folder"' EXIT
    trap 'exit 130' INT
    trap 'exit 143' TERM
    root=$root_folder/root
    mkdir "$root"
    if [ -f "$kept" ]; then
        tar -C "$root" -xf "$kept"
    else
        # shellcheck disable=SC2154
        if ! debootstrap --variant=minbase --include=ca-certificates "$1" "$root" "$mirror" \
            >"$root_folder/log" 2>&1; then
            tail -n 20 "$root_folder/log"
            echo "FAIL debootstrap"
            exit 1
        fi
        tar -C "$root" -cf "$kept.new" .
        mv "$kept.new" "$kept"
    fi
    # It lives shorter than a disk takes to write it.
    echo force-unsafe-io >"$root/etc/dpkg/dpkg.cfg.d/unsafe-io"
    cp /etc/resolv.conf "$root/etc/resolv.conf"
    # How the network is reached is the machine's affair.
    apt-config dump 2>/dev/null | grep -i '^Acquire::.*\(proxy\|retries\)' \
        >"$root/etc/apt/apt.conf.d/90network" || true
}

# forget_generated SOURCES: deletes what the autotools made in a copy of the sources, so that those of the
# root's release make it again.
forget_generated() {
    rm -rf "$1/configure" "$1/Makefile.in" "$1/aclocal.m4" "$1/build-aux"
}

# in_root NET FOLDER COMMAND...: runs a command in a folder of the root, whose mounts end with it. NET: --net
# for a network of its own, of which there is only loopback, or nothing.
in_root() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork ${1:+"$1"} sh -euc '
        root=$1 folder=$3
        [ "$2" = "" ] || ip link set lo up
        shift 3
        mount --bind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs tmpfs "$root/tmp"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
            DEBIAN_FRONTEND=noninteractive NO_SKIP="${NO_SKIP-}" \
            sh -euc "cd \"\$0\"; exec \"\$@\"" "$folder" "$@"' sh "$root" "$@"
}
