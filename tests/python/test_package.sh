#!/bin/sh
# The Python package: all of it in this process, and on two agents.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy
if is_sanitized; then
    unset NO_SKIP # there is nothing to install
    skip "the library has a sanitizer, which Python has not"
fi
ADAPS_LIBRARY=$build/libadaps.so.0
PYTHONPATH=$src/python
export ADAPS_LIBRARY PYTHONPATH

check "a network with several inputs" "$build/tests/support/small_model" several several.onnx
start_agents 2
status 0 "the package" "$python" -W error "$src/tests/python/check_package.py" several.onnx "$src/models" local.conf
says err "^Ran [1-9][0-9]* tests" "there are tests"
says err "^OK$" "none was skipped"
check "the agents end well" stop_agents

# Where make install puts it, with the usual prefix: there Debian's Python looks.
folder=$(sed -n 's/^PYTHON_FOLDER = //p' "$build/Makefile")
case $folder in
    "\${prefix}/"*)
        check "make install" env -u MAKEFLAGS make -C "$build" install-dist_pymoduleDATA DESTDIR="$work/root" prefix=/usr/local
        installed=/usr/local/${folder#*/}
        PYTHONPATH=$work/root$installed
        status 0 "what was installed" "$python" -c "import adaps, site; print(adaps.__file__, site.getsitepackages())"
        has out "$work/root$installed/adaps/__init__.py " "is used"
        has out "'$installed'" "and is where Debian's Python looks"
        check "with its mark of type hints" test -f "$work/root$installed/adaps/py.typed"
        check "make uninstall" env -u MAKEFLAGS make -C "$build" uninstall-dist_pymoduleDATA DESTDIR="$work/root" prefix=/usr/local
        check "leaves nothing" test -z "$(ls "$work/root$installed/adaps")"
        ;;
    *) ok "the package is not installed, or in a folder of its own" ;;
esac
finish
