#!/bin/sh
# adaps detect, classify and segment: what is found in pictures that say what is in them; files, a folder that fills,
# pipes of raw frames, a cluster that is slower than its source; what is written, and what is refused.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

small_model=$build/tests/support/small_model
for net in detector masks classifier segmenter; do
    check "the network $net" "$small_model" $net $net.onnx
done

# pixels COLUMN ROW RED GREEN BLUE: raw bytes of 64 x 64 black pixels with a square of 16 x 16 at that place of a 4 x 4 grid.
pixels() {
    awk -v column="$1" -v row="$2" -v red="$3" -v green="$4" -v blue="$5" 'BEGIN {
        for (y = 0; y < 64; y++)
            for (x = 0; x < 64; x++) {
                inside = int(x / 16) == column && int(y / 16) == row
                printf "\\%03o\\%03o\\%03o", inside * red, inside * green, inside * blue
            }
    }' >octal
    # shellcheck disable=SC2059
    printf "$(cat octal)"
}

pixels 1 2 255 0 0 >red.rgb
pixels 3 0 0 0 255 >blue.rgb
for colour in red blue; do
    { printf 'P6\n64 64\n255\n'; cat $colour.rgb; } >$colour.ppm
done

# --- files ---

red='red.ppm: red 1.000 16.0 32.0 32.0 48.0'
blue='blue.ppm: blue sky 1.000 48.0 0.0 64.0 16.0'
status 0 "two pictures" adaps detect --conf 0.6 detector.onnx red.ppm blue.ppm
printf '%s\n%s\n' "$red" "$blue" >wanted
check "a line for each thing" cmp out wanted
says err '^adaps detect: 2 pictures in .* a second; latency .* ms median' "rate and latency"
status 0 "lower scores, too" adaps detect detector.onnx red.ppm
check "four cells of 8 pixels and one of 32 beside it" test "$(wc -l <out)" = 6
status 0 "not so many" adaps detect --max-det 2 detector.onnx red.ppm
check "the best two" test "$(wc -l <out)" = 2
has out "$red" "the best"
status 0 "one class alone" adaps detect --classes 'blue sky' detector.onnx red.ppm
check "has nothing" test ! -s out
status 0 "the other by its number" adaps detect --conf 0.6 --classes 0 detector.onnx red.ppm blue.ppm
check "has one" test "$(cat out)" = "$red"
printf 'rouge\n' >names
status 0 "other names" adaps detect --conf 0.6 --labels names detector.onnx red.ppm blue.ppm
has out 'red.ppm: rouge 1.000 16' "the file's"
has out 'blue.ppm: 1 1.000 48' "a number where it has none"
status 0 "half the scores" adaps detect --std 2 --conf 0.45 detector.onnx red.ppm
has out 'red.ppm: red 0.500 16.0' "by another norm"
status 0 "JSON" adaps detect --json --conf 0.6 detector.onnx red.ppm
has out '"image":"red.ppm","width":64,"height":64,' "the picture"
has out '"detections":[{"category_id":0,"category":"red","bbox":[16.0,32.0,16.0,16.0],"score":1.0}]' "COCO's form"

# A wide picture: the square is 16 of 64 pixels high in the middle 64 of 128 columns, so half of that in the input.
{
    printf 'P6\n128 64\n255\n'
    # shellcheck disable=SC2059
    printf "$(awk 'BEGIN {
        for (y = 0; y < 64; y++)
            for (x = 0; x < 128; x++)
                printf "\\%s\\000\\000", (int(x / 16) == 3 && int(y / 16) == 2 ? "377" : "000")
    }')"
} >wide.ppm
status 0 "a wide picture" adaps detect --conf 0.45 detector.onnx wide.ppm
check "the square in the picture's pixels" test "$(cat out)" = 'wide.ppm: red 0.500 48.0 32.0 64.0 48.0'
status 0 "its middle" adaps detect --fit crop --conf 0.6 detector.onnx wide.ppm
check "fills the input" test "$(cat out)" = 'wide.ppm: red 1.000 48.0 32.0 64.0 48.0'

# --- what is drawn ---

status 0 "a picture with boxes" adaps detect --conf 0.6 -o red.out.png detector.onnx red.ppm
status 0 "as an input" adaps detect --conf 0.6 -o again.ppm detector.onnx red.out.png
check "it was drawn into" sh -c '! cmp -s red.ppm again.ppm'
mkdir drawn
status 0 "several pictures into a folder" adaps detect --conf 0.6 -o drawn detector.onnx red.ppm blue.ppm
check "with their names" test -s drawn/red.ppm -a -s drawn/blue.ppm
status 0 "numbered names" adaps detect -o 'n%02d.bmp' detector.onnx red.ppm blue.ppm
check "count from 0" test -s n00.bmp -a -s n01.bmp
status 2 "two pictures into one file" adaps detect -o one.png detector.onnx red.ppm blue.ppm
status 2 "no picture's name" adaps detect -o answer.npy detector.onnx red.ppm
has err 'a folder that exists, or a name that ends in .png' "is refused"

# --- masks, maps, classes ---

status 0 "masks" adaps segment --conf 0.6 masks.onnx red.ppm
check "with their pixels" test "$(cat out)" = "$red 252"
status 0 "masks as JSON" adaps segment --json --conf 0.6 masks.onnx red.ppm
has out '"segmentation":{"size":[64,64],"counts":"' "runs of pixels"
has out '"area":252' "and how many"
status 0 "a map of classes" adaps segment segmenter.onnx blue.ppm
printf 'blue.ppm: 0 3840 93.8%%\nblue.ppm: 2 256 6.2%%\n' >wanted
check "the pixels of each class" cmp out wanted
status 0 "as JSON" adaps segment --json segmenter.onnx blue.ppm
has out '"classes":[{"category_id":0,"category":"0","area":3840,"share":0.9375},' "the same"
status 0 "drawn" adaps segment -o map.ppm segmenter.onnx blue.ppm
check "over the picture" sh -c '! cmp -s map.ppm blue.ppm'
status 0 "classes" adaps classify --top 2 classifier.onnx red.ppm
says out '^red.ppm: red 0.4519$' "e^.5 of e^.5 + 2"
says out '^red.ppm: green 0.2741$' "the next"
check "two of them" test "$(wc -l <out)" = 2
status 0 "classes as JSON" adaps classify --json classifier.onnx red.ppm
has out '"classes":[{"category_id":0,"category":"red","score":0.45' "the likeliest first"

# --- raw frames ---

cat red.rgb blue.rgb >two.rgb
for _ in $(seq 100); do
    cat two.rgb
done >stream.rgb
awk 'BEGIN {
    for (i = 0; i < 200; i++)
        print "standard input " i ": " (i % 2 ? "blue sky 1.000 48.0 0.0 64.0 16.0" : "red 1.000 16.0 32.0 32.0 48.0")
}' >wanted
# shellcheck disable=SC2016
status 0 "200 frames of a pipe" sh -c 'cat stream.rgb | adaps detect --conf 0.6 --raw 64x64:rgb24 detector.onnx -'
check "each is answered, in order" cmp out wanted
says err '^adaps detect: 200 pictures' "so many"
status 2 "a pipe of what?" adaps detect detector.onnx -
has err '(--raw)' "the size is missing"
status 2 "no format" adaps detect --raw 64x64:yes detector.onnx -

# A pipe that does not end: its frame is answered while it is open, and a signal ends the command.
mkfifo pipe lines
adaps detect --conf 0.6 --raw 64x64:rgb24 detector.onnx - <pipe >lines 2>err &
detect=$!
exec 3>pipe 4<lines
cat red.rgb >&3
read -r line <&4
check "a frame is answered before the next one comes" test "$line" = 'standard input 0: red 1.000 16.0 32.0 32.0 48.0'
kill -INT $detect
wait $detect
check "it ends by the signal, well" test $? = 0
says err '^adaps detect: 1 picture in' "and says what it did"
exec 3>&- 4<&-

# --- a folder that fills while it runs ---

mkdir box
cp red.ppm box/first.ppm
adaps detect --conf 0.6 detector.onnx box >lines 2>err &
detect=$!
exec 4<lines
read -r line <&4
check "what is in the folder" test "$line" = 'box/first.ppm: red 1.000 16.0 32.0 32.0 48.0'
cp blue.ppm new.ppm
mv new.ppm box/second.ppm
read -r line <&4
check "what comes" test "$line" = 'box/second.ppm: blue sky 1.000 48.0 0.0 64.0 16.0'
kill -TERM $detect
wait $detect
check "until it is told to end" test $? = 0
exec 4<&-
status 0 "or nothing comes for a while" adaps detect --idle 100ms --conf 0.6 detector.onnx box
check "both were there" test "$(wc -l <out)" = 2

# --- agents ---

start_agents 2 --speed 1,0.5
status 0 "a plan" adaps plan -d local.conf -o net.plan detector.onnx
status 0 "on agents" adaps detect --conf 0.6 net.plan red.ppm blue.ppm red.ppm
printf '%s\n%s\n%s\n' "$red" "$blue" "$red" >wanted
check "the same lines" cmp out wanted
status 0 "a plan on one device" adaps detect --local --conf 0.6 net.plan red.ppm blue.ppm red.ppm
check "the same lines here" cmp out wanted
status 0 "a model on agents" adaps detect -d local.conf --conf 0.6 detector.onnx red.ppm blue.ppm red.ppm
check "the same lines from a model" cmp out wanted
status 0 "frames of a pipe on agents" adaps detect --conf 0.6 --raw 64x64:rgb24 net.plan stream.rgb
check "all of them" test "$(wc -l <out)" = 200
check "each its frame's" sh -c 'test "$(grep -c " [0-9]*[02468]: red" out)" = 100 && test "$(grep -c " [0-9]*[13579]: blue" out)" = 100'

# An agent is lost between two frames: the other one goes on.
status 0 "a plan that needs both" adaps plan -d local.conf --strategy edgeflow -o both.plan detector.onnx
adaps detect --failover --conf 0.6 --raw 64x64:rgb24 both.plan - <pipe >lines 2>err &
detect=$!
exec 3>pipe 4<lines
cat red.rgb >&3
read -r line <&4
check "both answer" test "$line" = 'standard input 0: red 1.000 16.0 32.0 32.0 48.0'
kill -KILL "$(agent_pid local1)"
cat blue.rgb >&3
read -r line <&4
check "one of them goes on" test "$line" = 'standard input 1: blue sky 1.000 48.0 0.0 64.0 16.0'
exec 3>&-
wait $detect
check "to the end" test $? = 0
exec 4<&-
says err '^lost: local1; went on after ' "and says whom it lost"
stop_agents

# Slower than the source: the newest frame counts, and the last one is answered.
start_agents 1 --speed 0.01
status 0 "a plan for a slow device" adaps plan -d local.conf -o net.plan detector.onnx
# shellcheck disable=SC2016
status 0 "frames faster than they are answered" sh -c 'cat stream.rgb | adaps detect --drop --conf 0.6 --raw 64x64:rgb24 net.plan -'
done=$(sed -n 's/^adaps detect: \([0-9]*\) pictures* in.*/\1/p' err)
dropped=$(sed -n 's/.*; \([0-9]*\) dropped$/\1/p' err)
check "some are dropped ($dropped), and each is one or the other" test "$dropped" -gt 0 -a "$((done + dropped))" = 200
check "the last one is answered" test "$(tail -1 out)" = 'standard input 199: blue sky 1.000 48.0 0.0 64.0 16.0'
stop_agents

# --- refusals ---

status 3 "a classifier is no detector" adaps detect classifier.onnx red.ppm
has err "the outputs are not those of a detector for an input of 64 x 64: 'logits' 1x3" "with its shapes"
status 3 "a detector is no classifier" adaps classify detector.onnx red.ppm
status 3 "without masks it is no segmenter" adaps segment classifier.onnx red.ppm
status 3 "no picture" adaps detect detector.onnx detector.onnx
status 3 "no file" adaps detect detector.onnx nowhere.png
status 3 "no network" adaps detect red.ppm red.ppm
status 2 "no such family" adaps detect --preset yolo99 detector.onnx red.ppm
has err 'there are yolov5, yolov7, yolov8' "those there are"
status 2 "no such class" adaps detect --classes unicorn detector.onnx red.ppm
status 2 "no input" adaps detect detector.onnx
status 2 "no such way" adaps detect --fit squeeze detector.onnx red.ppm
status 2 "no deviation" adaps detect --std 0 detector.onnx red.ppm
status 2 "here or there" adaps detect --local -d local.conf detector.onnx red.ppm
finish
