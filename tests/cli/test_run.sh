#!/bin/sh
# push, run, verify and status from end to end: real pictures, agents on this machine of unequal speed,
# and what they say when things go wrong.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

models=$src/models
golden=$src/tests/golden
noisy=$models/samples/noisy.png

# The single-device answer is that of PyTorch, whose outputs are kept in tests/golden.
status 0 "plan of the denoiser" adaps plan -d "$src/devices/local2.conf" -o alone.plan "$models/denoise.onnx"
status 0 "run --local" adaps run --local alone.plan "$noisy" -o alone.npy
says err "measured .* in this process" "it says how long it took"
check "the denoiser's answer is PyTorch's" "$npydiff" alone.npy "$golden/denoise_out.npy" 1e-4
status 0 "plan of the digit reader" adaps plan -d "$src/devices/local2.conf" -o digits.plan "$models/digits.onnx"
for digit in 3 7; do
    status 0 "read a $digit" adaps run --local digits.plan "$models/samples/digit-$digit.png" -o "$digit.npy"
    check "PyTorch's scores" "$npydiff" "$digit.npy" "$golden/digit-${digit}_out.npy" 1e-4
    status 0 "print a $digit" adaps run --local digits.plan "$models/samples/digit-$digit.png"
    sed -n 2p out >best
    says best "^ *$digit .* $digit\$" "$digit is the best class, with its label"
done

# Names of outputs.
status 0 "several answers, a name with %d" \
    adaps run --local digits.plan "$models"/samples/digit-?.png -o 'answer-%02d.npy'
check "the second is that of the second input" cmp answer-01.npy 7.npy
mkdir answers
status 0 "several answers, a folder" adaps run --local digits.plan "$models"/samples/digit-?.png -o answers
check "named after the inputs" cmp answers/digit-3.npy 3.npy
status 2 "several answers, one file" adaps run --local digits.plan 3.npy 7.npy -o one.npy
status 2 "a pattern that is none" adaps run --local digits.plan 3.npy -o 'answer-%s.npy'
status 3 "an ending that says nothing" adaps run --local digits.plan "$models/samples/digit-3.png" -o answer.txt
status 3 "a vector is no picture" adaps run --local digits.plan "$models/samples/digit-3.png" -o answer.png
says err "1x10" "its shape is named"

# Wrong inputs.
status 3 "an array of another shape" adaps run --local digits.plan alone.npy
says err "1x3x240x320.*1x1x28x28" "both shapes are named"
status 3 "a picture of another size" adaps run --local digits.plan "$noisy"
says err "320 x 240.*28 x 28" "both sizes are named"
status 0 "which may be scaled" adaps run --local --resize digits.plan "$noisy"
head -c 500 "$noisy" >short.png
status 3 "a damaged picture" adaps run --local alone.plan short.png
says err "short.png" "it is named"
status 3 "no such input" adaps run --local alone.plan none.png
head -c 3000 /dev/urandom >garbage.plan
status 3 "a garbage plan: run --local" adaps run --local garbage.plan "$noisy"
status 3 "a garbage plan: run" adaps run garbage.plan "$noisy"
status 3 "a garbage plan: verify" adaps verify garbage.plan
status 3 "a garbage plan: push" adaps push garbage.plan
head -c 2000 alone.plan >cut.plan
status 3 "a plan cut short" adaps run --local cut.plan "$noisy"
status 2 "no input" adaps run --local alone.plan
status 2 "--threads without --local" adaps run --threads 2 alone.plan "$noisy"
status 2 "a deadline of nothing" adaps push --deadline 0 alone.plan
status 3 "another model's weights" adaps run --local --model "$models/digits.onnx" alone.plan "$noisy"
says err "not the model that was planned" "it says so"

# Agents of unequal speed give the single-device bits.
for speeds in 1,0.5 1,0.6,0.3; do
    count=$(echo "$speeds" | tr , '\n' | wc -l)
    start_agents "$count" --speed "$speeds"
    for net in denoise digits; do
        for strategy in edgeflow deepthings auto; do
            status 0 "plan $net for $speeds by $strategy" \
                adaps plan -d local.conf --strategy "$strategy" -o "$net.plan" "$models/$net.onnx"
            status 0 "verify $net on $speeds by $strategy" adaps verify --json "$net.plan"
            says out '^{"elements":[1-9][0-9]*,"differ":0,"max_abs_diff":0.0,' "no element differs"
        done
    done
    status 0 "verify a real picture on $speeds" adaps verify denoise.plan "$noisy"
    says out "^0 of 230400 elements differ, largest difference 0$" "no element differs"
    stop_agents || not_ok "adaps local ended with $local_code: $(cat local.err)"
done

start_agents 2 --speed 1,0.5
status 0 "plan" adaps plan -d local.conf --strategy edgeflow -o net.plan "$models/denoise.onnx"
status 0 "plan" adaps plan -d local.conf --strategy edgeflow -o digits.plan "$models/digits.onnx"
status 0 "the first push" adaps push net.plan
says out "^weights sent: [1-9][0-9]* bytes$" "sends weights"
status 0 "the second push" adaps push net.plan
says out "^weights sent: 0 bytes$" "sends none"
status 0 "which JSON says too" adaps push --json net.plan
says out '"weight_bytes_sent":0,' "a total of 0"
status 0 "run a picture through both" adaps run net.plan "$noisy" -o clean.png
for device in local0 local1; do
    for column in "compute predicted" measured waiting "sent predicted" sent; do
        check "$device: $column" test -n "$(cell err "$device" "$column")"
    done
done
says err "^latency: predicted .* measured" "predicted and measured latency"
check "a PNG was written" sh -c "head -c 4 clean.png | grep -q PNG"
status 0 "the same here" adaps run --local net.plan "$noisy" -o here.png
check "the same picture" cmp clean.png here.png
status 0 "run with a trace" adaps run --trace measured.json net.plan "$noisy"
status 0 "the predicted one" adaps show --trace predicted.json net.plan
check "its clocks are estimated" grep -q '"uncertainty_us": [0-9]' measured.json
computed() { sed -n 's/.*"name": "\(COMPUTE [^"]*\)".*/\1/p' "$1" | sort; }
computed predicted.json >predicted.names
computed measured.json >measured.names
check "both compute the same" sh -c "test -s measured.names && cmp predicted.names measured.names"
status 0 "a trace of this process" adaps run --local --trace here.json net.plan "$noisy"
check "it has the one device" grep -q '"name": "COMPUTE' here.json
status 2 "a trace on stdout" adaps run --trace - net.plan "$noisy"
status 3 "a trace where no file can be" adaps run --trace no/folder/t.json net.plan "$noisy"
status 0 "a stream as JSON" adaps run --json net.plan "$noisy" "$models/samples/clean.png"
check "two answers" test "$(grep -o '"latency_ms"' out | wc -l)" = 3
status 0 "links that compress" adaps plan -d local.conf --bw 10mbit --strategy edgeflow --compress \
    -o lz4.plan "$models/denoise.onnx"
says out "^local0  *local1  *lz4 " "are told"
status 0 "verify them" adaps verify lz4.plan "$noisy"
says out "^0 of 230400 elements differ" "no element differs"
# Rounded messages: near the answer of one device, the same every time, and only when asked for.
status 0 "a lossy plan" adaps plan -d local.conf --bw 300mbit --strategy edgeflow --lossy -o near.plan \
    "$models/denoise.onnx"
says out "rounded on the way" "it says so"
says out "^local0  *local1  *f16 " "and which link rounds"
status 0 "shown" adaps show near.plan
says out "SEND .*B f16" "the messages, too"
status 0 "verify it" adaps verify near.plan "$noisy"
says out "^[1-9][0-9]* of 230400 elements differ" "some elements differ"
says out "^error: [0-9.e-]* % of the output's range.* 1 % are accepted" "by a small part"
status 0 "as JSON" adaps verify --json near.plan "$noisy"
says out '"error":[0-9.]*e\?-\?[0-9]*,"lossy":true,' "with the error"
status 1 "verify it strictly" adaps verify --tolerance 0 near.plan "$noisy"
status 2 "a tolerance of more than all" adaps verify --tolerance 2 near.plan "$noisy"
status 0 "run it" adaps run near.plan "$noisy" -o near0.npy
says err "^error: [0-9.e-]* % of the output's range" "the error is told"
status 0 "run it again" adaps run near.plan "$noisy" "$noisy" -o near%d.npy
check "the same answer" cmp near0.npy near1.npy
status 0 "and the exact one" adaps run --local near.plan "$noisy" -o exact.npy
check "is not the same" sh -c "! cmp -s exact.npy near0.npy"
check "but near" "$npydiff" near0.npy exact.npy 1e-2
status 0 "a lossy plan of a slow link" adaps plan -d local.conf --bw 1mbit --strategy edgeflow --lossy \
    -o zfp.plan "$models/denoise.onnx"
says out "^local0  *local1  *zfp " "takes zfp"
status 0 "verify that" adaps verify zfp.plan "$noisy"
says out "^error: [0-9.e-]* % of the output's range.* 1 % are accepted" "by a small part, too"
status 0 "a plan without the option" adaps plan -d local.conf --bw 10mbit --strategy edgeflow --json \
    "$models/denoise.onnx"
says out '"lossy": false' "is exact"
for session in 1 2 3 4 5 6 7 8 9 10 11 12; do
    adaps verify digits.plan -d local.conf --deadline 5s >>sessions 2>>sessions.err || break
done
cp sessions.err err
says sessions.err "^latency" "sessions can be opened"
if [ "$(grep -c "^0 of 10 elements" sessions)" = 12 ]; then
    ok "12 sessions one after the other"
else
    not_ok "12 sessions one after the other: number $session failed"
fi
status 0 "status" adaps status -d local.conf
check "the agents are idle" test "$(cell out local1 state)" = idle

# The same names at other addresses.
awk '/^address/ { $0 = "address = tcp://127.0.0.1:" 10 + n++ } { print }' local.conf >other.conf
status 0 "plan for other addresses" adaps plan -d other.conf --strategy edgeflow -o other.plan "$models/denoise.onnx"
status 4 "where nobody is" adaps push --deadline 1s other.plan
says err "local0\|local1" "the agent is named"
status 0 "other addresses by -d" adaps verify -d local.conf other.plan
sed 's/local1/elsewhere/' local.conf >renamed.conf
status 3 "a device that the file lacks" adaps push -d renamed.conf net.plan
says err "renamed.conf.*'local1'" "it is named, and so is the file"

# An agent that is killed while a stream runs: exit 4 within the deadline, and it is named.
stop_agents || not_ok "adaps local ended with $local_code: $(cat local.err)"
start_agents 2 --speed 1,0.05
status 0 "plan for a very slow one" \
    adaps plan -d local.conf --strategy edgeflow -o slow.plan "$models/denoise.onnx"
mkfifo answers.fifo
set --
for _ in 1 2 3 4 5 6 7 8 9 10; do
    set -- "$@" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy" "$noisy"
done
began=$(date +%s)
adaps run --deadline 10s slow.plan "$@" >answers.fifo 2>err &
run_pid=$!
{
    read -r line # the first answer is there, the second inference runs
    kill -9 "$(agent_pid local1)"
    cat >/dev/null
} <answers.fifo
wait "$run_pid"
code=$?
took=$(($(date +%s) - began))
if [ "$code" = 4 ]; then ok "a killed agent: exit 4"; else not_ok "a killed agent: exit $code after '$line'"; fi
says err "local1" "it is named"
if [ "$took" -le 25 ]; then ok "within the deadline"; else not_ok "it took $took s"; fi
status 4 "status with a missing agent" adaps status --deadline 2s -d local.conf
check "the missing one" test "$(cell out local1 state)" = "no answer"
check "the other one" expr "$(cell out local0 state)" : 'idle$\|busy$'
says err "local1" "why"
status 4 "status as JSON" adaps status --json --deadline 2s -d local.conf
says out '"name":"local1","address":"[^"]*","state":"no answer","error":"' "the missing one"
stop_agents
check "adaps local tells of the death" grep -q "agent local1 was killed by signal 9" local.err

finish
