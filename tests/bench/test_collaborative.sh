#!/bin/sh
# bench/papers/collaborative: a network of the paper, one that the zoo lacks, and bad options.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy

# A zoo of one network, which is small, and its name that of the paper's.
cat >zoo <<'ZOO'
#!/bin/sh
if [ "$1" = --list ]; then
    echo "alexnet  a small one"
else
    exec "$REAL_ZOO" lenet5 "$2" "$3"
fi
ZOO
chmod +x zoo
REAL_ZOO=$build/models/zoo ADAPS=$adaps ZOO=$work/zoo
export REAL_ZOO ADAPS ZOO

# shellcheck disable=SC2317
collaborative() {
    "$python" "$src/bench/papers/collaborative" "$@"
}

status 2 "an unknown network" collaborative lenet5
status 0 "the table" collaborative alexnet xception
check "a line for each number of devices" test "$(grep -cE '^alexnet +[46] +[0-9.]+ ' out)" = 2
says out "^xception  *models/zoo lacks it" "what the zoo lacks"
check "its claim holds or does not" test "$(grep -cE '^(holds|does not hold)  +alexnet on [46]: ' out)" = 2
status 0 "without the memory" collaborative --memory 1KiB alexnet
says out "^no plan  *alexnet on 4 devices" "is told"
finish
