#!/bin/sh
# adaps plan --mapping: AutoDiCE's mapping and platform specifications. Chains, turns, layers shared by rows, parted
# batch normalisations and activations run on agents with the bits of one device; bad files are refused by name.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

model=$src/models/denoise.onnx
cp -r "$src/devices/boards" boards
cat >two.conf <<'END'
[a]
board = pi5
[b]
board = pi4
END

head='"/head/Conv", "/Relu"'
block1='"/block1/conv1/Conv", "/block1/bn1/BatchNormalization", "/block1/Relu", "/block1/conv2/Conv",
  "/block1/bn2/BatchNormalization", "/block1/Add", "/block1/Relu_1"'
block2='"/block2/conv1/Conv", "/block2/bn1/BatchNormalization", "/block2/Relu", "/block2/conv2/Conv",
  "/block2/bn2/BatchNormalization", "/block2/Add", "/block2/Relu_1"'
tail='"/tail/Conv", "/Add"'

mapping() {
    printf '%s\n' "$1" >mapping.json
}

# regions OP FILE: of a plan's JSON, on one line.
regions() {
    tr -d ' \n' <"$2" | sed 's/{"op"/\n&/g' | sed -n "s|^{\"op\":\"$1\".*\"regions\":\([^\"}]*\).*|\1|p" | sed 's/,$//'
}

# A chain: blocks as they stand, fused as ever.
mapping "{\"a_arm0123\": [$head, $block1], \"b_cpu012\": [$block2, $tail]}"
status 0 "a chain" adaps plan -d two.conf --mapping mapping.json --json -o chain.plan "$model"
cp out chain.json
says out '"strategy": "mapping"' "is of strategy mapping"
check "a has block 1" test "$(regions /block1/Add chain.json)" = '[[0,240,0,320,0,32],null]'
check "b has block 2" test "$(regions /block2/Add chain.json)" = '[null,[0,240,0,320,0,32]]'
check "batch normalisation is fused" sh -c '! grep -q "\"op\": .*BatchNormalization" chain.json'
check "a computes with 4 threads" sh -c 'grep -A6 "\"name\": \"a\"" chain.json | grep -q "\"threads\": 4"'
check "b computes with 3 threads" sh -c 'grep -A6 "\"name\": \"b\"" chain.json | grep -q "\"threads\": 3"'

# Rows in proportion to speed: with 3 cores and 1 of devices alike, 3 of 4.
cat >alike.conf <<'END'
[a]
board = pi4
[b]
board = pi4
END
mapping "{\"a_arm012\": [$head, $block1, $block2, $tail], \"b_arm0\": [$head, $block1, $block2, $tail]}"
status 0 "shared layers" adaps plan -d alike.conf --mapping mapping.json --conv direct --json "$model"
cp out shared.json
check "by speed" test "$(regions /head/Conv shared.json)" = '[[0,180,0,320,0,32],[180,240,0,320,0,32]]'
check "layer by layer" test "$(regions /tail/Conv shared.json)" = '[[0,180,0,320,0,3],[180,240,0,320,0,3]]'
# Several keys of one device share it.
mapping "{\"a_arm0\": [$head, $block1], \"b_arm01\": [$block1, $block2, $tail], \"a_arm23\": [$block1]}"
status 0 "two keys of a device" adaps plan -d alike.conf --mapping mapping.json --conv direct --json "$model"
cp out keys.json
check "share it" test "$(regions /block1/Add keys.json)" = '[[0,144,0,320,0,32],[144,240,0,320,0,32]]'
check "with all its cores" sh -c 'grep -A6 "\"name\": \"a\"" keys.json | grep -q "\"threads\": 3"'

# What adaps would fuse stands alone where a mapping parts it.
mapping "{\"a_arm0123\": [\"/head/Conv\", $block1, $tail], \"b_arm012\": [\"/Relu\", $block2]}"
status 0 "a parted activation" adaps plan -d two.conf --mapping mapping.json --json -o parted.plan "$model"
cp out parted.json
check "is an operator of its own" test "$(regions /Relu parted.json)" = '[null,[0,240,0,320,0,32]]'
printf '[a]\nboard = pi5\nthreads = 4\n[b]\nboard = pi4\nthreads = 3\n' >same.conf
status 0 "its layout is followed" adaps plan -d same.conf --layout parted.json --json "$model"
check "with the same time" test "$(grep '"predicted_ms"' out)" = "$(grep '"predicted_ms"' parted.json)"
mapping "{\"a_arm0123\": [$head, $block2, \"/block1/conv1/Conv\", \"/block1/Relu\", \"/block1/conv2/Conv\"],
  \"b_arm012\": [\"/block1/bn1/BatchNormalization\", \"/block1/bn2/BatchNormalization\", \"/block1/Add\",
    \"/block1/Relu_1\", $tail]}"
status 0 "parted batch normalisations" adaps plan -d two.conf --mapping mapping.json --json "$model"
cp out bn.json
check "are operators of their own" \
    test "$(regions /block1/bn1/BatchNormalization bn.json)" = '[null,[0,240,0,320,0,32]]'
status 0 "its layout is followed" adaps plan -d same.conf --layout bn.json --json "$model"
check "with the same time" test "$(grep '"predicted_ms"' out)" = "$(grep '"predicted_ms"' bn.json)"

# The platform file.
mapping "{\"edge01_arm123\": [$head, $block1], \"edge05_arm0\": [$block2, $tail]}"
cat >platform.txt <<'END'
# hosts
edge01, arm, slots=0-5, gpu=NVIDIAVolta (CUDA)
edge05, arm, slots=0-3, gpu=ArmMali-G610 (VULKAN)
edge09, x86, slots=0-11
END
status 0 "a platform file alone" adaps plan --mapping mapping.json --platform platform.txt --json "$model"
check "has the hosts that keys name" test "$(grep -c '"name": "edge0[15]"' out)" = 2
check "edge01 has three threads" sh -c 'grep -A6 "\"name\": \"edge01\"" out | grep -q "\"threads\": 3"'
check "others are left out" sh -c '! grep -q edge09 out'
printf '[link]\nbandwidth = 1gbit\n[edge01]\nboard = pi5\nmemory = 1GiB\n' >one.conf
status 0 "beside a devices file" adaps plan -d one.conf --mapping mapping.json --platform platform.txt --json "$model"
check "the devices file says what its devices are" sh -c 'grep -A6 "\"name\": \"edge01\"" out | grep -q pi5'
check "the platform file the others" sh -c 'grep -A6 "\"name\": \"edge05\"" out | grep -q pi4'
printf 'edge01:192.168.178.66\nedge05:192.168.178.206\n' >hosts.txt
status 0 "names and addresses" adaps plan --mapping mapping.json --platform hosts.txt -o hosts.plan "$model"

# refused TEXT DESCRIPTION [OPTION...]: mapping.json is refused with exit status 3 and this text.
refused() {
    text=$1
    description=$2
    shift 2
    status 3 "$description" adaps plan -d two.conf --mapping mapping.json "$@" "$model"
    has err "$text" "$description: the message"
}
platform() {
    printf '%s\n' "$1" >bad.txt
    refused "$2" "$3" --platform bad.txt
}
refused "mapping.json: key 'edge01_arm123': no section of the devices file has a device 'edge01'; a platform file" \
    "an unknown device"
platform 'edge05, arm, slots=0-3' "neither the devices file nor bad.txt has a device 'edge01'" "a host that is not there"
platform 'edge01, arm, slots=0-2' "key 'edge01_arm123': core 3: by bad.txt:1, edge01 has slots 0 to 2" "a core too many"
platform 'edge01, mips, slots=0-2' "bad.txt:1: 'mips': arm, x86, slots= or gpu= is wanted" "another processor"
platform 'edge01, slots=0-3' "bad.txt:1: 'edge01': it does not say whether it is arm or x86" "no processor"
platform 'edge01, arm, slots=three' "bad.txt:1: slots: FIRST-LAST is wanted" "slots that are no numbers"
platform 'edge01, arm
edge01, x86' "bad.txt:2: 'edge01' is there already, in line 1" "a host twice"
platform 'what is this' "bad.txt:1: 'NAME, arm, slots=0-3' or 'NAME:ADDRESS' is wanted" "a line of another form"
platform 'edge01, arm, x86' "bad.txt:1: 'edge01': it is arm and x86" "two processors"
platform 'edge01, arm, slots=0-3, slots=0-5' "bad.txt:1: 'edge01': slots are there twice" "slots twice"
platform 'edge01:not a host' "bad.txt:1: 'not a host' is no address" "an address that is none"
platform 'edge01:10.0.0.1:99999' "bad.txt:1: '10.0.0.1:99999' is no address" "a port that is none"
mapping "{\"link_arm0\": [$head, $block1, $block2, $tail]}"
platform 'link, arm' "bad.txt:1: 'link' is no name of a device" "a host of a name that devices files cannot have"
mapping "{\"edge01_arm123\": [$head, $block1], \"edge05_arm0\": [$block2, $tail]}"
printf 'edge01:fe80::1 # a comment\nedge05:10.0.0.2:5571\n' >six.txt
status 0 "other addresses" adaps plan --mapping mapping.json --platform six.txt -o six.plan "$model"
check "of IPv6" sh -c 'adaps show --json six.plan >six.json; grep -aq "tcp://\[fe80::1\]:5570" six.plan'
check "with a port" grep -aq "tcp://10.0.0.2:5571" six.plan
refused "missing.txt" "a missing platform file" --platform missing.txt
mapping "{\"a_arm0\": [$head, $block1, $block2, $tail], \"b_gpu\": [$tail]}"
refused "mapping.json: key 'b_gpu': it is a GPU: adaps computes on processors" "a GPU"
mapping "{\"a_arm0\": [$head, $block1, $tail], \"b_arm0\": [$block2, \"/Relu9\"]}"
refused "key 'b_arm0': the model has no layer '/Relu9'" "an unknown layer"
mapping "{\"a_arm0\": [$head, $block1], \"b_arm0\": [$block2, \"/Add\"]}"
refused "mapping.json: no key has the layer '/tail/Conv' (Conv)" "a missing layer"
mapping "{\"a_arm0\": [\"/head/Conv\", $block1, $tail], \"b_arm0\": [$block2]}"
refused "no key has the layer '/Relu' (Relu)" "a missing activation"
mapping "{\"a_arm0\": [$head]}"
refused "no key has the layers '/block1/conv1/Conv' (Conv)," "several missing layers"
has err " and 11 more" "several missing layers: how many"
mapping "{\"a_arm0\": [$head, $block1, $tail, \"/Relu\"], \"b_arm0\": [$block2]}"
refused "key 'a_arm0': layer '/Relu' is there twice" "a layer twice"
mapping "{\"a_arm0\": [$head, $block1, $tail], \"a_arm0\": [$block2]}"
refused "mapping.json: line " "a key twice"
mapping "{\"a\": [$head, $block1, $tail, $block2]}"
refused "key 'a': DEVICE_armCORES is wanted, as in edge01_arm123" "a key without cores"
mapping "{\"a_arm\": [$head, $block1, $tail, $block2]}"
refused "key 'a_arm': after DEVICE_ arm, cpu or x86 and the numbers of cores are wanted" "no cores"
mapping "{\"a_mips0\": [$head, $block1, $tail, $block2]}"
refused "key 'a_mips0': after DEVICE_ arm, cpu or x86" "an unknown processor"
mapping "{\"a_arm11\": [$head, $block1, $tail, $block2]}"
refused "key 'a_arm11': core 1 is there twice" "a core twice"
mapping '{"a_arm0": 7}'
refused "key 'a_arm0': a list of layers is wanted, not a number" "no list"
mapping '{"a_arm0": [7]}'
refused "key 'a_arm0': layer 0 is a number, not a name" "a layer that is no name"
mapping '{}'
refused "mapping.json: it has no keys" "no keys"
status 3 "a missing mapping" adaps plan -d two.conf --mapping missing.json "$model"
has err "missing.json" "a missing mapping: the message"
status 2 "--mapping with --strategy" adaps plan -d two.conf --mapping mapping.json --strategy auto "$model"
status 2 "--mapping with --layout" adaps plan -d two.conf --mapping mapping.json --layout bn.json "$model"
status 2 "--platform alone" adaps plan -d two.conf --platform platform.txt "$model"

# On agents. In turns, with layers that all share; a network whose batch normalisation, activations and views are
# parted, by names of outputs; a dense layer shared by channels.
all="$head, $block1, $block2, $tail"
mapping "{\"local0_cpu0\": [$all], \"local1_cpu0\": [$all], \"local2_cpu0\": [$all]}"
mv mapping.json all.json
mapping "{\"local0_cpu0\": [\"/head/Conv\", \"/block1/conv1/Conv\", \"/block1/Relu\", \"/block1/Add\", $block2],
  \"local1_cpu0\": [\"/Relu\", \"/block1/bn1/BatchNormalization\", $block2, $tail],
  \"local2_cpu0\": [\"/block1/conv1/Conv\", \"/block1/conv2/Conv\", \"/block1/bn2/BatchNormalization\",
    \"/block1/Relu_1\", \"/block1/Add\"]}"
mv mapping.json turns.json
sed 's/"a_arm0123"/"local0_cpu0"/; s/"b_cpu012"/"local2_cpu0"/' >chain2.json <<END
{"a_arm0123": [$head, $block1], "b_cpu012": [$block2, $tail]}
END
cat >verify <<'END'
for mapping in all turns chain2; do
    adaps plan -d "$ADAPS_DEVICES" --mapping "$mapping.json" -o "$mapping.plan" model.onnx >"$mapping.out"
    adaps verify --deadline 120s --json "$mapping.plan"
done
END
cp "$model" model.onnx
status 0 "three agents follow mappings" adaps local 3 --speed 1,0.6,0.4 --threads 1 -- sh -e verify
check "with the bits of one" test "$(grep -c '"differ": *0,' out)" = 3
check "all of them compute" grep -q 'on 3 of 3 devices' all.out
finish
