#!/bin/sh
# bench/testbed, in namespaces and with the relay, whichever can be had here: shaping, faults and their
# undoing, keys, that the check can fail, and that nothing is left however a testbed ends. How exact a
# testbed is depends on what else this machine does: `bench/testbed --check` measures it.
TESTBED_HELPER=$(realpath "${TESTBED_HELPER:-./bench/testbed-helper}")
export TESTBED_HELPER
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
ADAPS=$adaps
script=$src/bench/testbed
export ADAPS script

testbed() {
    timeout 60 sh "$script" "$@"
}

# Nothing of a testbed is left: no folders, and no processes that know of them.
nothing_left() {
    left=
    for folder in "$work"/adaps-testbed.*; do
        [ ! -e "$folder" ] || left="$left $folder"
    done
    left="$left $(grep -l -e "$work/adaps-testbe[d]" /proc/[0-9]*/cmdline 2>/dev/null)"
    if [ "$left" = " " ]; then ok "$1: nothing is left"; else not_ok "$1: still there:$left"; fi
}

status 0 "help" testbed --help
status 2 "no command" testbed
status 2 "an empty command" testbed --
status 2 "no such option" testbed --speeds 1 -- true
status 2 "no such kind of testbed" testbed --bed vm -- true
status 2 "no such medium" testbed --medium air -- true
status 2 "a shared medium with two rates" testbed --medium shared --rate 10mbit,20mbit -- true
status 2 "too few rates" testbed -n 3 --rate 10mbit,10mbit -- true
status 2 "no rate" testbed --rate fast -- true
status 2 "a rate beyond what is shaped" testbed --rate 10gbit -- true
status 2 "no speed" testbed --speed 1.5 -- true
status 2 "a fault outside a testbed" testbed fault cut dev0
status 3 "a devices file where none can be" testbed -o no/such/folder.conf -- true
status 3 "a log where none can be" testbed --log no/such/log -- true
nothing_left "wrong options"

# What happens within a testbed; prints what went wrong.
cat >within <<'END'
say() {
    echo "$*"
    exit 1
}
answers() {
    adaps status -d "$ADAPS_DEVICES" --deadline "$1" >answers 2>&1
}
control() {
    sh "$script" "$@" || say "$*: exit $?"
}
adaps plan -d "$ADAPS_DEVICES" --strategy edgeflow -o net.plan "$src/models/digits.onnx" >plan 2>&1 || say plan
adaps push net.plan >push 2>&1 || say "push: $(cat push)"
adaps verify net.plan >verify 2>&1 || say "verify: $(cat verify)"
control count | awk '/^dev/ { n += $2 > 5000 && $3 > 5000 } END { exit n != 2 }' || say "not counted"
for fault in cut hole freeze kill; do
    if [ "$fault-$TESTBED_BED" = hole-namespaces ] && ! command -v nft >/dev/null; then
        continue
    fi
    control fault "$fault" dev1
    answers 0.5s && say "$fault: it still answers"
    grep -q "^dev0 .*idle" answers || say "$fault: dev0 does not answer either"
    control heal dev1
    answers 5s || say "$fault: not healed: $(cat answers)"
done
sh "$script" fault cut dev7 2>/dev/null && say "there is no dev7"
sh "$script" fault bend dev1 2>/dev/null && say "there is no such fault"
adaps verify net.plan >verify 2>&1 || say "verify, healed: $(cat verify)"
if grep -q "^medium = shared" "$ADAPS_DEVICES"; then
    control rate 10mbit
else
    control rate 10mbit dev1
fi
grep -q "^bandwidth = 9.[14]" "$ADAPS_DEVICES" || say "the devices file has the old rate"
END
# The links are as slow as was said, and the check notices when that is not what was asked for.
cat >shaped <<'END'
echo 200000000 | tee "$TESTBED_DIR/rate.dev0" >"$TESTBED_DIR/rate.dev1"
sh "$script" check >table 2>said
[ $? = 1 ] || exit 1
grep -q "off by more than 10 %" said || exit 1
awk '/^dev[01]-dev[01] / { n += $2 == 200 && $3 > 50 && $3 < 105 } END { exit n != 2 }' table
END

# One channel for all: two streams at once, one each way, have no more together than one has.
cat >channel <<'END'
grep -q "^medium = shared" "$ADAPS_DEVICES" || exit 1
grep -q "^bandwidth = 18.29" "$ADAPS_DEVICES" || exit 1
sh "$script" rate 10mbit dev0 2>/dev/null && exit 1
sh "$script" rate 40mbit || exit 1
grep -q "^bandwidth = 36.58" "$ADAPS_DEVICES" || exit 1
sh "$script" check >table 2>said
awk '/^dev[01]-dev[01] / { n += $2 == 40 && $3 > 20 && $3 < 44 && $10 > 20 && $10 < 44 } END { exit n != 2 }' table
END

kinds=
for kind in namespaces relay; do
    if testbed --bed $kind -- true >out 2>err; then
        kinds="$kinds $kind"
    else
        code=$?
        [ $code = 4 ] || not_ok "$kind: exit $code"
        [ $kind = namespaces ] || not_ok "the relay is for everybody"
        echo "# no $kind here: $(cat err)"
    fi
done
[ -n "$kinds" ] || skip "neither kind of testbed can be had here"

for kind in $kinds; do
    # Without their share of the processor: other tests run meanwhile.
    status 0 "$kind: a network, faults" testbed --bed "$kind" --no-shares --keys --speed 1,0.5 -- sh within
    says err "^dev1  *[1-9][0-9]*  *[1-9][0-9]*$" "$kind: bytes of the links"
    status 7 "$kind: exit status of the command" testbed --bed "$kind" -- sh -c 'exit 7'
    status 0 "$kind: shaped, and the check can fail" testbed --bed "$kind" --no-shares --rate 100mbit -- sh shaped
    if testbed --bed "$kind" --medium shared -- true >out 2>err; then
        status 0 "$kind: one medium" testbed --bed "$kind" --medium shared --no-shares --rate 20mbit -- sh channel
        status 0 "$kind: one medium, faults" testbed --bed "$kind" --medium shared --no-shares --keys -- sh within
    elif [ $? = 4 ] && [ "$kind" = namespaces ]; then
        echo "# no shared medium in namespaces here: $(cat err)"
    else
        not_ok "$kind: one medium: $(cat err)"
    fi
    nothing_left "$kind"
done

# Ended from outside, with a program in the background that wants to stay. Everything that lives holds
# the fifo.
for kind in $kinds; do
    for signal in TERM KILL; do
        mkfifo held
        case $kind-$signal in relay-TERM) deaf='trap "" TERM;' ;; *) deaf= ;; esac
        sh "$script" --bed "$kind" -n 1 -- \
            sh -c "$deaf tail -f /dev/null & echo begun >&2; wait" 2>held &
        testbed_pid=$!
        {
            while read -r line && [ "$line" != begun ]; do :; done
            kill -$signal $testbed_pid
            if timeout 20 cat >rest; then ok "$kind, $signal: all of it ends"; else not_ok "$kind, $signal: it lives"; fi
        } <held
        wait $testbed_pid
        rm held
        nothing_left "$kind, $signal"
    done
done

# Two at once.
for kind in $kinds; do
    testbed --bed "$kind" -n 3 -- sh -c : >out1 2>err1 &
    first=$!
    testbed --bed "$kind" -- sh -c : >out 2>err
    second=$?
    wait $first
    first=$?
    if [ $first-$second = 0-0 ]; then ok "$kind: two at once"; else not_ok "$kind: two at once: $first, $second"; fi
done
nothing_left "all"
finish
