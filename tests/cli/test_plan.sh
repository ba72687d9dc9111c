#!/bin/sh
# adaps inspect, plan, show, simulate from outside: exit codes, messages, files.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

unset COLUMNS
model=$src/models/denoise.onnx
devices=$src/devices/pi5-pi4.conf

# expect CODE TEXT DESCRIPTION COMMAND...: the exit code, and the text on stderr ("" = any).
expect() {
    wanted=$1
    text=$2
    what=$3
    shift 3
    status "$wanted" "$what" "$@" </dev/null
    [ -z "$text" ] || has err "$text" "$what: the message"
}

# the program
expect 0 "" "--help" adaps --help
has out simulate "--help lists the commands"
expect 0 "" "--version" adaps --version
expect 2 "Usage: adaps COMMAND" "no command" adaps
expect 2 "did you mean 'plan'?" "a mistyped command" adaps plna
expect 2 "unknown command 'frobnicate'" "an unknown command" adaps frobnicate
for command in inspect plan show simulate; do
    expect 0 "" "$command --help" adaps $command --help
    has out "Usage: adaps $command" "$command --help says how"
    expect 2 "Try 'adaps $command --help'" "$command --nonsense" adaps $command --nonsense
    expect 2 "expected, not 2" "$command with two arguments" adaps $command a b
done

# inspect
expect 0 "" "inspect" adaps inspect "$model"
has out "Conv+Relu" "inspect shows fused operators"
expect 0 "" "inspect --json" adaps inspect --json "$model"
has out '"weight_bytes"' "inspect --json has keys"
expect 0 "" "inspect --dot" adaps inspect --dot "$model"
has out "digraph" "inspect --dot is a graph"
expect 2 "not both" "inspect --json --dot" adaps inspect --json --dot "$model"
expect 2 "no model" "inspect without a model" adaps inspect
expect 3 "missing.onnx: No such file" "inspect of a missing model" adaps inspect missing.onnx
symbolic=$src/fuzz/corpus/onnx/classifier.onnx
# shellcheck disable=SC2016
expect 0 "" "inspect --dim" sh -c 'adaps inspect --json --dim N=5 "$1" | tr -d " \n"' - "$symbolic"
has out '[5,2,8,8]' "--dim gives a symbolic dimension its size"
expect 2 "no input has a symbolic dimension 'M': there are 'N'" "--dim of another name" \
    adaps inspect --dim M=5 "$symbolic"
expect 2 "'M': there is none" "--dim without symbolic dimensions" adaps inspect --dim M=5 "$model"
expect 2 "--dim N=6: N=5 was given, too" "--dim with two sizes" \
    adaps inspect --dim N=5 --dim N=5 --dim N=6 "$symbolic"
for dim in N N= N=0 N=-1 N=two =3 N=2147483648 ""; do
    expect 2 "--dim $dim: NAME=N is wanted" "--dim '$dim'" adaps plan -d "$devices" --dim "$dim" "$model"
done
expect 2 "no input has a symbolic dimension 'M'" "plan --dim of another name" \
    adaps plan -d "$devices" --dim M=5 "$symbolic"
expect 0 "" "plan --dim" adaps plan -d "$devices" --dim N=2 "$symbolic"
head -c 1000 "$model" >short.onnx
expect 3 "short.onnx" "inspect of a truncated model" adaps inspect short.onnx
expect 3 "" "inspect of a folder" adaps inspect .

# plan
expect 0 "nothing written" "plan" adaps plan -d "$devices" "$model"
for word in "predicted latency" "best single device" "moved per inference" "visited" "memory"; do
    has out "$word" "plan prints: $word"
done
expect 0 "written to net.plan" "plan -o" adaps plan -d "$devices" -o net.plan --bw 1gbit \
    --latency 0.3ms "$model"
check "the plan is there" test -s net.plan
expect 0 "" "plan --json" adaps plan -d "$devices" --json --bw 12.5MB/s "$model"
has out '"predicted_ms"' "plan --json has keys"
expect 2 "no devices file" "plan without devices" adaps plan "$model"
expect 2 "no model" "plan without a model" adaps plan -d "$devices"
expect 2 "--bw fast" "plan with a bad rate" adaps plan --bw fast -d "$devices" "$model"
expect 2 "--bw 0mbit" "plan with no bandwidth" adaps plan --bw 0mbit -d "$devices" "$model"
expect 2 "--latency 3" "plan with a bad time" adaps plan --latency 3 -d "$devices" "$model"
expect 2 "--thr 1.5" "plan with a bad threshold" adaps plan --thr 1.5 -d "$devices" "$model"
expect 2 "--strategy best: there are" "an unknown strategy" \
    adaps plan --strategy best -d "$devices" "$model"
for objective in memory traffic; do
    expect 0 "" "--objective $objective" adaps plan --objective $objective -d "$devices" "$model"
done
for objective in speed nonsense; do
    expect 2 "there are latency, throughput, traffic, memory" "--objective $objective" \
        adaps plan --objective $objective -d "$devices" "$model"
done
expect 0 "" "--objective latency" adaps plan --objective latency -d "$devices" "$model"
for dims in h h,w c,h h,w,c; do
    expect 0 "" "--dims $dims" adaps plan --dims $dims -d "$devices" "$model"
done
for dims in "" x h,h "h," hw; do
    expect 2 "--dims" "--dims '$dims'" adaps plan --dims "$dims" -d "$devices" "$model"
done
expect 0 "" "search options" adaps plan --time-limit 2s --evaluations 50 --seed 7 -d "$devices" \
    "$model"
expect 0 "" "effort" adaps plan --effort 2 -d "$devices" "$model"
expect 2 "--effort 0: a number from 1" "--effort 0" adaps plan --effort 0 -d "$devices" "$model"
for evaluations in 0 -1 1.5 many 1e3 1000000000001 99999999999999999999; do
    expect 2 "--evaluations $evaluations: a number from 1" "--evaluations $evaluations" \
        adaps plan --evaluations=$evaluations -d "$devices" "$model"
done
for seed in -1 0x7 lucky 9223372036854775808; do
    expect 2 "--seed $seed: a number from 0" "--seed $seed" \
        adaps plan --seed=$seed -d "$devices" "$model"
done
for time in 0 -1s 2 soon 1e9s; do
    expect 2 "--time-limit $time: a time above 0, such as 2s" "--time-limit $time" \
        adaps plan --time-limit=$time -d "$devices" "$model"
done
# The slowest network that is taken.
expect 0 "" "8 bit/s" adaps plan --bw 8bit --strategy all -d "$devices" "$model"

# The same search writes the same file, on one core or on all, beside other work or alone; where the model
# lies is not in the plan's digest.
four=$src/devices/pi5x2-pi4x2.conf
expect 0 "" "a plan" adaps plan -d "$four" -o once.plan --json "$model"
cp out once.json
check "which tells how long the search took" grep -q '"search_s": [0-9]' once.json
sh -c 'while :; do :; done' &
busy=$!
expect 0 "" "the plan again, on one core beside other work" taskset -c 0 adaps plan -d "$four" -o again.plan "$model"
kill $busy
wait $busy 2>/dev/null
check "is the same file" cmp once.plan again.plan
mkdir -p elsewhere
cp "$model" elsewhere/other.onnx
expect 0 "" "the plan of a copy of the model" adaps plan -d "$four" -o moved.plan elsewhere/other.onnx
expect 0 "" "is shown" adaps show --json moved.plan
check "its digest is the same" test "$(grep '"digest"' out)" = "$(grep '"digest"' once.json)"
check "no file tells how long the search took" grep -q '"search_s": null' out
expect 0 "" "another seed" adaps plan -d "$four" -o seed.plan --seed 1 "$model"

expect 1 "is for small networks: here are up to 10^" "--strategy exhaustive on a network" \
    adaps plan --strategy exhaustive -d "$devices" "$model"
expect 2 "needs a value" "--bw without a value" adaps plan "$model" -d "$devices" --bw
expect 2 "takes no value" "--json with a value" adaps plan --json=3 -d "$devices" "$model"
for strategy in single edgeflow deepthings auto; do
    expect 0 "" "--strategy $strategy" adaps plan --strategy $strategy -d "$devices" "$model"
    has out "$strategy" "--strategy $strategy is shown"
done
expect 3 "missing.onnx: No such file" "plan of a missing model" \
    adaps plan -d "$devices" missing.onnx
expect 3 "missing.conf: No such file" "plan with missing devices" \
    adaps plan -d missing.conf "$model"
expect 3 "no/such/folder" "plan -o where nothing can be written" \
    adaps plan -d "$devices" -o no/such/folder/x.plan "$model"
cp "$devices" .
cp -r "$src/devices/boards" .
sed 's|^memory *=.*|memory = 100kB|' pi5-pi4.conf >small.conf
expect 1 "" "an infeasible plan" adaps plan -d small.conf "$model"
for folder in checkout checkout/devices/boards prefix/bin prefix/share/adaps/boards; do
    mkdir -p "moved/$folder"
done
cp boards/pi4.conf moved/checkout/devices/boards/slow.conf
cp boards/pi4.conf moved/prefix/share/adaps/boards/slow.conf
printf '[a]\nboard = slow\n' >slow.conf
expect 3 "slow.conf: no board slow: " "a board that is nowhere" adaps plan -d slow.conf "$model"
for place in checkout prefix/bin; do
    cp "$adaps" "moved/$place/adaps"
    expect 0 "" "boards beside the program in $place" "moved/$place/adaps" plan -d slow.conf "$model"
done

# adaps.conf
printf 'model = %s\n; a comment\ndevices = %s\nplan = net.plan\n' "$model" "$devices" >adaps.conf
expect 0 "" "plan --bw 100mbit --thr 0.15 in a folder with adaps.conf" \
    adaps plan --bw 100mbit --thr 0.15
has out "denoise.onnx" "the model is the one of adaps.conf"
expect 0 "" "inspect takes adaps.conf's model" adaps inspect
expect 0 "" "show takes adaps.conf's plan" adaps show
printf 'model = missing.onnx\ndevices = %s\n' "$devices" >adaps.conf
expect 3 "missing.onnx" "adaps.conf names a missing model" adaps plan
expect 0 "" "an argument comes first" adaps plan "$model"
printf 'model = x\nmodels = y\n' >adaps.conf
expect 3 "adaps.conf:2: unknown key 'models'" "an unknown key" adaps plan
printf 'model = x\n\nmodel = y\n' >adaps.conf
expect 3 "adaps.conf:3: model is already given" "a key twice" adaps plan
printf '[plan]\nmodel = y\n' >adaps.conf
expect 3 "adaps.conf:2: [plan]" "a section" adaps plan
printf 'model\n' >adaps.conf
expect 3 "adaps.conf:1" "no value" adaps plan
printf 'model = %0300d\n' 1 >adaps.conf
expect 3 "adaps.conf:1: the line is longer" "a long line" adaps plan
rm adaps.conf

# show
expect 0 "" "show" adaps show net.plan
has out "COMPUTE" "show lists steps"
expect 0 "" "show --json" adaps show --json net.plan
has out '"programs"' "show --json has keys"
expect 0 "" "show --dot" adaps show --dot net.plan
has out "digraph plan" "show --dot is a graph"
expect 0 "" "show writes files" \
    adaps show --svg t.svg --trace t.json --html t.html net.plan
check "nothing else is printed" test ! -s out
for file in t.svg t.json t.html; do
    check "$file is there" test -s "$file"
done
has t.svg "</svg>" "the picture is complete"
has t.html "</html>" "the page is complete"
has t.json '"traceEvents"' "the trace is one"
expect 0 "" "show --svg -" adaps show --svg - net.plan
has out "</svg>" "a picture on stdout"
expect 3 "no/such/folder" "a picture that cannot be written" \
    adaps show --svg no/such/folder/t.svg net.plan
expect 2 "no plan" "show without a plan" adaps show
expect 3 "missing.plan: No such file" "show of a missing plan" adaps show missing.plan
echo garbage >garbage.plan
expect 3 "garbage.plan: not an adaps plan" "show of garbage" adaps show garbage.plan
head -c 500 net.plan >short.plan
expect 3 "short.plan: damaged or truncated" "show of a truncated plan" adaps show short.plan
expect 5 "cannot write" "show into a full disk" sh -c 'adaps show net.plan >/dev/full'

# simulate
expect 0 "" "simulate" adaps simulate net.plan
has out "by the simulated clocks" "simulate prints the latency"
cp out first
expect 0 "" "simulate with slow links" adaps simulate --bw 1mbit --latency 5ms net.plan
check "slow links change the clocks" sh -c "! cmp -s out first"
expect 0 "" "simulate with the plan's own links" \
    adaps simulate --bw 1gbit --latency 0.3ms net.plan
check "the plan's own links do not" cmp -s out first
expect 0 "" "simulate --json" adaps simulate --json net.plan
has out '"critical"' "simulate --json has keys"
expect 2 "--bw x" "simulate with a bad rate" adaps simulate --bw x net.plan
expect 3 "garbage.plan" "simulate garbage" adaps simulate garbage.plan

finish
