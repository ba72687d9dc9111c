#!/bin/sh
# Tables and pictures of bench/: the simulated table, its picture, and what is refused.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

build=$(dirname "$adaps")
chart=$build/bench/chart

status 2 "no table" "$chart"
: >empty
status 3 "an empty table" "$chart" empty
printf 'a\tb\n1\n' >short
status 3 "a line that is too short" "$chart" short
says err "short:2" "which is named"
printf 'a\tb\n1\t2\n' >other
status 3 "a table of something else" "$chart" other

status 0 "a table" "$build/bench/search" -e 50 --tsv t.tsv "$src/devices/pi5-pi4.conf" "$src/models/digits.onnx"
# shellcheck disable=SC2016
check "nine strategies on nine clusters, marked as simulated" awk -F '\t' '
    NR > 1 && $1 == "simulated" && NF == 11 && $7 > 0 { n++ } END { exit n != 81 }' t.tsv
status 0 "its picture" "$chart" t.tsv
says out "^<svg .*" "which is one"
says out "simulated" "and says what it is of"
says out "one device is best" "and where one device is best"
says out "^</svg>" "to its end"
# What names say is shown, not obeyed.
sed 's/digits/<b>\&/' t.tsv >named
status 0 "a strange name" "$chart" named
says out "&lt;b&gt;&amp;" "is escaped"

PATH=$build/bench:$PATH
compare=$src/bench/compare
ADAPS=$adaps TESTBED_HELPER=$build/bench/testbed-helper ZOO=$build/models/zoo CHART=$chart SEARCH=$build/bench/search
export ADAPS TESTBED_HELPER ZOO CHART SEARCH
status 2 "compare: unknown option" sh "$compare" --no-such 1
status 2 "compare: no devices" sh "$compare" --devices 0
status 2 "compare: a rate in words" sh "$compare" --rates fast
status 2 "compare: speeds of nobody" sh "$compare" --speeds 1,0.5
status 2 "compare: no tries" sh "$compare" --tries 0
status 0 "compare: the simulated part" sh "$compare" --only simulated --evaluations 50 -o res "$src/models/digits.onnx" lenet5
check "both networks, by name" sh -c "cut -f 2 res/simulated.tsv | sort -u | tr '\n' ' ' | grep -q '^digits lenet5 network'"
check "a picture" grep -q "</svg>" res/simulated.svg
echo nothing >broken.onnx
status 3 "compare: what is no model" sh "$compare" --only simulated -o res broken.onnx

# Measured within a bed; a second time the cell takes the place of the first, and another is added.
for rates in 1000 "100 1000"; do
    status 0 "compare: the measured part, $rates mbit" sh "$compare" --only measured --devices 2 --no-check --bed --no-shares \
        --bed --bed=relay --rates "$rates" --strategies auto,single --rounds 1 --runs 1 --budget 0.3s -o res \
        "$src/models/digits.onnx"
done
# shellcheck disable=SC2016
check "two lines for each rate, with counted bytes" awk -F '\t' '
    NR > 1 { lines[$4]++; good += $1 == "measured" && $2 == "digits" && $3 == 2 && $18 >= 0 && $21 == 0 && $23 ~ /^[0-9]+[.][0-9]+$/ }
    END { exit !(NR == 5 && good == 4 && lines[100] == 2 && lines[1000] == 2) }' res/compare.tsv
check "its picture: slower links to the left" sh -c \
    "grep -o '1*00* mbit' res/compare.svg | tr '\n' ' ' | grep -qx '100 mbit 1000 mbit 100 mbit 1000 mbit '"

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
REAL_HELPER=$TESTBED_HELPER TESTBED_HELPER=$PWD/slower
export REAL_HELPER
status 0 "compare: processors get slower" sh "$compare" --only measured --devices 2 --no-check --bed --no-shares \
    --bed --bed=relay --rates 1000 --strategies single --rounds 1 --runs 1 --budget 0.3s --tries 2 -o slow \
    "$src/models/digits.onnx"
check "two tries" sh -c 'test "$(grep -c "compare: drift" err)" = 2'
check "the cell says so" awk -F '\t' 'NR == 2 { found = $23 > 0.05 } END { exit !found }' slow/compare.tsv
TESTBED_HELPER=$REAL_HELPER

# A signal ends what runs at once: whoever lives holds the fifo.
cat >waits <<'END'
#!/bin/sh
echo begun
exec tail -f /dev/null
END
chmod +x waits
mkfifo held
TESTBED=./waits sh "$compare" --only measured -o res "$src/models/digits.onnx" >held &
compare_pid=$!
{
    read -r line
    kill $compare_pid
    if timeout 20 cat >rest; then ok "compare: a signal ends it all"; else not_ok "compare lives: $line"; fi
} <held
wait $compare_pid
check "and its status says so" test $? = 143
finish
