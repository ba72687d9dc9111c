#!/bin/sh
# Every manual page is clean for mandoc, and every example in it runs and ends as it says: lines that
# begin with "$ " in the page as it is shown, each run by sh in a folder like a checkout; "# exit status
# N" behind a line tells N. One page after the other, each in a folder of its own.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

command -v mandoc >/dev/null || skip "mandoc is not installed"

# The page as a reader sees it, without overstrikes.
shown() {
    mandoc -Tascii -O width=200 "$1" | sed 's/.\x08//g'
}

run_examples() {
    page=$1
    name=$(basename "$page")
    mkdir "$work/$name" && cd "$work/$name" || exit 99
    cp -R "$src/adaps.conf" "$src/devices" .
    mkdir models && cp -R "$src"/models/*.onnx "$src/models/samples" models/
    chmod -R u+w .
    shown "$page" | sed -n 's/^ *\$ //p' >"$work/examples"
    while IFS= read -r line <&3; do
        wanted=$(printf "%s\n" "$line" | sed -n 's/.*# exit status \([0-9]*\).*/\1/p')
        status "${wanted:-0}" "$name: $line" sh -c "$line" 3<&-
    done 3<"$work/examples"
    examples=$((examples + $(wc -l <"$work/examples")))
    cd "$work" && rm -rf "$name"
}

pages=0
examples=0
for page in "$src"/man/*.[1-9]; do
    pages=$((pages + 1))
    mandoc -Tlint -Wwarning "$page" >"$work/out" 2>"$work/err"
    if [ -s "$work/out" ]; then
        not_ok "$(basename "$page"): mandoc -Tlint"
    else
        ok "$(basename "$page"): mandoc -Tlint"
    fi
    run_examples "$page"
done

# Every command has a page, and every option that --help tells is in it.
for command in $(adaps --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p'); do
    page=
    for page in "$src/man/adaps-$command".[18]; do
        [ -f "$page" ] || page=
    done
    rm -f "$work/out" "$work/err"
    if [ -z "$page" ]; then
        not_ok "adaps $command has a manual page"
        continue
    fi
    for option in $(adaps "$command" --help | sed -n 's/^  .*\(--[a-z][a-z-]*\).*/\1/p'); do
        [ "$option" = --help ] && continue
        shown "$page" >"$work/out"
        says out "$option" "$(basename "$page"): $option"
    done
done

rm -f "$work/out" "$work/err"
[ "$pages" -ge 15 ] || not_ok "15 pages, not $pages"
[ "$examples" -ge 30 ] || not_ok "30 examples, not $examples"
finish
