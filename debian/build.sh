#!/bin/sh
# Makes the Debian packages of a release's sources and has lintian look at them. What lintian calls an error
# or a warning is a failure.
#
#   debian/build.sh SOURCES CHANGELOG FOLDER [ARCHITECTURE [RELEASE]]
#
# SOURCES is moved away. The packages come to FOLDER/RELEASE-ARCHITECTURE. ARCHITECTURE: that of this machine,
# or arm64, which is built with a cross compiler against Debian's packages (tests/arm64/sysroot.sh; nothing of
# arm64 is installed). RELEASE: that of this machine, or the other of bookworm and trixie: for arm64 another
# sysroot, for this machine's architecture a minimal root in which `./bootstrap deb` runs (as root only).
# $SYSROOTS: where sysroots and roots are kept (~/.cache/adaps-sysroots).
# Exit status: 0 made, 1 something failed, 2 usage, 77 it cannot run here (with NO_SKIP in the environment 99).
set -eu

if [ $# -lt 3 ] || [ ! -d "$1" ]; then
    echo "usage: $0 SOURCES CHANGELOG FOLDER [ARCHITECTURE [RELEASE]]" >&2
    exit 2
fi

need() {
    for program in "$@"; do
        command -v "$program" >/dev/null || {
            echo "build.sh: no program $program (./bootstrap deb installs it; for arm64 ./bootstrap arm64)" >&2
            exit 1
        }
    done
}

need dpkg dpkg-architecture
sources=$1
changelog=$2
name=$(basename "$sources")
here=$(cd "$(dirname "$0")/.." && pwd)
machine=$(dpkg --print-architecture)
# shellcheck source=/dev/null
this_release=$(. /etc/os-release && echo "$VERSION_CODENAME")
architecture=${4:-$machine}
release=${5:-$this_release}
folder=$3/$release-$architecture
sysroots=${SYSROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/adaps-sysroots}

# For the sysroot's packages: what configure, dpkg-buildpackage and, by debian/rules, dh_shlibdeps are told.
cross() {
    triplet=$(dpkg-architecture -a "$architecture" -q DEB_HOST_MULTIARCH 2>/dev/null)
    need "$triplet-gcc"
    mkdir -p "$sysroots"
    root=$(cd "$sysroots" && pwd)/$release-$architecture
    sh "$here/tests/arm64/sysroot.sh" "$release" "$architecture" "$root"
    # shellcheck source=tests/arm64/cross.sh
    . "$here/tests/arm64/cross.sh"
    cross_environment "$root" "$triplet"
    # dpkg as of the sysroot, with the paths that its files have here.
    admin=$PWD/dpkg
    cp -R "$root/var/lib/dpkg" "$admin"
    sed -i "s|^/lib/|/usr/lib/|; s|^|$root|" "$admin"/info/*.list
    SHLIBDEPS="-l$libraries -- --admindir=$admin"
    export SHLIBDEPS
    # The packages to build with are not installed (-d).
    set -- "-a$architecture" -d
    options=$*
}

# On the other release, as a user of it would.
build_in_root() {
    # shellcheck source=tests/arm64/mirror.sh
    . "$here/tests/arm64/mirror.sh"
    # shellcheck source=tests/support/debian_root.sh
    . "$here/tests/support/debian_root.sh"
    need_root
    make_root "$release"
    mv "$sources" "$root/adaps"
    forget_generated "$root/adaps"
    in_root "" /adaps ./bootstrap deb >"$folder/build.log" 2>&1 || fail_with_log
    mv "$root/adaps/deb/$release-$architecture"/*.* "$folder/"
}

fail_with_log() {
    tail -n 40 "$folder/build.log" >&2
    echo "build.sh: all of it is in $folder/build.log" >&2
    exit 1
}

rm -rf "$folder"
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
if [ "$architecture" = "$machine" ] && [ "$release" != "$this_release" ]; then
    build_in_root
    ls -l "$folder"/*.deb
    exit 0
fi

need dpkg-buildpackage dh lintian
mv "$sources" "$folder/"
cp "$changelog" "$folder/$name/debian/changelog"
cd "$folder"
options=
[ "$architecture" = "$machine" ] || cross
# shellcheck disable=SC2086
(cd "$name" && dpkg-buildpackage -b -us -uc -j"$(nproc)" $options) >build.log 2>&1 || fail_with_log
rm -rf "$name" dpkg
lintian --fail-on error,warning --tag-display-limit 0 ./*.changes
ls -l ./*.deb
