#!/bin/sh
# Plans for the throughput, on agents of unequal speed: every answer is its own input's, with the bits of one
# device, whatever the turn; what plan, show, simulate and run tell of a stream; bad options.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

models=$src/models
noisy=$models/samples/noisy.png

start_agents 3 --speed 1,0.6,0.3
for net in denoise digits; do
    for strategy in replicas pipeline defer dn2pciot pico auto; do
        status 0 "plan $net by $strategy" adaps plan -d local.conf --objective throughput \
            --strategy "$strategy" -o "$net.$strategy.plan" "$models/$net.onnx"
        status 0 "the same again" adaps plan -d local.conf --objective throughput \
            --strategy "$strategy" -o again.plan "$models/$net.onnx"
        check "$net by $strategy: the same file" cmp "$net.$strategy.plan" again.plan
        status 0 "verify $net by $strategy" adaps verify --json "$net.$strategy.plan"
        says out '"differ":0,"max_abs_diff":0.0,' "no element differs"
    done
done

# Two pictures in turns, 24 answers: each is that of its input, in the order of the inputs.
status 0 "a darker picture" adaps run --local -o other.png denoise.auto.plan "$noisy"
pictures=
for i in 1 2 3 4 5 6 7 8 9 10 11 12; do
    pictures="$pictures $noisy other.png"
done
status 0 "the answer to the one" adaps run --local -o one.npy denoise.auto.plan "$noisy"
status 0 "and to the other" adaps run --local -o two.npy denoise.auto.plan other.png
for strategy in replicas pipeline pico auto; do
    # shellcheck disable=SC2086
    status 0 "a stream by $strategy" adaps run -o "answer%d.npy" "denoise.$strategy.plan" $pictures
    says err "^stream: [0-9.e+]* inferences/s (predicted [0-9.e+]*), [0-9]* in flight" "its rate"
    for i in $(seq 0 23); do
        want=one.npy
        [ $((i % 2)) = 0 ] || want=two.npy
        check "$strategy: answer $i" cmp "$(printf 'answer%d.npy' "$i")" $want
        rm -f "answer$i.npy"
    done
done
# shellcheck disable=SC2086
status 0 "a stream in JSON, with more in flight" adaps run --json --in-flight 32 denoise.replicas.plan $pictures
says out '"in_flight":32' "so many"
says out '"predicted_throughput_per_s":[1-9]' "what was predicted"
status 2 "too many in flight" adaps run --in-flight 33 denoise.replicas.plan "$noisy"

# Where memory is short, devices have buffers for some of the inferences in flight.
sed 's/^address.*/&\nmemory = 44MB/' local.conf >short.conf
status 0 "plan with little memory" adaps plan --json -d short.conf --objective throughput -o short.plan "$models/denoise.onnx"
says out '"frames_in_flight": *8' "many inferences in flight"
says out '"frames_buffered": *1,' "buffers for one of them"
status 0 "verify it" adaps verify --json short.plan
says out '"differ":0,"max_abs_diff":0.0,' "no element differs"
# shellcheck disable=SC2086
status 0 "a stream of it" adaps run -o "answer%d.npy" short.plan $pictures
for i in $(seq 0 23); do
    want=one.npy
    [ $((i % 2)) = 0 ] || want=two.npy
    check "little memory: answer $i" cmp "$(printf 'answer%d.npy' "$i")" $want
done

# A trace is of the first turn.
status 0 "a traced stream" adaps run --trace trace.json denoise.replicas.plan "$noisy" "$noisy"
check "has a trace" test -s trace.json
stop_agents || not_ok "adaps local ended with $local_code: $(cat local.err)"

status 0 "show" adaps show denoise.replicas.plan
says out "answers a second, .* apart; [0-9]* in flight" "the stream"
says out "^turn 2 of [23]: " "its turns"
status 0 "show in JSON" adaps show --json denoise.replicas.plan
says out '"throughput_per_s": [1-9]' "the rate"
says out '"frames_in_flight": [2-9]' "several in flight"
says out '"deal": \[$' "the deal"
status 0 "simulate" adaps simulate denoise.replicas.plan
says out "^a stream: .* answers a second" "the steady state"
status 0 "simulate slower links" adaps simulate --bw 1mbit --json denoise.replicas.plan
says out '"stream_loads"' "what is busy"

devices=$src/devices/pi5x2-pi4x2.conf
status 0 "a plan for one at a time" adaps plan -d "$devices" --json "$models/denoise.onnx"
says out '"frames_in_flight": 1,' "has one in flight"
status 0 "all strategies" adaps plan -d "$devices" --objective throughput --strategy all "$models/digits.onnx"
for strategy in auto pipeline defer dn2pciot replicas; do
    says out "^$strategy " "$strategy is among them"
done
status 0 "all strategies for the latency" adaps plan -d "$devices" --strategy all "$models/digits.onnx"
check "are without those for streams" sh -c '! grep -q "^replicas" out'
status 0 "a rate that can be had" adaps plan -d "$devices" --rate-floor 0.5 "$models/digits.onnx"
status 1 "one that cannot" adaps plan -d "$devices" --rate-floor 1000000 "$models/digits.onnx"
says err "no plan of strategy auto gives 1e+06 answers a second" "it says so"
for bad in 0 -1 x 1e7 ""; do
    status 2 "--rate-floor '$bad'" adaps plan -d "$devices" --rate-floor "$bad" "$models/digits.onnx"
done
status 2 "an unknown objective" adaps plan -d "$devices" --objective speed "$models/digits.onnx"
says err "there are latency, throughput, traffic, memory" "it lists them"
status 1 "a latency that cannot be" adaps plan -d "$devices" --objective throughput --latency-cap 1ns "$models/digits.onnx"

finish
