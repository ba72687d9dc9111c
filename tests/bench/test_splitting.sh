#!/bin/sh
# bench/papers/splitting: Tables 1 and 2 of Hadidi et al., equal to what the planner counts.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python onnx

ADAPS=$adaps
export ADAPS
status 2 "an unknown option" "$python" "$src/bench/papers/splitting" --fast
status 0 "all counts are equal" "$python" "$src/bench/papers/splitting"
check "eight dense layers" test "$(grep -c ' to .* on .*put .* = .* = .* =$' out)" = 8
check "eleven convolutions" test "$(grep -cE ' on [0-9], (channel|filter|spatial) .* = .* = .* =$' out)" = 11
says out "equation 2 leaves out" "the difference is told"

# A planner that counts something else is told.
cat >adaps <<'END'
#!/bin/sh
"$REAL" "$@" | sed 's/"macs": /"macs": 1/'
END
chmod +x adaps
REAL=$adaps ADAPS=$work/adaps
export REAL ADAPS
status 1 "counts that differ" "$python" "$src/bench/papers/splitting"
says out "^[0-9]* counts differ" "are told"
finish
