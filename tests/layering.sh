#!/bin/sh
# Who may include whom (docs/ARCHITECTURE.md, "The folders"). A folder includes base/, itself, and the
# folders named after it here, all of which stand above it. What agents link (exec/, wire/, plan/ and what
# these need) sees neither search/ nor import/ nor control/.
set -eu
src=${srcdir:-.}/src
needs='
base
onnx
wire
metrics             wire
ir                  onnx
import              onnx ir
blocks              ir
cost                ir
fusion              ir
schedule            ir cost fusion
plan                ir schedule
exec/kernels        ir cost fusion
exec/engine         ir fusion schedule plan exec/kernels
exec/agent          ir wire metrics plan exec/kernels exec/engine
search              ir blocks cost fusion schedule
search/published    ir fusion search
search/paper        fusion search
search/exact        search
search/given        onnx ir import cost fusion schedule search
search/auto         cost fusion schedule search search/published search/paper search/exact
search/bound        fusion search
search/stream       schedule search search/published search/auto
search/strategies   search search/published search/paper search/exact search/auto search/bound search/stream
search/pareto       schedule search search/auto search/strategies
split               onnx import search search/given
quantise            onnx
control             ir plan wire metrics exec/kernels exec/engine
doctor              wire cost control
report              ir search search/strategies search/pareto plan control
report/page         plan report
pair                ir cost wire report
io                  ir onnx
vision              ir
serve               wire vision
'
bad=0
checked=0

complain() {
    echo "layering: $*" >&2
    bad=$((bad + 1))
}

# The folders that a folder may include by the table, itself and base/ among them.
allowed() {
    echo "$needs" | awk -v folder="$1" '$1 == folder { print "base", $0 }'
}

# The folders that the files of a folder include.
included() {
    sed -n 's|^#include "\([a-z/]*\)/[a-z0-9_.-]*"|\1|p' "$src/$1"/*.[ch] | sort -u
}

# The table itself: what a folder needs stands above it, and each folder of src/ is in it.
above=' base '
for folder in $(echo "$needs" | awk 'NF { print $1 }'); do
    for need in $(allowed "$folder"); do
        case "$above$folder " in
            *" $need "*) ;;
            *) complain "the table: $folder/ needs $need/, which does not stand above it" ;;
        esac
    done
    above="$above$folder "
done
for folder in $(cd "$src" && find . -name '*.[ch]' | sed -n 's|^\./\(.*\)/[^/]*$|\1|p' | sort -u); do
    case "$above cli " in
        *" $folder "*) ;;
        *) complain "$folder/ is not in the table" ;;
    esac
done

# The includes of every file.
for folder in $above; do
    may=" $(allowed "$folder" | tr '\n' ' ') "
    for file in "$src/$folder"/*.[ch]; do
        checked=$((checked + 1))
        for theirs in $(sed -n 's|^#include "\([a-z/]*\)/[a-z0-9_.-]*"|\1|p' "$file"); do
            case "$may" in
                *" $theirs "*) continue ;;
            esac
            complain "$file: $folder/ may not include $theirs/"
        done
        if [ "$folder" != exec/kernels ] && grep -q '^#include <xnnpack.h>' "$file"; then
            complain "$file: only exec/kernels/ may use XNNPACK"
        fi
        # Only cli/ and the public interface, which are not in the table, may call the pipeline.
        if grep -qE '^#include "(pipeline|model_weights)\.h"' "$file"; then
            complain "$file: only cli/ and the public interface may call the pipeline"
        fi
    done
done

# What agents link, followed through all that it really includes.
linked='exec/agent exec/engine exec/kernels wire plan'
left=$linked
while [ -n "$left" ]; do
    next=
    for folder in $left; do
        for theirs in $(included "$folder"); do
            case " $linked " in
                *" $theirs "*) ;;
                *) linked="$linked $theirs" next="$next $theirs" ;;
            esac
        done
    done
    left=$next
done
for folder in $linked; do
    case $folder in
        search* | import | control | report | cli) complain "agents would link $folder/" ;;
    esac
done

echo "layering: $checked files, $bad violations; agents link: $linked"
[ "$checked" -gt 200 ] && [ "$bad" = 0 ]
