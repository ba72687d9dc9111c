#!/bin/sh
# What documents say of the repository is so: the paths that they and comments name exist, HACKING.md and the
# folders' READMEs are short, all documents belong to a release, NEWS names the versions of the headers, and
# the table of folders in docs/ARCHITECTURE.md is that of tests/layering.sh.
set -eu
root=${srcdir:-.}
bad=0
checked=0
list=$(mktemp)
trap 'rm -f "$list"' EXIT

complain() {
    echo "documents: $*" >&2
    bad=$((bad + 1))
}

# Words in backticks that look like a path, a line each; nothing of fenced blocks.
named_paths() {
    awk '/^```/ { fenced = !fenced; next } !fenced {
        n = split($0, part, "`")
        for (i = 2; i <= n; i += 2) { split(part[i], word, " "); print word[1] }
    }' "$1" | grep -E '^[a-z0-9][a-zA-Z0-9_.*-]*/[a-z0-9_./*-]*(\.md)?$|^[a-zA-Z0-9_*-]+\.(c|h|sh|py|md|mk|am|proto|conf)$|^(src|docs|bench|tests|fuzz)/[A-Za-z0-9_./*-]+$' |
        sort -u
}

# there BASE PATH: a file, a folder, a pattern of files, or a program whose source is there.
there() {
    for match in "$1"/$2; do
        [ ! -e "$match" ] || return 0
    done
    [ -e "$1/$(echo "$2" | tr - _).c" ]
}

for document in "$root"/*.md $(find "$root"/bench "$root"/devices "$root"/docs "$root"/fuzz "$root"/models \
    "$root"/src "$root"/tests -name '*.md' | sort); do
    for path in $(set -f && named_paths "$document"); do
        checked=$((checked + 1))
        there "$root" "$path" || there "$(dirname "$document")" "$path" || there "$root/src" "$path" ||
            complain "$document: there is no $path"
    done
    grep -qF "${document#"$root"/}" "$root/Makefile.am" || complain "Makefile.am: $document is not in a release"
done

# Words in comments that look like files of ours, with the file whose comment it is. Fields like in.h are none.
named_files() {
    find "$root/src" "$root/tests" "$root/bench" "$root/fuzz" "$root/models" -name '*.[ch]' \
        -not -name '*.pb-c.*' | sort | xargs awk '
        FNR == 1 { inside = 0 }
        {
            for (line = $0; line != ""; line = substr(line, i + 2)) {
                if (!inside && !(i = index(line, "/*"))) break
                if (!inside) line = substr(line, i + 2)
                inside = !(i = index(line, "*/"))
                n = split(inside ? line : substr(line, 1, i - 1), word, /[^A-Za-z0-9_\/.-]+/)
                for (k = 1; k <= n; k++) {
                    sub(/\.$/, "", word[k])
                    if (word[k] ~ /^[a-z][a-z0-9_\/-]*\.(c|h|proto|md)$/ && word[k] !~ /^(box|in|out)\./)
                        print FILENAME, word[k]
                }
                if (inside) break
            }
        }' | sort -u
}
ours=" $(find "$root/src" "$root/tests" "$root/bench" "$root/fuzz" "$root/models" "$root/docs" -name '*.[ch]' -o \
    -name '*.proto' -o -name '*.md' | sed 's|.*/||' | tr '\n' ' ') "
named_files >"$list"
while read -r file word; do
    checked=$((checked + 1))
    case $word in
        */*) there "$root" "$word" || there "$root/src" "$word" || complain "$file: there is no $word" ;;
        *) case $ours in *" $word "*) ;; *) complain "$file: there is no $word" ;; esac ;;
    esac
done <"$list"

size=$(wc -c <"$root/HACKING.md")
[ "$size" -le 10240 ] || complain "HACKING.md has $size bytes, more than 10240"

# A README where there are many files, and never a long one.
for folder in $(find "$root/src" "$root/tests" -type d | sort); do
    files=$(find "$folder" -maxdepth 1 -name '*.[ch]' -not -name '*.pb-c.*' | wc -l)
    if [ -e "$folder/README.md" ]; then
        lines=$(wc -l <"$folder/README.md")
        [ "$lines" -le 10 ] || complain "$folder/README.md has $lines lines, more than 10"
    elif [ "$files" -gt 10 ]; then
        complain "$folder has $files files and no README.md"
    fi
done

# version NAME WORDS FILE MACRO: the only number after these words in NEWS is that of the header.
version() {
    ours=$(sed -n "s/^#define $3 \([0-9]*\)$/\1/p" "$root/$2")
    theirs=$(tr '\n' ' ' <"$root/NEWS" | grep -oE "$1 [0-9]+" | sed 's/.* //' | sort -u | tr '\n' ' ')
    [ "$theirs" = "$ours " ] || complain "NEWS: $1 ${theirs:-(none)}, but $2 has $ours"
}
version format src/plan/plan.h AD_PLAN_VERSION
version protocol src/wire/frame.h AD_FRAME_VERSION
! grep -nE "version [0-9]" "$root/NEWS" || complain "NEWS: versions are called format and protocol"

# Columns: folder, what it does, what it needs.
table() {
    sed -n '/^needs=/,/^.$/p' "$root/tests/layering.sh" | awk 'NF && !/^needs=/ && !/^.$/' | awk '{ $1 = $1; print }'
}
table | while read -r folder needs; do
    row=$(grep -F "| \`$folder/\` |" "$root/docs/ARCHITECTURE.md" | awk -F'|' '{ gsub(/^ +| +$/, "", $4); print $4 }')
    [ "$row" = "$needs" ] && grep -qF "| \`$folder/\` |" "$root/docs/ARCHITECTURE.md" ||
        echo "docs/ARCHITECTURE.md: $folder/ needs '$row', but in tests/layering.sh '$needs'"
done >"$list"
while read -r line; do
    complain "$line"
done <"$list"
[ "$(table | wc -l)" -gt 15 ] || complain "no table in tests/layering.sh"

echo "documents: $checked paths, $bad wrong"
[ "$checked" -gt 100 ] && [ "$bad" = 0 ]
