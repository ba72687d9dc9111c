#!/bin/sh
# bench/python-soak: some rounds on agents and in this process, and what it says of wrong answers and of growth.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy
if is_sanitized; then
    unset NO_SKIP # there is nothing to install
    skip "the library has a sanitizer, which Python has not"
fi
ADAPS=$adaps
export ADAPS
soak=$src/bench/python-soak

status 2 "no time" "$python" "$soak" --minutes 0
status 0 "some rounds on agents" "$python" "$soak" --minutes 0.01 --rounds-of 20
says out "^[1-9][0-9]* rounds in [0-9.]* min: [1-9][0-9]*0 answers, 0 wrong, [0-9]* cancelled, [0-9]* times agents lost, 0 grown$" "the sum"
says out "^agent 1: memory [0-9.]* -> [0-9.]* MB, descriptors [0-9]* -> [0-9]*$" "what an agent has"
status 0 "and in this process" "$python" "$soak" --minutes 0.01 --rounds-of 20 --local
check "which has no agents" test "$(grep -c memory out)" = 1

# A package that forgets to free its results, and answers that are not those that are expected.
mkdir -p fake/python fake/bench
cp "$soak" fake/bench/
cp -r "$src/python/adaps" fake/python/
sed -i 's/^        free(self.result)$/        pass/' fake/python/adaps/_tensors.py
check "a network with a large answer" "$build/tests/support/small_model" shared shared.onnx
status 1 "memory that is lost" "$python" fake/bench/python-soak --minutes 0.01 --rounds-of 20 --local --model shared.onnx
says out " 0 wrong, [0-9]* cancelled, 0 times agents lost, 1 grown$" "is told"
sed -i 's/^        pass$/        free(self.result)/' fake/python/adaps/_tensors.py
sed -i 's/^            self.expected = .*/&\n            self.expected[3] = self.expected[2]/' fake/bench/python-soak
status 1 "wrong answers" "$python" fake/bench/python-soak --minutes 0.01 --rounds-of 20 --local --model shared.onnx
says out "answers, [1-9][0-9]* wrong, " "are counted"
finish
