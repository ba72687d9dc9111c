#!/bin/sh
# Winograd's algorithm: answers of whole networks beside those of --conv direct, the same bits on one device and on
# several unequal ones, and a memory limit that it does not fit.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

picture=$src/models/samples/noisy.png
cp -r "$src/devices/boards" boards
printf '[link]\nbandwidth = 1gbit\n' >three.conf
for device in 0 1 2; do
    printf '[dev%s]\nboard = pi4\nspeed = 0.%s\n' $device $((9 - 3 * device)) >>three.conf
done

# number KEY FILE: of a plan's JSON.
number() {
    sed -n "s/^  \"$1\": \([0-9.]*\),\$/\1/p" "$2"
}

for network in squeezenet densenet121 deeplabv3; do
    "$zoo" "$network" --no-bn -o "$network.onnx" 2>"$work/err" || not_ok "$network was not written"
    status 0 "$network by Winograd" adaps plan -d three.conf --json -o auto.plan "$network.onnx"
    cp out auto.json
    status 0 "$network directly" adaps plan -d three.conf --conv direct --json -o direct.plan "$network.onnx"
    check "it takes layers" test "$(number winograd auto.json)" -gt 0
    check "which --conv direct does not" test "$(number winograd out)" = 0
    check "and is predicted sooner" awk "BEGIN { exit !($(number predicted_ms auto.json) < $(number predicted_ms out)) }"
    for way in auto direct; do
        status 0 "$network, $way, answers" adaps run --local --resize -o "$way.npy" "$way.plan" "$picture"
    done
    check "within 1e-4 of the range" "$npydiff" auto.npy direct.npy 1e-4
    rm -f "$network.onnx"
done

# On agents, and with a device that has no room for the transformed weights.
"$zoo" squeezenet --no-bn -o squeezenet.onnx 2>"$work/err" || not_ok "squeezenet was not written"
cat >verify <<'END'
adaps plan -d "$ADAPS_DEVICES" --bw 1gbit --json -o net.plan squeezenet.onnx && adaps verify --deadline 120s net.plan
END
status 0 "three unequal agents" adaps local 3 --speed 1,0.6,0.4 --threads 1 -- sh -e verify
says out '"winograd": [1-9]' "by Winograd's algorithm"
says out '^0 of 1000 elements differ' "have the bits of one"
sed 's/^speed = 0.3/&\nmemory = 7MB/' three.conf >small.conf
status 0 "a device with little memory" adaps plan -d small.conf --json -o small.plan squeezenet.onnx
cp out small.json
sed '/^.dev2/,$d' three.conf >two.conf
status 0 "the others alone" adaps plan -d two.conf --json -o two.plan squeezenet.onnx
cp out two.json
check "it makes the plan no later" awk "BEGIN { exit !($(number predicted_ms small.json) <= $(number predicted_ms two.json)) }"
check "and the bound no higher" awk "BEGIN { exit !($(number lower_bound_ms small.json) <= $(number lower_bound_ms two.json)) }"
sed 's/^memory = 7MB/memory = 1kB/' small.conf >tiny.conf
status 0 "a device without memory" adaps plan -d tiny.conf --json -o tiny.plan squeezenet.onnx
check "it makes the plan no later, either" awk "BEGIN { exit !($(number predicted_ms out) <= $(number predicted_ms two.json)) }"
sed 's/^speed = .*/&\nmemory = 7MB/' three.conf >little.conf
status 0 "devices of little memory" adaps plan -d little.conf --json -o little.plan squeezenet.onnx
check "have fewer such layers" awk "BEGIN { exit !($(number winograd out) < 8) }"
finish
