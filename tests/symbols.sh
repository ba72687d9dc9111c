#!/bin/sh
# The symbols file of the Debian package is that of the library: a function that is missing or new is seen by whoever changes
# it. Functions that a release had stay; what comes later has its version there.
set -eu
root=${srcdir:-.}
library=${SHARED:-./libadaps.so.0}
file=$root/debian/libadaps0.symbols
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

command -v nm >/dev/null || { echo "1..0 # SKIP nm is not installed (Debian: binutils)"; exit 77; }
# "NAME@VERSION", as nm and as the file has them.
nm -D --defined-only "$library" | awk '$2 == "T" || $2 == "A" { sub(/@@/, "@", $3); print $3 }' | sed 's/^LIBADAPS_0$/&@LIBADAPS_0/' |
    sort >"$work/library"
sed -n 's/^ \([A-Za-z0-9_]*@[A-Z0-9_]*\) [0-9.]*$/\1/p' "$file" | sort >"$work/file"
diff "$work/library" "$work/file"
[ "$(grep -c '^ ' "$file")" = "$(wc -l <"$work/file")" ] || { echo "symbols: a line of $file is not understood"; exit 1; }
# dpkg-gensymbols agrees, where it is there.
if command -v dpkg-gensymbols >/dev/null; then
    mkdir -p "$work/package/DEBIAN" "$work/package/usr/lib" "$work/debian"
    cp "$library" "$work/package/usr/lib/"
    cp "$root/debian/control" "$work/debian/"
    printf 'adaps (0.1.0) unstable; urgency=medium\n\n  * Test.\n\n -- adaps authors <adaps@example.org>  Thu, 01 Jan 2026 00:00:00 +0000\n' \
        >"$work/debian/changelog"
    file=$(cd "$(dirname "$file")" && pwd)/libadaps0.symbols
    (cd "$work" && dpkg-gensymbols -plibadaps0 -Ppackage -v0.1.0 -c4 -I"$file" -Oout) || exit 1
fi
echo "symbols: $(wc -l <"$work/file")"
[ "$(wc -l <"$work/file")" -gt 10 ]
