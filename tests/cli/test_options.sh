#!/bin/sh
# The options of all commands: how they may be written, what is refused, and --help.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

digits=$src/models/digits.onnx
devices=$src/devices/local2.conf

# How they may be written.
status 0 "long names" adaps plan --devices "$devices" --strategy single --output long.plan "$digits"
says out "single" "the strategy is taken"
status 0 "values after =" adaps plan --devices="$devices" --strategy=single --output=equals.plan "$digits"
status 0 "letters" adaps plan -d "$devices" -oletter.plan "$digits"
status 0 "options after operands" adaps plan "$digits" -d "$devices" -o after.plan
for file in long equals letter after; do
    check "$file.plan is there" test -s "$file.plan"
done
status 0 "a short form that fits one option" adaps plan -d "$devices" --str single --obj memory "$digits"
says out "memory made small" "it is taken for that"
status 2 "a short form of several" adaps plan -d "$devices" --la 1ms "$digits"
says err "unknown or ambiguous option '--la'" "which is said"
status 0 "a name that others begin with" adaps plan -d "$devices" --latency 1ms --dims h "$digits"
status 0 "letters in one word" adaps keygen -fo some.key
check "the last of them has the value" test -s some.key
status 0 "the last value counts" adaps plan -d "$devices" --strategy auto --strategy single "$digits"
says out "single" "of a text"
status 3 "-- ends the options" adaps inspect -- --json
says err "^adaps inspect: --json: No such file" "what comes after is a file"
status 2 "an unknown name" adaps keygen --nothing
says err "^adaps keygen: unknown or ambiguous option '--nothing'$" "it is named"
says err "^Try 'adaps keygen --help'.$" "and where to read"
status 2 "an unknown letter" adaps keygen -z
says err "unknown option '-z'" "it is named"
status 2 "a name without its value" adaps keygen --output
says err "option '--output' needs a value" "it is named"
status 2 "a letter without its value" adaps keygen -o
says err "option '-o' needs a value" "it is named"
status 2 "a value too many" adaps keygen --force=yes
says err "option '--force=yes' takes no value" "it is named"

# Values and their ranges.
refused() { # refused COMMAND OPTION VALUE WANTED: the message about a value
    status 2 "adaps $1 --$2 $3" adaps "$1" "--$2=$3" none
    says err "^adaps $1: --$2 $3: $4 is wanted$" "$4 is wanted"
}
for number in 0 65 1.5 x '' 99999999999999999999; do
    refused agent threads "$number" "a number from 1 to 64"
done
refused agent speed 1.5 "a number from 0.0001 to 1"
refused agent speed nan "a number from 0.0001 to 1"
refused agent cache-limit 0 "a size such as 4GiB"
refused agent cache-limit big "a size such as 4GiB"
refused agent idle-timeout 0s "a time above 0, such as 60s,"
refused agent idle-timeout soon "a time above 0, such as 60s,"
refused agent ready-fd -1 "a number from 0 to 1048576"
refused top interval 50ms "a time from 0.1s to 3600s"
refused serve conf 1.1 "a number from 0 to 1"
refused serve deadline 0s "a time above 0, such as 10s,"
refused serve ready-fd -1 "a number from 0 to 1048576"
refused serve threads 65 "a number from 1 to 64"
refused detect conf 1.1 "a number from 0 to 1"
refused detect max-det 0 "a number from 1 to 100000"
refused segment iou -1 "a number from 0 to 1"
refused segment idle 0s "a time above 0, such as 10s,"
refused classify top 1001 "a number from 1 to 1000"
refused bench rounds 1001 "a number from 1 to 1000"
refused bench seconds 0 "a time above 0, such as 60s,"
refused bench threads 0 "a number from 1 to 64"
refused bench thr 1.1 "a number from 0 to 1"
refused bench deadline -1s "a time above 0, such as 10s,"
refused plan bw 0mbit "a rate of at least 8bit, such as 100mbit,"
refused plan bw 7bit "a rate of at least 8bit, such as 100mbit,"
refused plan latency 3 "a time such as 0.3ms"
refused plan latency-cap 0s "a time above 0, such as 20ms,"
refused plan time-limit 2000000s "a time above 0, such as 2s,"
refused plan seed -1 "a number from 0 to 9223372036854775807"
refused plan input u16 "u8 or f32"
refused profile budget 0.1 "a time from 0.2s to 600s"
refused profile budget 11m "a time from 0.2s to 600s"
refused run in-flight 33 "a number from 1 to 32"
status 2 "run --adapt with a value" adaps run --adapt=yes none none
says err "option '--adapt=yes' takes no value" "it takes none"
refused run horizon 0 "a number from 1 to 1000000000"
refused run horizon all "a number from 1 to 1000000000"
status 2 "plan --spares with a value" adaps plan --spares=yes none
says err "option '--spares=yes' takes no value" "it takes none"
status 2 "run --failover with a value" adaps run --failover=yes none none
says err "option '--failover=yes' takes no value" "it takes none"
refused simulate bw fast "a rate of at least 8bit, such as 100mbit,"
refused status deadline soon "a time above 0, such as 10s,"
refused doctor deadline soon "a time above 0, such as 10s,"
status 2 "doctor --quick with a value" adaps doctor --quick=yes none
refused verify tolerance 2 "a number from 0 to 1"
refused verify runs 0 "a number from 1 to 10000"
refused verify snr-floor 2000 "a number from -1000 to 1000"
status 0 "the ends of ranges" adaps plan -d "$devices" --thr 0 --seed 9223372036854775807 --latency 0 "$digits"
status 0 "and the other ends" adaps plan -d "$devices" --thr 1 --seed 0 --effort 1 "$digits"
status 0 "the value of a shared option" adaps plan -d "$devices" --thr 0 --json "$digits"
says out '"threshold": 0.0,' "it reaches the plan"
says out '"type3": "split",' "type 3 is split by default"
status 0 "type 3 gathered" adaps plan -d "$devices" --strategy adaps --type3 gather --json -o t.plan "$digits"
says out '"type3": "gather",' "which the plan says"
status 0 "and its file" adaps show --json t.plan
says out '"type3": "gather",' "says it, too"
status 0 "in words" adaps show t.plan
says out 'threshold 0.15, type 3 gathered$' "as well"
refused plan type3 whole "split or gather"
status 0 "no Winograd" adaps plan -d "$devices" --conv direct --json -o t.plan "$digits"
says out '"winograd": 0,' "no layer has it"
status 0 "Winograd where it pays" adaps plan -d "$devices" --json -o t.plan "$src/models/denoise.onnx"
says out '"winograd": [1-9]' "some layer has it"
status 0 "and its file" adaps show t.plan
says out 'Winograd  *[1-9][0-9]* of [1-9]' "it says so"
refused plan conv fast "auto or direct"

# --help, and the same for programs.
commands=$(adaps --help | sed -n 's/^  \([a-z][a-z]*\) .*/\1/p')
check "24 commands" test "$(echo "$commands" | wc -w)" = 24
for command in $commands; do
    status 0 "adaps $command --help" adaps "$command" --help
    says out "^Usage: adaps $command" "it says how"
    sed -n 's/^  \(-[a-z], \)\{0,1\}--\([a-z0-9-]*\).*/\2/p' out >help.names
    cp out help
    status 0 "adaps $command -h" adaps "$command" -h
    check "is the same" cmp out help
    status 0 "adaps --list-options $command" adaps --list-options "$command"
    cut -f 1 out >list.names
    check "the options of --help, in their order" cmp help.names list.names
    awk -F '\t' 'NF != 5 || length($1) < 2 || length($2) != 1 || $3 == "" || $4 == "" || $5 == ""' out >odd
    check "five columns" test ! -s odd
    check "no name and no letter twice" test -z "$(awk -F '\t' '{ print $1; if ($2 != "-") print $2 }' out | sort | uniq -d)"
done
status 2 "options of no command" adaps --list-options nothing
status 2 "options of nobody" adaps --list-options
status 2 "operands of no command" adaps --list-operands nothing
status 5 "--help into a full disk" sh -c 'adaps plan --help >/dev/full'
status 5 "--list-options into a full disk" sh -c 'adaps --list-options plan >/dev/full'

finish
