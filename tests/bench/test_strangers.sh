#!/bin/sh
# bench/strangers: each kind of stranger for a moment, and what it says of a stream that ends. How much they slow the
# stream down depends on the machine.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck disable=SC2119
need_python
ADAPS=$adaps
export ADAPS

# A goal may be missed on a busy machine: that is $missed, 0 at first.
missed=0
# shellcheck disable=SC2317
strangers() {
    code=0
    "$python" "$src/bench/strangers" "$@" || code=$?
    [ "$code" != 1 ] || return "$missed"
    return "$code"
}

status 2 "no time" strangers --seconds 0
status 2 "more than a core" strangers --share 2
status 2 "unknown strangers" strangers --only friends
status 0 "each kind" strangers --seconds 0.5
for kind in connections half flood; do
    says out "^$kind  *[1-9][0-9.]* a second, calm [1-9][0-9.]* and [1-9][0-9.]*: [0-9.]*; -*[0-9.]* MB more$" "$kind: a line"
done
check "the stream goes on" sh -c '! grep ENDED out'

# A stream that ends.
mkdir fake
ln -s "$build/adaps-agent" fake/adaps-agent
cat >fake/adaps <<'END'
#!/bin/sh
[ "$1" = run ] || exec "$REAL" "$@"
echo i.png
echo "no more" >&2
exit 4
END
chmod +x fake/adaps
REAL=$adaps ADAPS=$work/fake/adaps missed=1
export REAL
status 1 "a stream that ends" strangers --seconds 0.1 --only flood
says out "^THE STREAM ENDED: exit status 4: no more$" "is told"
finish
