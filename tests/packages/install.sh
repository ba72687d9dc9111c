#!/bin/sh
# Installs the Debian packages in a minimal root of a release, uses them, upgrades them over themselves, removes
# and purges them; nothing may be left. First without systemd, then with it, then as a service of a systemd that
# runs (boot.sh).
#
#   tests/packages/install.sh FOLDER [ARCHITECTURE [RELEASE]]
#
# The packages are in FOLDER/RELEASE-ARCHITECTURE, as debian/build.sh makes them (default: of this machine). Those
# of arm64 are installed in a root of this machine's processor, which takes them as foreign ones; their programs
# are emulated, as on a Cortex-A53 and a Cortex-A72, and the paths in them are compared with those of this machine's
# packages. Those of amd64 are also used on an emulated processor without AVX. The root is made once, with
# debootstrap, and kept as $SYSROOTS/RELEASE.tar (~/.cache/adaps-sysroots); $MIRROR: where from (the Debian mirror
# that apt is configured with). Needs root. Exit status: 0 all is well, 1 something failed, 2 usage, 77 it cannot
# run here (with NO_SKIP in the environment 99).
set -eu

here=$(dirname "$0")
machine=$(dpkg --print-architecture)
architecture=${2:-$machine}
# shellcheck source=/dev/null
this_release=$(. /etc/os-release && echo "$VERSION_CODENAME")
release=${3:-$this_release}
folder=${1-}/$release-$architecture
if [ $# -lt 1 ] || [ ! -d "$folder" ]; then
    echo "usage: $0 FOLDER [ARCHITECTURE [RELEASE]]; there is no $folder (make deb)" >&2
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

# paths PACKAGE: what is in it, of whichever processor.
paths() {
    dpkg-deb --fsys-tarfile "$1" | tar -t | sed "s|/$(dpkg-architecture -a "$2" -q DEB_HOST_MULTIARCH 2>/dev/null)/|/TRIPLET/|" | sort
}

# The packages of another processor hold what this machine's do, and say the same of themselves.
compare_contents() {
    model=$1/$release-$machine
    [ -d "$model" ] || model=$1/$this_release-$machine
    [ -d "$model" ] || fail "there is no $model to compare $folder with (make deb)"
    for package in "$model"/*.deb; do
        name=$(basename "$package" "_$machine.deb")
        of=$architecture
        case $name in
            *-dbgsym_*) continue ;;
            *_all.deb) name=${name%_all.deb} of=all ;;
        esac
        other=$folder/${name}_$of.deb
        [ -f "$other" ] || fail "no package $other"
        paths "$package" "$machine" >"$root_folder/model"
        paths "$other" "$architecture" >"$root_folder/paths"
        diff "$root_folder/model" "$root_folder/paths" || fail "$other has other contents"
        [ "$(dpkg-deb -f "$other" Architecture)" = "$of" ] || fail "$other is not for $of"
        for field in Version Section Multi-Arch Recommends Suggests Description; do
            [ "$(dpkg-deb -f "$other" $field)" = "$(dpkg-deb -f "$package" $field)" ] || fail "$other: another $field"
        done
    done
    echo "contents: as in $model"
}

make_root "$release"
mkdir "$root/packages"
for package in "$folder"/*.deb; do
    case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$root/packages/" ;;
    esac
done
cp "$here/inside.sh" "$root/packages/"

# inside NET STEP [EMULATOR...]: a step of inside.sh in the root.
inside() {
    net=$1 step=$2
    shift 2
    in_root "$net" /packages sh -eu inside.sh "$step" "$architecture" "$@"
}

# inside_board CPU STEP: on an emulated board.
inside_board() {
    sh "$here/../arm64/cpuinfo.sh" "$1" >"$root/packages/cpuinfo"
    inside --net "$2" qemu-aarch64 -cpu "$1"
}

if [ "$architecture" = "$machine" ]; then
    inside "" install
    inside --net use
    inside "" upgrade
    inside --net use_again
    [ "$machine" != amd64 ] || inside --net use_again qemu-x86_64 -cpu Nehalem
    inside "" remove
    inside "" systemd
    inside "" before_boot
    sh "$here/boot.sh" "$root" /bin/sh -eu /packages/inside.sh booted "$architecture" || {
        code=$?
        [ $code = 77 ] || fail "the service of a booted system: $code"
    }
else
    compare_contents "$1"
    inside "" install qemu-aarch64 -cpu cortex-a53
    inside_board cortex-a53 use
    inside "" upgrade
    inside_board cortex-a72 use_again
    inside "" remove
fi
echo "packages: passed on $release, $architecture"
