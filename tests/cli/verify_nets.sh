#!/bin/sh
# Networks on 2, 3 and 4 local agents of unequal declared speed: every answer must be bit-identical to
# the single-device answer, for every strategy that divides the work.
#   NETS="vgg16 resnet50" tests/cli/verify_nets.sh     (default: those small enough for make check)
# ADAPS and ZOO name the programs.
set -eu
adaps=$(realpath "${ADAPS:-./adaps}")
zoo=$(realpath "${ZOO:-./models/zoo}")
source=$(realpath "${srcdir:-.}")
nets=${NETS:-"lenet5 mobilenetv2 squeezenet hardcorenas denoise digits"}
counts=${COUNTS:-"2 3 4"}
strategies=${STRATEGIES:-"auto edgeflow adaps"}

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
passed=0
failed=0

model_of() {
    case $1 in
        denoise | digits) echo "$source/models/$1.onnx" ;;
        *)
            [ -f "$1.onnx" ] || "$zoo" "$1" -o "$1.onnx" >&2
            echo "$1.onnx"
            ;;
    esac
}

speeds_of() {
    case $1 in
        2) echo 1,0.5 ;;
        3) echo 1,0.7,0.4 ;;
        4) echo 1,0.8,0.5,0.3 ;;
    esac
}

for net in $nets; do
    model=$(model_of "$net")
    for count in $counts; do
        # shellcheck disable=SC2016
        if ! adaps=$adaps model=$model strategies=$strategies "$adaps" local "$count" \
            --speed "$(speeds_of "$count")" -o devices.conf -- sh -eu -c '
            for strategy in $strategies; do
                "$adaps" plan -d devices.conf --strategy "$strategy" -o net.plan "$model" >plan.txt
                answer=$("$adaps" verify --json --deadline 120s net.plan) || true
                printf "%s %s\n" "$strategy" "$answer"
            done' >answers.txt 2>errors.txt; then
            cat errors.txt >&2
        fi
        for strategy in $strategies; do
            answer=$(sed -n "s/^$strategy //p" answers.txt | tr -d ' ')
            case $answer in
                *'"differ":0,'*)
                    passed=$((passed + 1))
                    echo "ok $net, $count agents, $strategy: $answer"
                    ;;
                *)
                    failed=$((failed + 1))
                    echo "not ok $net, $count agents, $strategy: $answer"
                    cat errors.txt
                    ;;
            esac
        done
    done
    case $net in denoise | digits) ;; *) rm -f "$net.onnx" ;; esac
done
echo "$passed passed, $failed failed"
[ "$failed" = 0 ] && [ "$passed" -gt 0 ]
