#!/bin/sh
# adaps split: the files of a chain, run one after another, answer as the whole; layers of several keys have their rows
# with slices and padding of their own; bad files are refused by name.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

model=$src/models/digits.onnx
cp -r "$src/devices/boards" boards
printf '[a]\nboard = pi4\n' >one.conf

mapping() {
    printf '%s\n' "$1" >mapping.json
}
# answer MODEL OUT INPUT: of one device.
answer() {
    status 0 "$1 is planned" adaps plan -d one.conf --conv direct -o one.plan "$1"
    status 0 "$1 is run" adaps run --local one.plan "$3" -o "$2"
}

answer "$model" whole.npy "$src/models/samples/digit-3.png"

# A chain: an answer goes from file to file.
first='"/conv1/Conv", "/Relu", "/MaxPool"'
second='"/conv2/Conv", "/Relu_1", "/MaxPool_1", "/Flatten"'
third='"/fc1/Gemm", "/Relu_2", "/fc2/Gemm", "/Relu_3", "/fc3/Gemm", "/Softmax"'
mapping "{\"a_arm0\": [$first], \"b_arm01\": [$second], \"c_x86012\": [$third]}"
status 0 "a chain" adaps split --mapping mapping.json -o chain "$model"
has out "chain/b_arm01.onnx: 4 nodes, 1 inputs, 1 outputs" "it is told what there is"
has out "chain/sender.json, chain/receiver.json: 2 messages" "and how many messages"
check "nothing else is there" test "$(find chain -type f | wc -l)" = 5
check "a sends to b" sh -c 'tr -d " \n" <chain/sender.json | grep -qF "{\"a_arm0\":{\"/MaxPool_output_0\":[1]},\"b_arm01\":{\"/Flatten_output_0\":[2]},\"c_x86012\":{}}"'
check "b receives from a" sh -c 'tr -d " \n" <chain/receiver.json | grep -qF "{\"a_arm0\":{},\"b_arm01\":{\"/MaxPool_output_0\":[0]},\"c_x86012\":{\"/Flatten_output_0\":[1]}}"'
answer chain/a_arm0.onnx a.npy "$src/models/samples/digit-3.png"
answer chain/b_arm01.onnx b.npy a.npy
answer chain/c_x86012.onnx c.npy b.npy
check "the last one's answer is that of the whole" "$npydiff" c.npy whole.npy 1e-6
check "the parts have the weights once" sh -c 'test "$(cat chain/*.onnx | wc -c)" -lt $(($(wc -c <"$1") + 4096))' - "$model"

# Layers of several keys.
all="$first, $second, $third"
mapping "{\"a_arm0\": [$all], \"b_arm01\": [$all]}"
status 0 "shared layers" adaps split --mapping mapping.json -o shared "$model"
has err "'/Flatten' has several keys, but cannot be divided: it is whole at the fastest" "what is not divided is told"
says shared/sender.json ':rows_[0-9]*_[0-9]*"' "rows are sent"
says shared/sender.json ':channels_[0-9]*_[0-9]*"' "channels are sent"
for key in a_arm0 b_arm01; do
    status 0 "$key is a model" adaps inspect shared/$key.onnx
done
# With the speeds of devices.
printf '[a]\nboard = pi5\n[b]\nboard = pi4\n' >two.conf
status 0 "with a devices file" adaps split -d two.conf --mapping mapping.json -o speeds "$model"
check "bands are others" sh -c '! cmp -s shared/sender.json speeds/sender.json'
printf 'a, arm, slots=0-3\nb, x86, slots=0-3\n' >platform.txt
status 0 "with a platform file" adaps split --platform platform.txt --mapping mapping.json -o hosts "$model"
check "bands are others again" sh -c '! cmp -s shared/sender.json hosts/sender.json'

# What is refused.
refused() {
    status "$1" "$3" adaps split --mapping mapping.json -o refused "$model"
    has err "$2" "$3: the message"
    check "$3: nothing is written" test ! -e refused
}
mapping "{\"a_arm0\": [$first, $second]}"
refused 3 "no key has the layers '/fc1/Gemm' (Gemm)," "missing layers"
mapping "{\"a_arm0\": [$all], \"b_gpu\": [$first]}"
refused 3 "key 'b_gpu': it is a GPU" "a GPU"
mapping "{\"a_arm0\": [$all], \"z_arm0\": [$all]}"
status 3 "an unknown device" adaps split -d two.conf --mapping mapping.json -o refused "$model"
has err "key 'z_arm0': no section of the devices file has a device 'z'" "an unknown device: the message"
mapping "{\"a_arm0\": [$all]}"
touch file
status 3 "a folder that is a file" adaps split --mapping mapping.json -o file "$model"
has err "file" "a folder that is a file: the message"
status 3 "a folder without a name" adaps split --mapping mapping.json -o '' "$model"
has err "a folder's name is empty" "a folder without a name: the message"
mkdir -p way/receiver.json
status 3 "a folder in the way" adaps split --mapping mapping.json -o way "$model"
has err "way/receiver.json: cannot be written: it is a folder" "a folder in the way: the message"
check "a folder in the way: nothing is written" test "$(ls way)" = receiver.json
mkdir over && cp "$model" over/a_arm0.onnx
status 3 "the model in the way" adaps split --mapping mapping.json -o over over/a_arm0.onnx
has err "over/a_arm0.onnx: would be written over the model" "the model in the way: the message"
check "the model in the way: it stays" cmp "$model" over/a_arm0.onnx
status 2 "no mapping" adaps split -o refused "$model"
has err "no mapping: name one with --mapping" "no mapping: the message"
status 2 "no folder" adaps split --mapping mapping.json "$model"
has err "no folder: name one with -o" "no folder: the message"
status 2 "no model" adaps split --mapping mapping.json -o refused
status 3 "a missing model" adaps split --mapping mapping.json -o refused missing.onnx

finish
