#!/bin/sh
# bench/soak: some rounds, each kind of fault that needs nothing of the machine, and what it says of wrong answers and ends.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck disable=SC2119
need_python
if is_sanitized; then
    unset NO_SKIP # there is nothing to install
    skip "the agents have a sanitizer"
fi

# shellcheck disable=SC2317
soak() {
    "$python" "$src/bench/soak" --frames 8 "$@"
}
ADAPS=$adaps
export ADAPS

status 2 "no time" soak --minutes 0
status 2 "an unknown fault" soak --only rain
status 0 "some seconds" soak --minutes 0.1 --seed 2
says out "^seed 2: [0-9]* rounds: [1-9][0-9]* right answers, [0-9]* named errors, 0 wrong, 0 hangs, 0 grown, 0 ended badly" \
    "the sum"
says out "^dev0: memory [0-9.]* -> [0-9.]* MB, descriptors [0-9]* -> [0-9]*, " "what the agents have"
status 0 "an agent that is killed is started again" soak --minutes 0.03 --only kill
says out "^3: kill dev[01] after" "it was"
status 2 "a stream that goes on without a network" soak --failover --only hole
status 0 "a stream that goes on" soak --failover --frames 60 --devices 3 --every 1
says out "^60 of 60 answers are right and in order, 60 files, in [0-9]* s; [1-9][0-9]* times kill$" "all are there"
says out "^[1-9][0-9]* recoveries, [0-9]* longer than predicted; plans: " "and how often it was killed"

# A program whose answers are wrong, or that ends as it should not.
mkdir -p fake
ln -s "$build/adaps-agent" fake/adaps-agent
cat >fake/adaps <<'END'
#!/bin/sh
"$REAL" "$@" || exit
case " $* " in
    *" -o "*"%d.npy "*) [ -z "$WRONG" ] || echo >>"$(dirname "$5")/3.npy"; exit "$STATUS" ;;
esac
END
chmod +x fake/adaps
REAL=$adaps ADAPS=$work/fake/adaps WRONG=yes STATUS=0
export REAL WRONG STATUS
status 1 "wrong answers" soak --minutes 0.01 --only kill
says out ": WRONG ANSWER$" "are told"
WRONG="" STATUS=5
status 1 "another exit status" soak --minutes 0.01 --only kill
says out ": WRONG END, exit status 5" "is told"
finish
