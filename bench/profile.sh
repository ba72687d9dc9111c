#!/bin/sh
# Does adaps profile find an agent at --speed 0.3 to be 0.30 of the full one, within 0.02? Two agents on
# this machine, which should be quiet, measured ROUNDS times (default 3); the median counts.
# usage: bench/profile.sh [ROUNDS], in the build folder
set -eu
adaps=${ADAPS:-./adaps}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
round=0
while [ "$round" -lt "${1:-3}" ]; do
    round=$((round + 1))
    "$adaps" local 2 --speed 1,0.3 --threads 1 -o "$work/two.conf" -- \
        "$adaps" profile -d "$work/two.conf" --no-links --json 2>"$work/err" >"$work/out" ||
        { cat "$work/err" >&2 && exit 1; }
    tr ',' '\n' <"$work/out" | sed -n 's/.*"relative": *\([0-9.]*\).*/\1/p' | tail -n 1 >>"$work/found"
done
sort -n "$work/found" | awk '{ v[NR] = $1; print "relative speed", $1 }
    END { m = v[int((NR + 1) / 2)]; print "median", m; exit !(m >= 0.28 && m <= 0.32) }'
