#!/bin/sh
# The examples in C: in this process and on two agents.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

status 0 "embed" "$build/examples/embed" "$src/models/digits.onnx"
says out "^input .*: 1 1 28 28$" "what goes in"
says out "^output .*: 1 10$" "what comes out"
says out "^answered in [0-9.]* ms$" "and how long it took"
status 3 "embed without its model" "$build/examples/embed" nowhere.onnx
says err "^embed: nowhere.onnx: " "is told"
status 2 "embed of nothing" "$build/examples/embed"

start_agents 2
status 0 "stream" "$build/examples/stream" "$src/models/digits.onnx" local.conf 20
says out "^20 answers, [0-9.]* a second$" "all are answered"
says err "^stream: pushed [1-9][0-9]* bytes of weights" "what it had to push"

# Ctrl-C: a shell's background processes do not get SIGINT, so it is sent.
"$build/examples/stream" "$src/models/denoise.onnx" local.conf 100000000 >streaming.out 2>streaming.err &
streaming=$!
for _ in $(seq 600); do # a file of its own: what was said before does not count
    ! grep -qs pushed streaming.err || break
    sleep 0.1
done
kill -INT $streaming
wait $streaming
check "SIGINT ends a stream with the status of cancelling" test $? = 6
says streaming.err "^stream: the inference was cancelled$" "which is told"
check "the agents end well" stop_agents
status 4 "stream without agents" "$build/examples/stream" "$src/models/digits.onnx" local.conf 1
finish
