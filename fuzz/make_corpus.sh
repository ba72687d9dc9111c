#!/bin/sh
# Writes the seeds again: fuzz/make_corpus.sh FOLDER, after fuzz/build.sh FOLDER. Regression seeds
# (crashers that were found) stay as they are.
set -eu
[ $# -eq 1 ] && [ -x "$1/make_corpus" ] && [ -d fuzz/corpus ] || {
    echo "usage: fuzz/make_corpus.sh FOLDER (in the source folder, after fuzz/build.sh FOLDER)" >&2
    exit 2
}
exec "$1/make_corpus" fuzz/corpus
