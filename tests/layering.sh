#!/bin/sh
# A folder includes only base/ and the folders before it (HACKING.md, "One way through the house").
set -eu
src=${srcdir:-.}/src
order="base onnx ir blocks cost fusion schedule search plan net report exec cli"

position() {
    n=0
    for folder in $order; do
        n=$((n + 1))
        [ "$folder" = "$1" ] && echo "$n" && return
    done
    echo 0
}

bad=0
checked=0
for folder in $order; do
    own=$(position "$folder")
    for file in "$src/$folder"/*.[ch]; do
        [ -f "$file" ] || continue
        checked=$((checked + 1))
        for included in $(sed -n 's|^#include "\([a-z]*\)/.*|\1|p' "$file"); do
            theirs=$(position "$included")
            if [ "$theirs" = 0 ] || [ "$theirs" -gt "$own" ]; then
                echo "$file: $folder/ may not include $included/" >&2
                bad=$((bad + 1))
            fi
        done
        if [ "$folder" != exec ] && grep -q '^#include <xnnpack.h>' "$file"; then
            echo "$file: only exec/ may use XNNPACK" >&2
            bad=$((bad + 1))
        fi
        # pipeline.h stands behind plan/: what is before it must not call back into it
        if [ "$folder" != cli ] && grep -q '^#include "pipeline.h"' "$file"; then
            echo "$file: only cli/ and the public interface may call the pipeline" >&2
            bad=$((bad + 1))
        fi
    done
done
echo "layering: $checked files, $bad violations"
[ "$checked" -gt 40 ] && [ "$bad" = 0 ]
