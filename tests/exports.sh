#!/bin/sh
# The shared library exports the functions of adaps.h and nothing else, under its name.
set -eu
src=${srcdir:-.}/src
library=${SHARED:-./libadaps.so.0}
list=$(mktemp -d)
trap 'rm -rf "$list"' EXIT

command -v nm >/dev/null || { echo "1..0 # SKIP nm is not installed (Debian: binutils)"; exit 77; }
# Declarations begin in the first column; a comment's lines do not.
sed -n '/^typedef/d; s|^[a-z].*[ *]\(adaps_[a-z_]*\)(.*|\1|p' "$src/adaps.h" | sort >"$list/declared"
nm -D --defined-only "$library" | awk '$2 == "T" { sub(/@.*/, "", $3); print $3 }' | sort >"$list/exported"
nm -D --defined-only "$library" | awk '$2 != "T" && $2 != "A"' | grep -v "sanitizer\|asan\|ubsan\|tsan" >"$list/other" || true
diff "$list/declared" "$list/exported"
[ ! -s "$list/other" ] || { echo "exports: other than functions:"; cat "$list/other"; exit 1; }
readelf -d "$library" | grep -qF '[libadaps.so.0]' || { echo "exports: the name is not libadaps.so.0"; exit 1; }
echo "exports: $(wc -l <"$list/declared") functions"
[ "$(wc -l <"$list/declared")" -gt 10 ]
