#!/bin/sh
# Every manual page passes mandoc's checks, its options are those of the program, and its examples run. An
# example is a line that begins with "$ " in the page as it is shown; sh runs it in a folder like a checkout,
# one for each page. Its exit status is 0, or N where the line ends with "# exit status N".
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
    mkdir models && cp -R "$src"/models/*.onnx "$src"/models/*.json "$src/models/samples" models/
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

# page_options SECTION PAGE: the options that the source of a page names, as LETTER NAME VALUE with "-" for
# what is missing: in its synopsis (by the letter if there is one), or as the items of its lists.
page_options() {
    awk -v section="$1" '
        function flush() {
            if (name != "" || letter != "")
                print (letter == "" ? "-" : letter), (name == "" ? "-" : name), (value == "" ? "-" : value)
            letter = name = value = mode = glue = ""
        }
        { line = line $0 }
        /\\$/ { sub(/\\$/, "", line); next }
        {
            words = split(line, word, " ")
            line = ""
        }
        word[1] == ".Sh" { synopsis = word[2] == "SYNOPSIS" }
        section == "synopsis" && !(synopsis && (word[1] == ".Op" || word[1] == ".Fl")) { next }
        section == "items" && !(word[1] == ".It" && word[2] == "Fl") { next }
        {
            for (i = 1; i <= words; i++) {
                w = word[i]
                sub(/^\./, "", w)
                if (w == "Fl") { flush(); mode = "name" }
                else if (w == "Ar" || w == "Cm") { mode = mode == "" ? "" : "value" }
                else if (w == "Op" || w == "It") flush()
                else if (w == ",") { if (mode == "value") flush() }
                else if (w == "|") glue = "|"
                else if (w == "Ns") glue = "="
                else if (w == "=") continue
                else if (mode == "name" && w ~ /^-./) name = substr(w, 2)
                else if (mode == "name") letter = w == "-" ? "" : w
                else if (mode == "value") { value = value (value == "" ? "" : glue) w; glue = "" }
            }
            flush()
        }' "$2" | sort -u
}

# Every command has a page, whose synopsis and items have the options of adaps --list-options, with their
# values called the same, and no others.
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
    adaps --list-options "$command" | grep -v "^help" >table
    awk -F '\t' '{ print $2, $1, $3 }' table | sort >wanted
    page_options items "$page" >found
    check "adaps-$command: the options are those of the program" diff wanted found
    awk -F '\t' '{ if ($2 != "-") $1 = "-"; print $2, $1, $3 }' table | sort >wanted
    page_options synopsis "$page" >found
    check "adaps-$command: so is its synopsis" diff wanted found
done

# adaps(1) names each command with a line, and each page under SEE ALSO.
adaps --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p' | sort >wanted
awk '/^\.It Cm/ { command = $3; next } command && /^[A-Z].*\.$/ { print command } { command = "" }' "$src/man/adaps.1" |
    sort >found
check "adaps(1): the commands are those of the program" diff wanted found
sed -n 's/^\.Dt \([^ ]*\) \([0-9]\).*/\1 \2/p' "$src"/man/*.[1-9] | tr '[:upper:]' '[:lower:]' | grep -vx "adaps 1" |
    sort >wanted
sed -n '/^\.Sh SEE ALSO/,$s/^\.Xr \([^ ]*\) \([0-9]\).*/\1 \2/p' "$src/man/adaps.1" | sort >found
check "adaps(1): it refers to all pages" diff wanted found

rm -f "$work/out" "$work/err"
[ "$pages" -ge 15 ] || not_ok "15 pages, not $pages"
[ "$examples" -ge 30 ] || not_ok "30 examples, not $examples"
finish
