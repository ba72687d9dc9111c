#!/bin/sh
# adaps inspect --operators, and docs/operators.md, which is made of it: `tests/import/operators.sh --write` does that,
# without an option this checks that it is so. Where Python's onnx is installed, versions and attributes are compared with
# ONNX' own.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

need_python json

make_document() {
    adaps inspect --operators --json | "$python" "$src/tests/import/operators_document.py"
}

if [ "${1-}" = --write ]; then
    make_document >"$work/operators.md" && cp "$work/operators.md" "$src/docs/operators.md"
    exit
fi

status 0 "the document is made" sh -c 'adaps inspect --operators --json >operators.json &&
    "$python" "$src/tests/import/operators_document.py" <operators.json >operators.md'
status 0 "docs/operators.md is what tests/import/operators.sh --write makes" \
    diff -u "$src/docs/operators.md" operators.md
status 0 "the table" adaps inspect --operators
says out "^Conv  *1-24  *split  *halo  *halo  *all, sums  *kind  *weights computed at run time" "Conv"
says out "^Constant  *1-24  *constant" "Constant"
says out "^TopK  *1-24  *whole" "TopK"
check "a line for each operator" [ "$(wc -l <out)" = "$(($(grep -o '"operator":' operators.json | wc -l) + 1))" ]
status 2 "--operators with a model" adaps inspect --operators "$src/models/digits.onnx"
says err "goes with --json only" "is refused"
status 2 "--operators --dot" adaps inspect --operators --dot
finish
