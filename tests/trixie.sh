#!/bin/sh
# The tests on Debian 13: makes a minimal root of it, copies the sources in, and runs there what a new user
# would, `./bootstrap demo`, and then some of the tests: XNNPACK's operators, the engine, sessions, import,
# the ONNX project's operators, and the command line.
#
#   tests/trixie.sh SOURCE [TEST...]       SOURCE: the sources; TEST: other tests than these
#
# The root is made once, with debootstrap, and kept as $SYSROOTS/trixie.tar (~/.cache/adaps-sysroots);
# $MIRROR: where from (the Debian mirror that apt is configured with). Needs root. Exit status: 0 all
# passed, 1 something failed, 2 usage, 77 it cannot run here (with NO_SKIP in the environment 99).
set -eu

tests="tests/exec/test_conv tests/exec/test_kernels tests/exec/test_engine tests/control/test_session
    tests/import/test_import tests/import/test_import_forms tests/import/test_import_errors
    tests/import/test_weights tests/onnx/test_onnxdata tests/cli/test_options.sh tests/cli/test_plan.sh
    tests/cli/test_run.sh"

skip() {
    echo "SKIP $*"
    [ -z "${NO_SKIP-}" ] || exit 99
    exit 77
}

stage() {
    echo "trixie: $*, $(($(date +%s) - begin)) s so far"
}

if [ $# -lt 1 ] || [ ! -f "$1/bootstrap" ]; then
    echo "usage: $0 SOURCE [TEST...]" >&2
    exit 2
fi
source=$1
shift
[ $# -eq 0 ] || tests=$*
begin=$(date +%s)
[ "$(id -u)" = 0 ] || skip "a root of Debian 13 can only be made by root"
command -v debootstrap >/dev/null || skip "no debootstrap (./bootstrap arm64 installs it)"
unshare --mount true 2>/dev/null || skip "mounts are not allowed here"
# shellcheck source=tests/arm64/mirror.sh
. "$(dirname "$0")/arm64/mirror.sh"

kept=${SYSROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/adaps-sysroots}
mkdir -p "$kept"
work=$(mktemp -d "${TMPDIR:-/tmp}/adaps-trixie.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
root=$work/root
mkdir "$root"

if [ ! -f "$kept/trixie.tar" ]; then
    if ! debootstrap --variant=minbase --include=ca-certificates trixie "$root" "$mirror" \
        >"$work/log" 2>&1; then
        tail -n 20 "$work/log"
        echo "FAIL debootstrap"
        exit 1
    fi
    tar -C "$root" -cf "$kept/trixie.tar.new" .
    mv "$kept/trixie.tar.new" "$kept/trixie.tar"
    stage "made the root"
else
    tar -C "$root" -xf "$kept/trixie.tar"
fi
cp /etc/resolv.conf "$root/etc/resolv.conf"
# How the network is reached is the machine's affair.
apt-config dump 2>/dev/null | grep -i '^Acquire::.*\(proxy\|retries\)' >"$root/etc/apt/apt.conf.d/90network" || true
cp -R "$source" "$root/adaps"
# They are made again by the tools of Debian 13.
rm -rf "$root/adaps/configure" "$root/adaps/Makefile.in" "$root/adaps/aclocal.m4" "$root/adaps/build-aux"

# Runs a command in the root, whose mounts end with it.
inside() {
    # shellcheck disable=SC2016
    unshare --mount sh -euc '
        root=$1
        shift
        mount --bind /dev "$root/dev"
        mount -t proc proc "$root/proc"
        mount --rbind /sys "$root/sys"
        mount -t tmpfs tmpfs "$root/tmp"
        exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root \
            LANG=C.UTF-8 NO_SKIP="${NO_SKIP-}" sh -euc "cd /adaps; exec \"\$@\"" sh "$@"' sh "$root" "$@"
}

inside ./bootstrap demo || { echo "FAIL ./bootstrap demo"; exit 1; }
stage "./bootstrap demo answers"
inside ./bootstrap check TESTS="$(echo "$tests" | xargs)" || { echo "FAIL ./bootstrap check"; exit 1; }
stage "tests pass"
