#!/bin/sh
# What an agent does when its folder is taken away or full, when its keys change, and when strangers knock.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
# shellcheck source=tests/support/agent.sh
. "$src/tests/support/agent.sh"

cp "$src/models/digits.onnx" "$src/models/samples/digit-3.png" .
start "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
devices
sed 's/^address.*/&\nsource = yes/' one.conf >devices.conf
status 0 "a plan" adaps plan -d devices.conf -o plan digits.onnx
status 0 "it is pushed" adaps push plan

rm -r cache
status 0 "its cache is removed: it is pushed again" adaps push plan
status 0 "and answers" adaps run plan digit-3.png
rm -r cache/blobs
mkdir cache/blobs
for file in cache/plans/*; do
    rm "$file"
    mkdir -p "$file/deep"
done
status 0 "a folder in the plan's place is replaced" adaps push plan
status 0 "and it answers" adaps run plan digit-3.png
stop

# A limit on the size of files stands for a full disk.
rm -r cache
start sh -c 'ulimit -f 8; exec "$0" "$@"' "$daemon" --listen 'tcp://127.0.0.1:*' --cache cache
devices
status 0 "a plan for another agent" adaps plan -d one.conf -o full digits.onnx
status 4 "its disk is full" adaps push full
has err "cannot write: " "it says so"
status 0 "it is alive" adaps status -d one.conf
stop
finish
