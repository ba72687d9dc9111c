#!/bin/sh
# No two structs of src/ share a tag: one name for two things misleads whoever reads.
set -eu
src=${srcdir:-.}/src
tags=$(find "$src" -name '*.[ch]' -exec sed -n 's/^struct \(ad_[a-z0-9_]*\) {.*/\1/p' {} + | sort)
shared=$(echo "$tags" | uniq -d)
for tag in $shared; do
    echo "tags: struct $tag is defined in" $(grep -rl "^struct $tag {" "$src") >&2
done
echo "tags: $(echo "$tags" | wc -l) structs"
[ "$(echo "$tags" | wc -l)" -gt 100 ] && [ -z "$shared" ]
