#!/bin/sh
# Completion: what bash, zsh and fish offer for the last of some words. A shell that is not installed is left out.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

completions=$src/data/completions
export completions

# bash_offers WORD...: the words offered, one on a line; so do the others.
cat >complete.bash <<'END'
. "$completions/adaps"
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_adaps "$1"
printf '%s\n' "${COMPREPLY[@]}"
END
bash_offers() {
    last=
    for word; do last=$word; done
    case $last in # bash takes --option=value for three words
        --*=?*) set -- "$1" "$2" "${last%%=*}" = "${last#*=}" ;;
        --*=) set -- "$1" "$2" "${last%=}" = ;;
    esac
    bash --norc "$work/complete.bash" "$@"
}

# A zsh with a terminal of its own, which writes down all that its functions of completion add, and tells when it is done.
mkdir zdot
cat >zdot/.zshrc <<'END'
PROMPT=
fpath=($completions $fpath)
autoload -U compinit
compinit -u -d $work/zdot/dump
compadd() {
    local -a added
    if [[ ${@[1,(i)(-|--)]} == *-(O|A|D)\ * ]]; then
        builtin compadd "$@"
        return
    fi
    builtin compadd -A added "$@"
    print -rl -- $added >>$work/added
    builtin compadd "$@"
}
offer() {
    zle complete-word
    print done >$work/done
}
zle -N offer
bindkey '^I' offer
zle-line-init() { print ready >$work/done }
zle -N zle-line-init
END
cat >complete.zsh <<'END'
zmodload zsh/zpty
wait_for() { # a line may come late: the pipe is empty when the writer before has not closed it yet
    while [[ $line != $1 ]]; do read -r line <$work/done; done
}
zpty pty ZDOTDIR=$work/zdot zsh -i
wait_for ready
zpty -w -n pty "$*"$'\t'
wait_for done
zpty -d pty
END
zsh_offers() {
    [ -p "$work/done" ] || mkfifo "$work/done"
    : >"$work/added"
    timeout 60 zsh -f "$work/complete.zsh" "$@" >/dev/null
    cat "$work/added"
}

fish_offers() {
    HOME=$work fish --no-config -c 'source $completions/adaps.fish; complete -C (string join " " -- $argv)' -- "$@" |
        cut -f 1
}

# completes DESCRIPTION OFFERED WORD...: for adaps WORD..., in alphabetical order, without the folder that they are in.
completes() {
    description=$1
    offered=$2
    shift 2
    for shell in $shells; do
        got=$("${shell}_offers" adaps "$@" 2>"$work/err" | sed 's|/$||; s|.*/||; s/^--[a-z0-9-]*=//; /^$/d' | sort -u | tr '\n' ' ')
        if [ "${got% }" = "$offered" ]; then
            ok "$shell: $description"
        else
            not_ok "$shell: $description: '${got% }' instead of '$offered'"
        fi
    done
}

shells=
for shell in bash zsh fish; do
    if command -v "$shell" >/dev/null; then
        shells="$shells $shell"
    else
        ok "$shell is not installed: left out"
    fi
done
[ "$shells" ] || skip "no bash, zsh or fish"

mkdir here && cd here && mkdir folder || exit 99
touch first.plan second.conf third.onnx fourth.json fifth.png folder/inside.plan

completes "commands" "segment serve" se
completes "the program's own options" "--help --version" --
for command in plan run agent local; do
    completes "all options of $command" \
        "$(adaps --list-options "$command" | sed 's/^/--/; s/\t.*//' | sort | tr '\n' ' ' | sed 's/ $//')" "$command" --
done
completes "options that begin so" "--dim --dims" plan --di
completes "after another option" "--json" plan --bw 10mbit --j
completes "choices" "f32 u8" plan --input ''
completes "choices after =" "f32 u8" plan --input=
completes "a choice after =" "u8" plan --input=u
completes "strategies" "deeperthings deepslicing deepthings defer" plan --strategy de
completes "objectives" "energy latency memory throughput traffic" plan --objective ''
completes "presets" "yolov8 yolov8-pose" detect --preset yolov8
completes "plans, models and pictures, as the usage line says" "fifth.png first.plan folder fourth.json" detect --dim N=1 f
completes "a plan" "first.plan folder" show f
completes "a model" "folder third.onnx" plan ''
completes "devices files after a letter" "folder second.conf" plan -d ''
completes "a plan to be written" "first.plan folder" plan --output f
completes "a plan in a folder" "inside.plan" simulate folder/
completes "layouts" "folder fourth.json" plan --layout ''
completes "folders" "folder" local --cache f
completes "nothing for a number" "" bench --rounds f
completes "nothing for a command that is none" "" nothing --
finish
