#!/bin/sh
# What the README and docs/guide.md say: the figures of the README's table are those of bench/results/compare.tsv, and the
# guide's commands have the options that it uses.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

# The table of the README: the network's name here, and in compare.tsv.
table=$src/bench/results/compare.tsv
milliseconds() {
    printf '%.0f' "$(field "$table" latency_ms times=measured "network=$1" devices=4 "mbit=$2" "strategy=$3")"
}
while read -r name network; do
    wanted="| $name | $(milliseconds "$network" 100 single) | $(milliseconds "$network" 100 auto) |"
    wanted="$wanted $(milliseconds "$network" 1000 auto) |"
    check "the row of $name: $wanted" grep -qxF -e "$wanted" "$src/README.md"
done <<'END'
VGG16 vgg16
YOLOv2 yolov2
InceptionV3 inceptionv3
ResNet-50 resnet50
MobileNetV2 mobilenetv2
END
means=$(sed -n 's/^| \/ single | .* \.[0-9]* \(\.[0-9]*\) | .* |.*/&/p' "$src/bench/results/NOTES.md" | head -n 1)
check "the means: $means" sh -c 'echo "$1" | grep -q "\.709 |.*\.500 |$" && grep -q "\.71 of the time at 100 mbit and \.50 at 1 gbit" "$2"' \
    - "$means" "$src/README.md"

# Commands that stand on lines of their own, without comments and what comes after a pipe.
sed -n 's/^    \(adaps .*\)/\1/p' "$src/README.md" "$src/docs/guide.md" | sed 's/ *#.*//' >commands
check "there are commands" test "$(wc -l <commands)" -ge 15
while read -r line; do
    # shellcheck disable=SC2086 # words
    set -- $line
    command=$2
    shift 2
    adaps --list-options "$command" >options 2>err || not_ok "$line: there is no command $command"
    for word; do
        case $word in
            --) break ;;
            --*) cut -f 1 options | grep -qx -e "${word#--}" || not_ok "$line: $command has no option $word" ;;
            -?) cut -f 2 options | grep -qx -e "${word#-}" || not_ok "$line: $command has no option $word" ;;
        esac
    done
    ok "$line"
done <commands
finish
