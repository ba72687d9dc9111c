#!/bin/sh
# The main job on this machine: two agents of unequal speed, one plan, a noisy picture in, a clean
# picture out, and the proof that the bits are those of a single device. Run by `make demo`.
#   demo.sh ADAPS SOURCE_FOLDER OUTPUT_FOLDER
set -eu
adaps=$1
source=$2
out=$3

rm -rf "$out"
mkdir -p "$out"

# What follows runs while the two agents live.
# shellcheck disable=SC2016
"$adaps" local 2 --speed 1,0.6 -o "$out/devices.conf" -- sh -eu -c '
    adaps=$1 source=$2 out=$3
    echo "== plan"
    "$adaps" plan -d "$out/devices.conf" -o "$out/denoise.plan" "$source/models/denoise.onnx"
    echo
    echo "== push"
    "$adaps" push "$out/denoise.plan"
    echo
    echo "== run"
    "$adaps" run "$out/denoise.plan" "$source/models/samples/noisy.png" -o "$out/denoised.png"
    echo
    echo "== push again: nothing to send"
    "$adaps" push "$out/denoise.plan"
    echo
    echo "== picture: $out/denoised.png (from $source/models/samples/noisy.png)"
    echo "== verify against one device"
    "$adaps" verify "$out/denoise.plan" "$source/models/samples/noisy.png"
' sh "$adaps" "$source" "$out"
