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

if [ $# -lt 2 ] || [ ! -d "$2" ]; then
    echo "usage: $0 SOURCE FOLDER [RELEASE]" >&2
    exit 2
fi
here=$(dirname "$0")
# shellcheck source=tests/arm64/mirror.sh
. "$here/../arm64/mirror.sh"
# shellcheck source=tests/support/debian_root.sh
. "$here/../support/debian_root.sh"
# shellcheck source=/dev/null
release=${3:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
[ "$(id -u)" = 0 ] || skip "a root of Debian can only be made by root"
command -v debootstrap >/dev/null || skip "no debootstrap (./bootstrap deb installs it)"
unshare --mount --pid --fork --net true 2>/dev/null || skip "mounts and networks of one's own are not allowed here"

make_root "$release"
mkdir "$root/packages"
for package in "$2"/*.deb; do
    case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$root/packages/" ;;
    esac
done
cp "$1/tests/packages/inside.sh" "$root/packages/"

# inside NET STEP: a step of inside.sh in the root.
inside() {
    in_root "$1" /packages sh -eu inside.sh "$2"
}

inside "" install
inside --net use
inside "" upgrade
inside --net use_again
inside "" remove
echo "packages: passed on $release"
