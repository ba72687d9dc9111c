#!/bin/sh
# adaps inspect, plan, show, simulate from outside: exit codes, messages, files. The program is $ADAPS
# (default ./adaps), the models and devices are $srcdir's.
set -u
ADAPS=${ADAPS:-./adaps}
case $ADAPS in
/*) ;;
*) ADAPS=$PWD/$ADAPS ;;
esac
src=$(cd "${srcdir:-.}" && pwd)
dir=$(mktemp -d "${TMPDIR:-/tmp}/adaps-cli.XXXXXX") || exit 99
trap 'rm -rf "$dir"' EXIT
trap 'exit 99' HUP INT TERM
cd "$dir" || exit 99
unset COLUMNS
model=$src/models/denoise.onnx
devices=$src/devices/pi5-pi4.conf
failed=0
n=0

result() { # result STATUS DESCRIPTION
    n=$((n + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $n - $2"
    else
        echo "not ok $n - $2"
        sed 's/^/# out: /' out | head -5
        sed 's/^/# err: /' err | head -5
        failed=$((failed + 1))
    fi
}

# expect CODE WORD DESCRIPTION COMMAND...: the exit code, and WORD on stderr ("" = any)
expect() {
    code=$1 word=$2 text=$3
    shift 3
    "$@" >out 2>err </dev/null
    got=$?
    if [ "$got" -ne "$code" ]; then
        echo "# exit code $got, expected $code"
        result 1 "$text"
    elif [ -n "$word" ] && ! grep -qF -- "$word" err; then
        echo "# stderr lacks: $word"
        result 1 "$text"
    else
        result 0 "$text"
    fi
}

has() { # has FILE WORD DESCRIPTION
    grep -qF -- "$2" "$1"
    result $? "$3"
}

# the program
expect 0 "" "--help" "$ADAPS" --help
has out simulate "--help lists the commands"
expect 0 "" "--version" "$ADAPS" --version
expect 2 "Usage: adaps COMMAND" "no command" "$ADAPS"
expect 2 "did you mean 'plan'?" "a mistyped command" "$ADAPS" plna
expect 2 "unknown command 'frobnicate'" "an unknown command" "$ADAPS" frobnicate
for command in inspect plan show simulate; do
    expect 0 "" "$command --help" "$ADAPS" $command --help
    has out "Usage: adaps $command" "$command --help says how"
    expect 2 "Try 'adaps $command --help'" "$command --nonsense" "$ADAPS" $command --nonsense
    expect 2 "expected, not 2" "$command with two arguments" "$ADAPS" $command a b
done

# inspect
expect 0 "" "inspect" "$ADAPS" inspect "$model"
has out "Conv+Relu" "inspect shows fused operators"
expect 0 "" "inspect --json" "$ADAPS" inspect --json "$model"
has out '"weight_bytes"' "inspect --json has keys"
expect 0 "" "inspect --dot" "$ADAPS" inspect --dot "$model"
has out "digraph" "inspect --dot is a graph"
expect 2 "not both" "inspect --json --dot" "$ADAPS" inspect --json --dot "$model"
expect 2 "no model" "inspect without a model" "$ADAPS" inspect
expect 3 "missing.onnx: No such file" "inspect of a missing model" "$ADAPS" inspect missing.onnx
symbolic=$src/fuzz/corpus/onnx/classifier.onnx
expect 0 "" "inspect --dim" sh -c '"$1" inspect --json --dim N=5 "$2" | tr -d " \n"' - "$ADAPS" \
    "$symbolic"
has out '[5,2,8,8]' "--dim gives a symbolic dimension its size"
expect 2 "no input has a symbolic dimension 'M': there are 'N'" "--dim of another name" \
    "$ADAPS" inspect --dim M=5 "$symbolic"
expect 2 "'M': there is none" "--dim without symbolic dimensions" "$ADAPS" inspect --dim M=5 "$model"
expect 2 "--dim N=6: N=5 was given, too" "--dim with two sizes" \
    "$ADAPS" inspect --dim N=5 --dim N=5 --dim N=6 "$symbolic"
for dim in N N= N=0 N=-1 N=two =3 N=2147483648 ""; do
    expect 2 "--dim $dim: NAME=N is wanted" "--dim '$dim'" "$ADAPS" plan -d "$devices" --dim "$dim" "$model"
done
expect 2 "no input has a symbolic dimension 'M'" "plan --dim of another name" \
    "$ADAPS" plan -d "$devices" --dim M=5 "$symbolic"
expect 0 "" "plan --dim" "$ADAPS" plan -d "$devices" --dim N=2 "$symbolic"
head -c 1000 "$model" >short.onnx
expect 3 "short.onnx" "inspect of a truncated model" "$ADAPS" inspect short.onnx
expect 3 "" "inspect of a folder" "$ADAPS" inspect .

# plan
expect 0 "nothing written" "plan" "$ADAPS" plan -d "$devices" "$model"
for word in "predicted latency" "best single device" "moved per inference" "visited" "memory"; do
    has out "$word" "plan prints: $word"
done
expect 0 "written to net.plan" "plan -o" "$ADAPS" plan -d "$devices" -o net.plan --bw 1gbit \
    --latency 0.3ms "$model"
[ -s net.plan ]
result $? "the plan is there"
expect 0 "" "plan --json" "$ADAPS" plan -d "$devices" --json --bw 12.5MB/s "$model"
has out '"predicted_ms"' "plan --json has keys"
expect 2 "no devices file" "plan without devices" "$ADAPS" plan "$model"
expect 2 "no model" "plan without a model" "$ADAPS" plan -d "$devices"
expect 2 "--bw fast" "plan with a bad rate" "$ADAPS" plan --bw fast -d "$devices" "$model"
expect 2 "--bw 0mbit" "plan with no bandwidth" "$ADAPS" plan --bw 0mbit -d "$devices" "$model"
expect 2 "--latency 3" "plan with a bad time" "$ADAPS" plan --latency 3 -d "$devices" "$model"
expect 2 "--thr 1.5" "plan with a bad threshold" "$ADAPS" plan --thr 1.5 -d "$devices" "$model"
expect 2 "--strategy best: there are" "an unknown strategy" \
    "$ADAPS" plan --strategy best -d "$devices" "$model"
for objective in memory traffic; do
    expect 0 "" "--objective $objective" "$ADAPS" plan --objective $objective -d "$devices" "$model"
done
for objective in throughput nonsense; do
    expect 2 "there are latency, traffic, memory" "--objective $objective" \
        "$ADAPS" plan --objective $objective -d "$devices" "$model"
done
expect 0 "" "--objective latency" "$ADAPS" plan --objective latency -d "$devices" "$model"
for dims in h h,w c,h h,w,c; do
    expect 0 "" "--dims $dims" "$ADAPS" plan --dims $dims -d "$devices" "$model"
done
for dims in "" x h,h h, hw; do
    expect 2 "--dims" "--dims '$dims'" "$ADAPS" plan --dims "$dims" -d "$devices" "$model"
done
expect 0 "" "search options" "$ADAPS" plan --time-limit 2s --evaluations 50 --seed 7 -d "$devices" \
    "$model"
expect 0 "" "effort" "$ADAPS" plan --effort 2 -d "$devices" "$model"
expect 2 "--effort 0: a number from 1" "--effort 0" "$ADAPS" plan --effort 0 -d "$devices" "$model"
for evaluations in 0 -1 1.5 many 1e3 1000000000001 99999999999999999999; do
    expect 2 "--evaluations $evaluations: a number from 1" "--evaluations $evaluations" \
        "$ADAPS" plan --evaluations=$evaluations -d "$devices" "$model"
done
for seed in -1 0x7 lucky 9223372036854775808; do
    expect 2 "--seed $seed: a number from 0" "--seed $seed" \
        "$ADAPS" plan --seed=$seed -d "$devices" "$model"
done
for time in 0 -1s 2 soon 1e9s; do
    expect 2 "--time-limit $time: a time above 0, such as 2s" "--time-limit $time" \
        "$ADAPS" plan --time-limit=$time -d "$devices" "$model"
done
expect 1 "is for small networks: here are up to 10^" "--strategy exhaustive on a network" \
    "$ADAPS" plan --strategy exhaustive -d "$devices" "$model"
expect 2 "needs a value" "--bw without a value" "$ADAPS" plan "$model" -d "$devices" --bw
expect 2 "takes no value" "--json with a value" "$ADAPS" plan --json=3 -d "$devices" "$model"
for strategy in single edgeflow deepthings auto; do
    expect 0 "" "--strategy $strategy" "$ADAPS" plan --strategy $strategy -d "$devices" "$model"
    has out "$strategy" "--strategy $strategy is shown"
done
expect 3 "missing.onnx: No such file" "plan of a missing model" \
    "$ADAPS" plan -d "$devices" missing.onnx
expect 3 "missing.conf: No such file" "plan with missing devices" \
    "$ADAPS" plan -d missing.conf "$model"
expect 3 "no/such/folder" "plan -o where nothing can be written" \
    "$ADAPS" plan -d "$devices" -o no/such/folder/x.plan "$model"
cp "$devices" .
cp -r "$src/devices/boards" .
sed 's|^memory *=.*|memory = 100kB|' pi5-pi4.conf >small.conf
expect 1 "" "an infeasible plan" "$ADAPS" plan -d small.conf "$model"
for folder in checkout checkout/devices/boards prefix/bin prefix/share/adaps/boards; do
    mkdir -p "moved/$folder"
done
cp boards/pi4.conf moved/checkout/devices/boards/slow.conf
cp boards/pi4.conf moved/prefix/share/adaps/boards/slow.conf
printf '[a]\nboard = slow\n' >slow.conf
expect 3 "slow.conf: no board slow: " "a board that is nowhere" "$ADAPS" plan -d slow.conf "$model"
for place in checkout prefix/bin; do
    cp "$ADAPS" "moved/$place/adaps"
    expect 0 "" "boards beside the program in $place" "moved/$place/adaps" plan -d slow.conf "$model"
done

# adaps.conf
printf 'model = %s\n; a comment\ndevices = %s\nplan = net.plan\n' "$model" "$devices" >adaps.conf
expect 0 "" "plan --bw 100mbit --thr 0.15 in a folder with adaps.conf" \
    "$ADAPS" plan --bw 100mbit --thr 0.15
has out "denoise.onnx" "the model is the one of adaps.conf"
expect 0 "" "inspect takes adaps.conf's model" "$ADAPS" inspect
expect 0 "" "show takes adaps.conf's plan" "$ADAPS" show
printf 'model = missing.onnx\ndevices = %s\n' "$devices" >adaps.conf
expect 3 "missing.onnx" "adaps.conf names a missing model" "$ADAPS" plan
expect 0 "" "an argument comes first" "$ADAPS" plan "$model"
printf 'model = x\nmodels = y\n' >adaps.conf
expect 3 "adaps.conf:2: unknown key 'models'" "an unknown key" "$ADAPS" plan
printf 'model = x\n\nmodel = y\n' >adaps.conf
expect 3 "adaps.conf:3: model is already given" "a key twice" "$ADAPS" plan
printf '[plan]\nmodel = y\n' >adaps.conf
expect 3 "adaps.conf:2: [plan]" "a section" "$ADAPS" plan
printf 'model\n' >adaps.conf
expect 3 "adaps.conf:1" "no value" "$ADAPS" plan
printf 'model = %0300d\n' 1 >adaps.conf
expect 3 "adaps.conf:1: the line is longer" "a long line" "$ADAPS" plan
rm adaps.conf

# show
expect 0 "" "show" "$ADAPS" show net.plan
has out "COMPUTE" "show lists steps"
expect 0 "" "show --json" "$ADAPS" show --json net.plan
has out '"programs"' "show --json has keys"
expect 0 "" "show --dot" "$ADAPS" show --dot net.plan
has out "digraph plan" "show --dot is a graph"
expect 0 "" "show writes files" \
    "$ADAPS" show --svg t.svg --trace t.json --html t.html net.plan
[ ! -s out ] && [ -s t.svg ] && [ -s t.json ] && [ -s t.html ]
result $? "the files are there, and nothing else is printed"
has t.svg "</svg>" "the picture is complete"
has t.html "</html>" "the page is complete"
has t.json '"traceEvents"' "the trace is one"
expect 0 "" "show --svg -" "$ADAPS" show --svg - net.plan
has out "</svg>" "a picture on stdout"
expect 3 "no/such/folder" "a picture that cannot be written" \
    "$ADAPS" show --svg no/such/folder/t.svg net.plan
expect 2 "no plan" "show without a plan" "$ADAPS" show
expect 3 "missing.plan: No such file" "show of a missing plan" "$ADAPS" show missing.plan
echo garbage >garbage.plan
expect 3 "garbage.plan: not an adaps plan" "show of garbage" "$ADAPS" show garbage.plan
head -c 500 net.plan >short.plan
expect 3 "short.plan: damaged or truncated" "show of a truncated plan" "$ADAPS" show short.plan
expect 5 "cannot write" "show into a full disk" sh -c '"$0" show net.plan >/dev/full' "$ADAPS"

# simulate
expect 0 "" "simulate" "$ADAPS" simulate net.plan
has out "by the simulated clocks" "simulate prints the latency"
cp out first
expect 0 "" "simulate with slow links" "$ADAPS" simulate --bw 1mbit --latency 5ms net.plan
! cmp -s out first
result $? "slow links change the clocks"
expect 0 "" "simulate with the plan's own links" \
    "$ADAPS" simulate --bw 1gbit --latency 0.3ms net.plan
cmp -s out first
result $? "the plan's own links do not"
expect 0 "" "simulate --json" "$ADAPS" simulate --json net.plan
has out '"critical"' "simulate --json has keys"
expect 2 "--bw x" "simulate with a bad rate" "$ADAPS" simulate --bw x net.plan
expect 3 "garbage.plan" "simulate garbage" "$ADAPS" simulate garbage.plan

echo "1..$n"
[ "$failed" -eq 0 ]
