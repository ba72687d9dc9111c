#!/bin/sh
# A model where a plan may stand: which devices it is planned for, plans that are kept, what a file is.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

models=$src/models
digits=$models/digits.onnx
three=$models/samples/digit-3.png
kept=$XDG_CACHE_HOME/adaps/plans
cp -r "$src/devices/boards" boards
start_agents 2 --speed 1,0.5
user=$XDG_CONFIG_HOME/adaps/cluster.conf
mkdir -p "$XDG_CONFIG_HOME/adaps"
cp -r boards "$XDG_CONFIG_HOME/adaps/" # the same for all files, wherever this was built

# Without devices: this process.
status 0 "a model and a picture" adaps run "$digits" "$three" -o alone.npy
has err "adaps run: no devices file: on this machine alone" "it says where"
check "nothing is kept for that" test ! -e "$kept"
status 2 "push needs devices" adaps push "$digits"
says err "^adaps push: no devices file: give one with -d, name one in \$ADAPS_DEVICES or adaps.conf" "it says which ways there are"
status 2 "so does verify" adaps verify "$digits"
status 2 "so does --failover" adaps run --failover "$digits" "$three"
status 2 "and status" adaps status
status 2 "and profile" adaps profile

# The user's file, then the folder's, the environment's, that of -d; each one names what is wrong with it.
cp local.conf "$user"
status 0 "the paired devices" adaps run "$digits" "$three" -o agents.npy
says err "^adaps run: planned for the devices of $user: [12] of 2 work, predicted .* ([0-9.]* [mu]*s)$" "it says for which"
check "the same bits" cmp alone.npy agents.npy
status 0 "status asks them" adaps status
status 0 "plan plans for them" adaps plan --json "$digits"
echo "nonsense" >bad.conf
echo "devices = bad.conf" >adaps.conf
wrong() { # wrong WHERE COMMAND...: the devices file is refused, and where that was named is said
    where=$1
    shift
    status 3 "$1: the devices file of $where" adaps "$@"
    says err "^adaps $1: .*bad.conf:1: .*($where" "$1 names $where"
}
for command in status profile "plan $digits" "bench $digits" "run $digits $three" "push $digits" "verify $digits" \
    "detect $digits $three" "classify $digits $three" "segment $digits $three" "serve --frigate ipc:///$work/s $digits"; do
    # shellcheck disable=SC2086
    wrong "the devices file that adaps.conf of this folder names" $command
done
status 0 "the environment counts before" env ADAPS_DEVICES=local.conf adaps run "$digits" "$three"
status 0 "and -d before that" env ADAPS_DEVICES=bad.conf adaps run -d local.conf "$digits" "$three"
has err "planned for the devices of local.conf: " "it is named"
status 3 "the environment's file" env ADAPS_DEVICES=bad.conf adaps status
says err "(the devices file that ADAPS_DEVICES names)$" "is named so"
rm adaps.conf
cp bad.conf "$user"
status 3 "the user's file" adaps plan "$digits"
says err "(this user's devices file; adaps pair writes it)$" "is named so"
status 0 "--local reads none" adaps run --local "$digits" "$three" -o local.npy
check "and runs here" cmp alone.npy local.npy

# Plans are kept, by model, devices and options.
cp local.conf "$user"
rm -r "$kept"
again() { # again HOW DESCRIPTION COMMAND...: it works, and the plan is an earlier one or a new one
    how=$1
    shift
    description=$1
    shift
    status 0 "$description" adaps "$@"
    case $how in
        new) says err "planned for .*s)$" "$description: planned" ;;
        kept) says err "planned for .* (by an earlier run)$" "$description: by an earlier plan" ;;
    esac
}
again new "the first time" run "$digits" "$three"
again kept "the second" run "$digits" "$three" -o kept.npy
check "the same bits" cmp alone.npy kept.npy
again kept "for verify, too" verify "$digits"
says out "^0 of " "which finds nothing"
again kept "for push" push "$digits"
again kept "for classify" classify "$digits" "$three"
says out "3" "which sees a three"
again new "--no-cache" run --no-cache "$digits" "$three"
check "keeps nothing" test "$(find "$kept" -type f | wc -l)" = 1
cp "$digits" copy.onnx
again new "another file" run copy.onnx "$three"
cp "$models/denoise.onnx" copy.onnx
again new "that changes" push copy.onnx
sed -i 's/^speed.*/speed = 0.7/' "$user"
again new "other speeds" run "$digits" "$three"
sed -i '1i ; a remark' "$user"
again kept "a remark" run "$digits" "$three"
again kept "an option that is no matter of plans" run --deadline 20s "$digits" "$three"

# An address is not what a plan is kept by: what the file says now counts.
elsewhere() { # the devices file with other ports, where nobody listens
    awk '/^address/ { $0 = "address = tcp://127.0.0.1:" ++port } { print }' "$1"
}
elsewhere "$user" >elsewhere.conf
status 4 "devices that are elsewhere" adaps run --deadline 2s -d elsewhere.conf "$digits" "$three"
says err "(by an earlier run)" "need no new plan"
has err "tcp://127.0.0.1:1" "and are looked for there"

# What is damaged is made again.
for file in "$kept"/*.plan; do printf 'x' | dd of="$file" bs=1 seek=100 conv=notrunc 2>/dev/null; done
again new "damaged plans" run "$digits" "$three" -o mended.npy
check "the same bits" cmp alone.npy mended.npy
again kept "and after that" run "$digits" "$three"
for file in "$kept"/*.plan; do : >"$file"; done
again new "empty ones" run "$digits" "$three"
rm -r "$kept" && : >"$kept"
status 0 "no folder can be made" adaps run "$digits" "$three"
has err "adaps run: the plan is not kept: $kept" "is said, and no failure"
rm "$kept"

# The folder is bounded: what was not used for the longest time goes.
again new "a plan" run "$digits" "$three"
for i in 1 2 3; do truncate -s 30M "$kept/old$i" && touch -d "200$i-01-01" "$kept/old$i"; done
again new "another" run copy.onnx "$models/samples/noisy.png" -o clean.png
check "the oldest have gone" test ! -e "$kept/old1"
check "the others are there" test -e "$kept/old3"
again kept "so are plans in use" run "$digits" "$three"

# A plan that was made before: its addresses, unless others are named or the device has moved.
status 0 "a plan" adaps plan -o net.plan "$digits"
elsewhere local.conf >"$user"
status 0 "without keys nobody knows who has moved" adaps run net.plan "$three"
status 4 "the environment's addresses count" env ADAPS_DEVICES=elsewhere.conf adaps run --deadline 2s net.plan "$three"
has err "tcp://127.0.0.1:1" "which are tried"
stop_agents

# With keys it is known: the paired device of the same name and key.
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"
status 0 "keys for an agent" adaps keygen -o key
key=$(cat out)
status 0 "keys for this side" adaps keygen
cp out allow
start "$daemon" --listen 'tcp://127.0.0.1:*' --key key --allow allow
devices "$key"
status 0 "a plan for it" adaps plan -d one.conf -o keyed.plan "$digits"
old=$endpoint
start_other() {
    stop
    start "$daemon" --listen 'tcp://127.0.0.1:*' --key key --allow allow
    until [ "$endpoint" != "$old" ]; do
        stop
        start "$daemon" --listen 'tcp://127.0.0.1:*' --key key --allow allow
    done
}
start_other
rm "$user"
status 4 "the agent is elsewhere" adaps run --deadline 2s keyed.plan "$three"
devices "$key"
cp one.conf "$user"
status 0 "the paired devices say where" adaps run keyed.plan "$three"
has err "adaps run: a is at $endpoint by now" "which is said"
devices "$(cat allow)"
cp one.conf "$user"
status 4 "another key is another device" adaps run --deadline 2s keyed.plan "$three"
stop

# What a file is.
status 3 "a picture is no network" adaps run "$three" "$digits"
has err "$three: a picture, where a plan or a model is wanted" "which is said"
status 3 "nor an array" adaps verify alone.npy
has err "alone.npy: a numpy array, where a plan or a model is wanted" "which is said"
cp "$digits" network && cp "$three" photo
rm "$user"
status 0 "names do not matter" adaps run network photo -o named.npy
check "the same bits" cmp alone.npy named.npy
cp alone.npy array.png
status 3 "an array with a picture's name" adaps run "$digits" array.png
has err "array.png: shape" "is an array"
echo "nothing" >nothing
status 3 "a file that is nothing" adaps run "$digits" nothing
has err "nothing: " "is named"
finish
