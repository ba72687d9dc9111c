#!/bin/sh
# build.sh SOURCES CHANGELOG FOLDER: makes the Debian packages of a release's sources, which it moves to FOLDER,
# and has lintian look at them. What lintian calls an error or a warning is a failure.
set -eu
sources=$1
changelog=$2
folder=$3

for program in dpkg-buildpackage dh lintian; do
    command -v "$program" >/dev/null || {
        echo "build.sh: no program $program (./bootstrap deb installs it)" >&2
        exit 1
    }
done
rm -rf "$folder"
mkdir -p "$folder"
mv "$sources" "$folder/"
cp "$changelog" "$folder/$(basename "$sources")/debian/changelog"
cd "$folder"
(cd "$(basename "$sources")" && dpkg-buildpackage -b -us -uc -j"$(nproc)") >build.log 2>&1 || {
    tail -n 40 build.log >&2
    echo "build.sh: all of it is in $folder/build.log" >&2
    exit 1
}
rm -rf "$(basename "$sources")"
lintian --fail-on error,warning --tag-display-limit 0 ./*.changes
ls -l ./*.deb
