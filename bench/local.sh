#!/bin/sh
# Strategies side by side on agents of this machine: the same agents, the same inputs, in turns
# (A B C, A B C, ...), so that a drift of the machine's speed hits all alike. Prints, per network, the
# median latency of each strategy, its ratio to `single` (pair by pair: median, least, most), and the
# predicted ratio.
#   bench/local.sh [NETWORK...]                 networks of models/zoo, or .onnx files
# ADAPS, ZOO: the programs (./adaps, ./models/zoo). SPEEDS: one per agent (1,1: no more agents than
# cores, or they take each other's time). ROUNDS: how often (10). STRATEGIES (single auto edgeflow
# adaps).
set -eu
adaps=$(realpath "${ADAPS:-./adaps}")
zoo=$(realpath "${ZOO:-./models/zoo}")
speeds=${SPEEDS:-1,1}
rounds=${ROUNDS:-10}
strategies=${STRATEGIES:-"single auto edgeflow adaps"}
[ $# -gt 0 ] || set -- vgg16 resnet50 inceptionv3 mobilenetv2

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
agents=$(echo "$speeds" | tr ',' '\n' | wc -l)

# Latencies of one network, a line each: strategy, measured ms, predicted ms.
# shellcheck disable=SC2016
measure='
for strategy in $strategies; do
    "$adaps" plan -d devices.conf --strategy "$strategy" -o "$strategy.plan" "$model" >/dev/null
    "$adaps" push "$strategy.plan" >/dev/null
done
round=0
while [ $round -lt "$rounds" ]; do
    for strategy in $strategies; do
        "$adaps" verify --json --runs 3 "$strategy.plan" >answer
        sed -n "s/.*\"differ\": *\([0-9]*\),.*\"latency_ms\": *\([0-9.e+]*\), *\"predicted_ms\": *\([0-9.e+]*\).*/$strategy \1 \2 \3/p" answer
    done
    round=$((round + 1))
done'

printf '%-14s %-9s %9s %8s %8s %8s %10s %7s\n' network strategy ms ratio least most predicted differ
for network in "$@"; do
    case $network in
        *.onnx) model=$(realpath "$network") ;;
        *)
            model=$work/$network.onnx
            "$zoo" "$network" -o "$model" >&2
            ;;
    esac
    (cd "$work" && adaps=$adaps model=$model rounds=$rounds strategies=$strategies \
        "$adaps" local "$agents" --speed "$speeds" -o devices.conf -- sh -eu -c "$measure" \
        >times 2>log) || { cat "$work/log" >&2; exit 1; }
    awk -v network="$(basename "$network" .onnx)" -v strategies="$strategies" '
        function median(list, n,    i, j, t) {
            for (i = 2; i <= n; i++)
                for (j = i; j > 1 && list[j - 1] > list[j]; j--) {
                    t = list[j]; list[j] = list[j - 1]; list[j - 1] = t
                }
            return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
        }
        { n[$1]++; differ[$1] += $2; ms[$1, n[$1]] = $3; predicted[$1] = $4 }
        END {
            count = split(strategies, name, " ")
            for (s = 1; s <= count; s++) {
                k = n[name[s]]
                for (i = 1; i <= k; i++) {
                    time[i] = ms[name[s], i]
                    ratio[i] = ms[name[s], i] / ms[name[1], i]
                }
                m = median(time, k); r = median(ratio, k)
                printf "%-14s %-9s %9.2f %8.3f %8.3f %8.3f %10.3f %7d\n", network, name[s], m, r,
                    ratio[1], ratio[k], predicted[name[s]] / predicted[name[1]], differ[name[s]]
            }
        }' "$work/times"
    case $network in *.onnx) ;; *) rm -f "$model" ;; esac
done
