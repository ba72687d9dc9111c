#!/bin/sh
# bench/compare: the simulated and the measured part, cells that are measured again, and signals.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy matplotlib

helper=$build/bench/testbed-helper
ADAPS=$adaps TESTBED_HELPER=$helper ZOO=$build/models/zoo SEARCH=$build/bench/search
export ADAPS TESTBED_HELPER ZOO SEARCH

# shellcheck disable=SC2317
compare() {
    "$python" "$src/bench/compare" "$@"
}

status 2 "an unknown option" compare --no-such 1
status 2 "no devices" compare --devices 0
status 2 "a rate in words" compare --rates fast
status 2 "speeds of nobody" compare --speeds 1,0.5
status 2 "no tries" compare --tries 0
status 2 "another part" compare --only guessed
status 0 "the simulated part" compare --only simulated --evaluations 50 -o res "$src/models/digits.onnx" lenet5
check "both networks, by name" test "$(field res/simulated.tsv network | sort -u | tr '\n' ' ')" = "digits lenet5 "
check "a picture" grep -q "</svg>" res/simulated.svg
echo nothing >broken.onnx
status 3 "what is no model" compare --only simulated -o res broken.onnx
status 3 "a model that is not there" compare --only simulated -o res none.onnx

# Measured within a testbed. The second time the cell takes the place of the first one, and another is added.
for rates in 1000 "100 1000"; do
    status 0 "the measured part, $rates mbit" compare --only measured --devices 2 --no-check --bed --no-shares \
        --bed --bed=relay --rates "$rates" --strategies auto,single --rounds 1 --runs 1 --budget 0.3s -o res \
        "$src/models/digits.onnx"
done
check "four lines" test "$(rows res/compare.tsv)" = 4
check "measured, with counted bytes and no wrong answer" test "$(rows res/compare.tsv '
    f("times") == "measured" && f("network") == "digits" && f("devices") == 2 && f("wire_bytes") >= 0 &&
    f("differ") == 0 && f("drift") ~ /^[0-9]+[.][0-9]+$/')" = 4
for rate in 100 1000; do
    check "two strategies at $rate mbit" test "$(field res/compare.tsv strategy "mbit=$rate" | tr '\n' ' ')" = "auto single "
done
check "the picture: slower links to the left" sh -c \
    "grep -o '1*00* mbit' res/compare.svg | tr '\n' ' ' | grep -qx '100 mbit 1000 mbit 100 mbit 1000 mbit '"
cut -f 1-5 res/compare.tsv >res2.tsv
mkdir -p other
mv res2.tsv other/compare.tsv
status 3 "a table with other columns" compare --only measured --devices 2 --no-check --bed --no-shares --bed --bed=relay \
    --rates 1000 --strategies single --rounds 1 --runs 1 --no-profile -o other lenet5
says err "other columns" "is said"

# Processors that get slower all the time: a cell is measured again, as often as it may be.
cat >slower <<'END'
#!/bin/sh
[ "$1" = pace ] || exec "$REAL_HELPER" "$@"
pace=20
while echo "0 $pace"; do
    sleep 0.02
    pace=$((pace + 1))
done
END
chmod +x slower
REAL_HELPER=$helper TESTBED_HELPER=$PWD/slower
export REAL_HELPER
status 0 "processors get slower" compare --only measured --devices 2 --no-check --bed --no-shares \
    --bed --bed=relay --rates 1000 --strategies single --rounds 1 --runs 1 --budget 0.3s --tries 2 -o slow \
    "$src/models/digits.onnx"
check "two tries" test "$(grep -c "compare: drift" err)" = 2
check "the cell says so" test "$(rows slow/compare.tsv 'f("drift") > 0.05')" = 1
TESTBED_HELPER=$helper

# Latencies of links are at least those at full speed, whatever their units; all else is as it was measured last.
cat >latencies.py <<'END'
import sys

sys.path.insert(0, sys.argv[1])
import bedlib

full = ["[link a b]", "latency = 90us ; measured", "latency_back = 0.2ms", "[link a c]", "latency = 1us"]
now = ["[a]", "latency = 1us", "[link a b]", "latency = 0.05ms ; measured", "latency_back = 300us", "[link a c]",
       "bandwidth = 1mbit", "latency = 2us"]
for line in bedlib.raise_latencies(now, dict(bedlib.latencies(full))):
    print(line)
END
status 0 "latencies" "$python" latencies.py "$src/bench"
check "the greater ones" sh -c 'tr "\n" "|" <out |
    grep -qxF "[a]|latency = 1us|[link a b]|latency = 90us ; measured|latency_back = 300us|[link a c]|bandwidth = 1mbit|latency = 2us|"'

# A signal ends what runs at once: whoever lives holds the fifo.
cat >waits <<'END'
#!/bin/sh
echo begun
exec tail -f /dev/null
END
chmod +x waits
mkfifo held
TESTBED=./waits "$python" "$src/bench/compare" --only measured -o res "$src/models/digits.onnx" >held &
compare_pid=$!
{
    read -r line
    kill $compare_pid
    if timeout 20 cat >rest; then ok "a signal ends it all"; else not_ok "compare lives: $line"; fi
} <held
wait $compare_pid
check "and its status says so" test $? = 143
finish
