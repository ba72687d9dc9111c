#!/bin/sh
# Networks on 2, 3 and 4 local agents of unequal speed: every answer has the bits of the single-device
# answer, for every strategy that divides the work.
#   NETS="vgg16 resnet50" tests/cli/verify_nets.sh     (default: those small enough for make check)
# ADAPS and ZOO name the programs.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

nets=${NETS:-"lenet5 mobilenetv2 squeezenet hardcorenas denoise digits"}
counts=${COUNTS:-"2 3 4"}
strategies=${STRATEGIES:-"auto edgeflow adaps"}

model_of() {
    case $1 in
        denoise | digits) echo "$src/models/$1.onnx" ;;
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
        start_agents "$count" --speed "$(speeds_of "$count")"
        for strategy in $strategies; do
            what="$net, $count agents, $strategy"
            status 0 "$what: plan" adaps plan -d local.conf --strategy "$strategy" -o net.plan "$model"
            status 0 "$what: verify" adaps verify --json --deadline 120s net.plan
            says out '"differ": *0,' "$what: no element differs"
            rm -f net.plan
        done
        stop_agents || not_ok "adaps local ended with $local_code: $(cat local.err)"
    done
    case $net in denoise | digits) ;; *) rm -f "$net.onnx" ;; esac
done
[ "$tests" -gt 0 ] || not_ok "nothing was verified"
finish
