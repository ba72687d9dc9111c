#!/bin/sh
# Installs the Debian packages in a minimal root of a release, uses them, upgrades them over themselves, removes
# and purges them; nothing may be left.
#
#   tests/packages/install.sh FOLDER [ARCHITECTURE [RELEASE]]
#
# The packages are in FOLDER/RELEASE-ARCHITECTURE, as debian/build.sh makes them (default: of this machine). The root
# is made once, with debootstrap, and kept as $SYSROOTS/RELEASE.tar (~/.cache/adaps-sysroots); $MIRROR: where from
# (the Debian mirror that apt is configured with). Needs root. Exit status: 0 all is well, 1 something failed,
# 2 usage, 77 it cannot run here (with NO_SKIP in the environment 99).
set -eu

here=$(dirname "$0")
machine=$(dpkg --print-architecture)
architecture=${2:-$machine}
# shellcheck source=/dev/null
release=${3:-$(. /etc/os-release && echo "$VERSION_CODENAME")}
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

make_root "$release"
mkdir "$root/packages"
for package in "$folder"/*.deb; do
    case $package in
        *-dbgsym_*) ;;
        *) cp "$package" "$root/packages/" ;;
    esac
done
cp "$here/inside.sh" "$root/packages/"

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
