#!/bin/sh
# bench/adapt: a short round, and what it says when no other plan was made.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck disable=SC2119
need_python
if is_sanitized; then
    unset NO_SKIP # there is nothing to install
    skip "the agents have a sanitizer"
fi

# shellcheck disable=SC2317
adapt() {
    "$python" "$src/bench/adapt" --rounds 1 --turns 1 --seconds 2 "$@"
}
ADAPS=$adaps
export ADAPS

status 2 "one speed" adapt --speeds 0.5
says err "at least two speeds" "it says what is wanted"
status 2 "a speed of 0" adapt --speeds 0.5,0
status 0 "a round" adapt --speeds 0.4,0.4 --after 5
says err "^adaps run: after [0-9]* inferences dev[01] has had .*planned again" "what the run says is told"
says out "^round 1: adapted [0-9.]*/s, fresh plan [0-9.]*/s, first plan [0-9.]*/s; ratios [0-9.]*, [0-9.]*$" "the rates"
says out "^median of 1 rounds, relative to a fresh plan: adapted [0-9.]*, first plan [0-9.]*$" "the sum"
status 4 "a stream that is too short for another plan" adapt --speeds 0.4,0.4 --count 12
says err "^adapt: another plan did not happen:$" "it says so"
finish
