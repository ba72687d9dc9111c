#!/bin/sh
# In how many files each kind of op is named. A kind belongs in: the enum (ir/graph.h), the table of operators
# (ir/operators.c), the region rules (fusion/rules.c), the kernels (exec/engine/operators.c) and the lowering
# (import/lower.c). Rewrites of a draft into several ops (import/lower_*.c) and tests do not count. A switch over kinds
# has no default, so that the compiler names the kind that was forgotten.
set -eu
top=${srcdir:-.}
most=6
bad=0

files=$(find "$top/src" "$top/bench" "$top/fuzz" -name '*.[ch]' | grep -v '/import/lower_' | sort)
kinds=$(sed -n 's/^ *\(AD_OP_[A-Z_]*\),.*/\1/p' "$top/src/ir/graph.h")
[ "$(echo "$kinds" | wc -l)" -gt 20 ]
for kind in $kinds; do
    # shellcheck disable=SC2086 # a list of files without blanks
    named=$(grep -lw "$kind" $files | sed "s|^$top/||")
    count=$(echo "$named" | wc -l)
    printf '%-22s %d: %s\n' "$kind" "$count" "$(echo "$named" | tr '\n' ' ')"
    if [ "$count" -gt "$most" ]; then
        echo "kinds: $kind is named in $count files, at most $most are allowed" >&2
        bad=$((bad + 1))
    fi
done

# A switch ends at the brace below its first letter, and its cases stand in the same column.
defaults=$(find "$top/src" "$top/tests" "$top/bench" "$top/fuzz" -name '*.[ch]' -exec awk '
    { match($0, /^ */); column = RLENGTH }
    FNR == 1 { depth = 0 }
    /^ *switch \(/ { at[++depth] = column; kinds[depth] = fallback[depth] = 0 }
    depth && column == at[depth] && /^ *case AD_OP_/ { kinds[depth] = 1 }
    depth && column == at[depth] && /^ *default:/ { fallback[depth] = FNR }
    depth && column == at[depth] && /^ *}/ {
        if (kinds[depth] && fallback[depth]) print FILENAME ":" fallback[depth]
        depth--
    }' {} +)
for place in $defaults; do
    echo "kinds: $place: a switch over kinds has a default" >&2
    bad=$((bad + 1))
done
[ "$bad" = 0 ]
