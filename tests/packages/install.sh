#!/bin/sh
# Installs the Debian packages in a minimal root of a release, uses them, upgrades them over themselves, removes
# and purges them; nothing may be left.
#
#   tests/packages/install.sh SOURCE FOLDER [RELEASE]
#
# SOURCE: the sources; FOLDER: the packages, built on this release (default: that of this machine). The root is
# made once, with debootstrap, and kept as $SYSROOTS/RELEASE.tar (~/.cache/adaps-sysroots); $MIRROR: where from
# (the Debian mirror that apt is configured with). Needs root. Exit status: 0 all is well, 1 something failed,
# 2 usage, 77 it cannot run here (with NO_SKIP in the environment 99).
set -eu

skip() {
    echo "SKIP $*"
    [ -z "${NO_SKIP-}" ] || exit 99
    exit 77
}

if [ $# -lt 2 ] || [ ! -d "$2" ]; then
    echo "usage: $0 SOURCE FOLDER [RELEASE]" >&2
    exit 2
fi
# shellcheck source=/dev/null
release=${3:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
[ "$(id -u)" = 0 ] || skip "a root of Debian can only be made by root"
command -v debootstrap >/dev/null || skip "no debootstrap (./bootstrap deb installs it)"
unshare --mount --net true 2>/dev/null || skip "mounts and networks of one's own are not allowed here"
# shellcheck disable=SC2016
mirror=${MIRROR:-$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' 'Origin: Debian' \
    'Label: Debian' 2>/dev/null | head -n 1)}
mirror=${mirror:-http://deb.debian.org/debian/}

kept=${SYSROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/adaps-sysroots}
mkdir -p "$kept"
work=$(mktemp -d "${TMPDIR:-/tmp}/adaps-packages.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root
mkdir "$root"

if [ ! -f "$kept/$release.tar" ]; then
    if ! debootstrap --variant=minbase --include=ca-certificates "$release" "$root" "$mirror" \
        >"$work/log" 2>&1; then
        tail -n 20 "$work/log"
        echo "FAIL debootstrap"
        exit 1
    fi
    tar -C "$root" -cf "$kept/$release.tar.new" .
    mv "$kept/$release.tar.new" "$kept/$release.tar"
else
    tar -C "$root" -xf "$kept/$release.tar"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
# How the network is reached is the machine's affair.
apt-config dump 2>/dev/null | grep -i '^Acquire::.*\(proxy\|retries\)' >"$root/etc/apt/apt.conf.d/90network" || true
mkdir "$root/packages"
for package in "$2"/*.deb; do
    case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$root/packages/" ;;
    esac
done
cp "$1/tests/packages/inside.sh" "$root/packages/"

# inside OPTIONS STEP: a step of inside.sh in the root, whose mounts end with it. OPTIONS are those of unshare.
inside() {
    # shellcheck disable=SC2016
    unshare --mount --pid --fork ${1:+"$1"} sh -euc '
        root=$1
        [ "$3" = "" ] || ip link set lo up
        mount --bind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs tmpfs "$root/tmp"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive sh -eu /packages/inside.sh "$2"' sh "$root" "$2" "$1"
}

inside "" install
inside --net use
inside "" upgrade
inside --net use_again
inside "" remove
echo "packages: passed on $release"
