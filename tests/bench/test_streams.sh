#!/bin/sh
# bench/streams: predictions, a stream on a test bed, and what it says of a table.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy

ADAPS=$adaps TESTBED_HELPER=$build/bench/testbed-helper ZOO=$build/models/zoo
export ADAPS TESTBED_HELPER ZOO

# shellcheck disable=SC2317
streams() {
    "$python" "$src/bench/streams" -o res "$@"
}

status 2 "an unknown strategy" streams --strategies auto,fast --predict
status 2 "no memory" streams --memory 0 --predict
status 2 "a rate in words" streams --rates fast --predict
status 3 "no such cluster" streams --cluster none --predict
status 3 "no such model" streams --predict none.onnx
status 0 "predictions" streams --predict --rates "100 1000" lenet5
check "a line for each rate and strategy" test "$(rows res/streams.tsv 'f("times") == "simulated" &&
    f("per_s") == "-" && f("predicted_per_s") > 0')" = 8
says out "^simulated, memory all: auto / defer: geometric mean [0-9.]*, least [0-9.]*, 2 cells" "a summary"
status 0 "predictions with less memory" streams --predict --rates 100 --memory 0.01 lenet5
says out "no plan" "a strategy without a plan"
check "the other cells are still there" test "$(rows res/streams.tsv)" = 12
status 0 "a strategy that is not among the default ones" \
    streams -o more --predict --rates 100 --strategies auto,pico lenet5
check "two lines" test "$(rows more/streams.tsv 'f("predicted_per_s") > 0')" = 2

status 0 "on a test bed" streams --rates 100 --speeds 1,.5 --frames 12 --rounds 2 --budget 0.3s --bed --no-shares \
    --bed --bed=relay --strategies auto,pipeline "$src/models/digits.onnx"
check "two strategies, measured" test "$(rows res/streams.tsv 'f("times") == "measured" && f("network") == "digits" &&
    f("devices") == 2 && f("per_s") > 0 && f("frames") == 12 && f("rounds") == 2')" = 2
says out "measured, error " "the error is told"
status 0 "only the summary" streams --summary
says out "^measured, memory all: auto / pipeline: " "has what was measured"
printf 'a\tb\n1\t2\n' >res/streams.tsv
status 3 "a table of something else" streams --predict --rates 100 lenet5
finish
