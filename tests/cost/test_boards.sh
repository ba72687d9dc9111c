#!/bin/sh
# devices/boards: every board plans a network, every figure's comment says where it comes from, and the estimates
# in devices/README.md are what adaps predicts, with a reason for each that is far from what was published.
zoo=$(realpath "${ZOO:-./models/zoo}")
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

boards=$src/devices/boards
readme=$src/devices/README.md
cp -r "$boards" boards

# four BOARD: a devices file with that board, its rates those of four threads.
four() {
    awk -v board="$1" '
        $1 == "threads" { threads = $3 }
        $1 ~ /^(conv|grouped|depthwise|fc|pool|elementwise|copy)$/ { rate[$1] = $3 }
        END {
            print "[one]\nboard = " board "\nthreads = 4"
            for (key in rate) printf "%s = %.9g\n", key, rate[key] * 4 / threads
        }' "boards/$1.conf"
}

# estimate BOARD NETWORK: milliseconds with four threads.
estimate() {
    four "$1" >four.conf
    adaps plan --strategy single --json -d four.conf "$2.onnx" 2>/dev/null |
        sed -n 's/^  "predicted_ms": \([0-9.]*\),$/\1/p'
}

# figures FILE: the lines with a figure.
figures() {
    grep '^[a-z0-9_]* *= *[0-9]' "$1"
}

for conf in boards/*.conf; do
    board=$(basename "$conf" .conf)
    printf '[one]\nboard = %s\n' "$board" >one.conf
    status 0 "$board plans" adaps plan -d one.conf "$src/models/digits.onnx"
    says out " $board " "with its table"
    check "$board has figures" test "$(figures "$conf" | wc -l)" -ge 9
    figures "$conf" | grep -v ' ; \(measured\|published\|guess\): [^ ]' >untold
    check "$board tells of each where it comes from" sh -c 'cat untold; test ! -s untold'
    figures "$conf" | grep -o '\[[a-z-]*' | tr -d '[' | sort -u >cited
    while read -r source; do
        check "$board says what $source is" grep -q "^; \[${source}[] ].*\." "$conf"
    done <cited
    check "$board cites a source for each published figure" sh -c \
        "! grep '; published: ' '$conf' | grep -v '\[[a-z]'"
    check "devices/README.md lists $board" grep -qF "| \`boards/$board.conf\` |" "$readme"
    check "Makefile.am lists $board" grep -qF "devices/boards/$board.conf" "$src/Makefile.am"
done

# Rows of the table: board, network, estimate, published, source, ratio, reasons.
awk -F ' *[|] *' '$2 ~ /^[a-z0-9-]+$/ && $4 ~ /^[0-9.]+$/ { print $2, $3, $4, $5, $7, $8 }' "$readme" >table
check "devices/README.md has a table" test "$(wc -l <table)" -ge 10
cut -d ' ' -f 2 table | sort -u >networks
while read -r network; do
    "$zoo" "$network" -o "$network.onnx" 2>"$work/err" || not_ok "$network was not written"
    while read -r board name told published ratio why; do
        [ "$name" = "$network" ] || continue
        now=$(estimate "$board" "$network")
        check "$network on $board: $told ms is what adaps estimates, ${now:-nothing}" awk \
            -v told="$told" -v now="$now" 'BEGIN {
                decimals = index(told, ".") ? length(told) - index(told, ".") : 0
                exit sprintf("%.*f", decimals, now) != told
            }'
        check "$network on $board: $told / $published is $ratio" awk \
            -v told="$told" -v published="$published" -v ratio="$ratio" \
            'BEGIN { exit sprintf("%.2f", told / published) != ratio }'
        check "$network on $board: beyond 30 % there is a reason" awk -v ratio="$ratio" -v why="$why" \
            'BEGIN { exit (ratio > 1.3 || ratio < 0.7) != (why != "") }'
        for letter in $why; do
            check "$letter is explained" grep -q "^- \*\*$letter\*\*[,:]" "$readme"
        done
    done <table
    rm -f "$network.onnx"
done <networks
finish
