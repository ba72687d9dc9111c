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
here=$(dirname "$0")
# shellcheck source=tests/arm64/mirror.sh
. "$here/arm64/mirror.sh"
# shellcheck source=tests/support/debian_root.sh
. "$here/support/debian_root.sh"
need_root
make_root trixie
stage "made the root"
cp -R "$source" "$root/adaps"
forget_generated "$root/adaps"

in_root "" /adaps ./bootstrap demo || { echo "FAIL ./bootstrap demo"; exit 1; }
stage "./bootstrap demo answers"
in_root "" /adaps ./bootstrap check TESTS="$(echo "$tests" | xargs)" || { echo "FAIL ./bootstrap check"; exit 1; }
stage "tests pass"
