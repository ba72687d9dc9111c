#!/bin/sh
# bench/papers/autodice: both tables of a small network under the paper's name, and bad options.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python onnx

cat >zoo <<'ZOO'
#!/bin/sh
exec "$REAL_ZOO" squeezenet "$2" "$3"
ZOO
chmod +x zoo
REAL_ZOO=$build/models/zoo ADAPS=$adaps ZOO=$work/zoo
export REAL_ZOO ADAPS ZOO

status 2 "an unknown network" "$python" "$src/bench/papers/autodice" lenet5
status 0 "the tables" "$python" "$src/bench/papers/autodice" densenet121
check "a line of Table I" test "$(grep -cE '^densenet121 +32 +[0-9]+ +1.93 +[0-9.]+$' out)" = 1
check "a line for each number of devices" test "$(grep -cE '^densenet121 +[1248] +([0-9.]+|-) +' out)" = 4
says out "^densenet121  *8  *0.94  *0.39 " "the paper's point"
check "its claims hold or do not" test "$(grep -cE '^(holds|does not hold)  +densenet121: ' out)" = 2
finish
