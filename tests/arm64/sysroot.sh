#!/bin/sh
# Unpacks what adaps is built with and runs with, as Debian packages of another release and processor.
# Nothing is installed: apt resolves against an empty list of installed packages, with a configuration of
# its own, and dpkg-deb unpacks. Needs the network the first time only.
#
#   tests/arm64/sysroot.sh RELEASE ARCHITECTURE FOLDER      (bookworm or trixie; arm64 or armhf)
#
# FOLDER becomes the root. One that is complete and was made of the same list of packages stays as it is. What
# dpkg would know of the packages is in var/lib/dpkg: their libraries' dependencies are found there.
# $MIRROR: where from (the Debian mirror that apt is configured with). Exit status: 0 the root is there,
# 1 it could not be made, 2 usage.
set -eu

packages="libc6-dev libprotobuf-c-dev libxnnpack-dev libpthreadpool-dev libzmq3-dev libsodium-dev
    libjansson-dev libinih-dev libxxhash-dev liblz4-dev libzfp-dev libstb-dev libglpk-dev
    libavahi-client-dev libmicrohttpd-dev libncurses-dev check libonnx-testdata"
keys=/usr/share/keyrings/debian-archive-keyring.gpg

[ $# -eq 3 ] || { echo "usage: $0 RELEASE ARCHITECTURE FOLDER" >&2; exit 2; }
release=$1
architecture=$2
root=$3
# shellcheck source=tests/arm64/mirror.sh
. "$(dirname "$0")/mirror.sh"

made_of="$release $architecture with-dpkg $(echo "$packages" | xargs)"
if [ "$(cat "$root/.made-of" 2>/dev/null)" = "$made_of" ]; then
    exit 0
fi
for program in apt-get apt-config dpkg-deb; do
    command -v "$program" >/dev/null || { echo "$0: no $program: a sysroot needs Debian's apt" >&2; exit 1; }
done

rm -rf "$root"
mkdir -p "$root"
root=$(cd "$root" && pwd)
apt=$root/.apt
mkdir -p "$apt/lists/partial" "$apt/cache/archives/partial" "$apt/parts"
: >"$apt/status"
echo "deb [signed-by=$keys] $mirror $release main" >"$apt/sources.list"
cat >"$apt/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Install-Recommends "false";
APT::Sandbox::User "$(id -un)";
Acquire::Languages "none";
Dir::State "$apt";
Dir::State::status "$apt/status";
Dir::State::lists "$apt/lists";
Dir::Cache "$apt/cache";
Dir::Etc "$apt";
Dir::Etc::sourcelist "$apt/sources.list";
Dir::Etc::sourceparts "$apt/parts";
Dir::Etc::parts "$apt/parts";
Dir::Etc::preferencesparts "$apt/parts";
Dir::Etc::trustedparts "$apt/parts";
END
# How the network is reached is the machine's affair.
apt-config dump | grep -i '^Acquire::.*\(proxy\|retries\)' >>"$apt/apt.conf" || true
APT_CONFIG=$apt/apt.conf
export APT_CONFIG

apt-get -qq update
# shellcheck disable=SC2086
apt-get -qq -s install $packages | sed -n 's/^Inst \([^ ]*\) (\([^ ]*\) .*/\1=\2/p' >"$apt/wanted"
[ -s "$apt/wanted" ] || { echo "$0: apt names no packages of $release for $architecture" >&2; exit 1; }
(cd "$apt/cache/archives" && xargs apt-get -qq download <"$apt/wanted")

# Since Debian 12 these are links; older packages still have files in them.
mkdir -p "$root/usr/bin" "$root/usr/sbin" "$root/usr/lib"
for folder in bin sbin lib; do
    ln -s "usr/$folder" "$root/$folder"
done
admin=$root/var/lib/dpkg
mkdir -p "$admin/info" "$admin/updates"
echo 1 >"$admin/info/format"
printf '%s\n' "$(dpkg --print-architecture)" "$architecture" >"$admin/arch"
for package in "$apt"/cache/archives/*.deb; do
    dpkg-deb --fsys-tarfile "$package" >"$apt/files.tar"
    tar -x -C "$root" --keep-directory-symlink --no-same-owner -f "$apt/files.tar"
    dpkg-deb --control "$package" "$apt/control"
    name=$(dpkg-deb --field "$package" Package)
    { cat "$apt/control/control" && printf 'Status: install ok installed\n\n'; } >>"$admin/status"
    ! grep -q '^Multi-Arch: same' "$apt/control/control" || name=$name:$architecture
    tar -t -f "$apt/files.tar" | sed 's|^\.||; s|/$||; s|^$|/.|' >"$admin/info/$name.list"
    for information in shlibs symbols; do
        [ ! -f "$apt/control/$information" ] || mv "$apt/control/$information" "$admin/info/$name.$information"
    done
    rm -rf "$apt/control"
done
# Links from the root would lead to the files of this machine.
find "$root" -type l -lname '/*' | while IFS= read -r link; do
    target=$(readlink "$link")
    ln -snf "$(realpath -m -s --relative-to="$(dirname "$link")" "$root$target")" "$link"
done
rm -rf "$apt"
echo "$made_of" >"$root/.made-of"
