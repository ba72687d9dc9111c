#!/bin/sh
# Strategy dn2pciot: LeNet-5 on agents with the memory of the paper's systems, where that suffices; else the smallest
# memory that would do; from a plan (--from), and from files that are no start.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

cp -r "$src/devices/boards" boards
status 0 "LeNet-5" "$build/models/zoo" lenet5 -o lenet5.onnx
start_agents 11
limited() { # limited N SIZE: the devices file of the first N agents, with so much memory each
    awk -v n="$1" '/^\[local/ { k++ } k <= n' local.conf | sed "s/^address.*/&\nmemory = $2/"
}
plan() { # plan CODE DESCRIPTION DEVICES OPTION...
    code_wanted=$1 what=$2 conf=$3
    shift 3
    status "$code_wanted" "$what" adaps plan --json -d "$conf" --strategy dn2pciot "$@" lenet5.onnx
}
right() { # right PLAN
    status 0 "verify it" adaps verify --json "$1"
    says out '"differ":0,"max_abs_diff":0.0,' "no element differs"
}
held() { # held N SIZE OBJECTIVE: there is a plan, and it is right
    limited "$1" "$2" >held.conf
    plan 0 "$1 devices of $2, $3" held.conf --objective "$3" --latency-cap 10s -o held.plan
    right held.plan
}
refused() { # refused N SIZE OBJECTIVE: there is none; with the memory that is named there is
    limited "$1" "$2" >refused.conf
    plan 1 "$1 devices of $2, $3" refused.conf --objective "$3" --latency-cap 10s
    says err "no plan of strategy dn2pciot fits .* on every device one would fit" "the smallest memory is named"
    held "$1" "$(sed -n 's/.*; with \([0-9]*\) bytes .*/\1/p' err)B" "$3"
}

held 2 388KiB throughput
held 4 176KiB traffic
held 11 64KiB traffic
refused 4 64KiB throughput
refused 11 16KiB traffic
# 63 devices of 16 KiB, the paper's smallest: planned only, and within their memory.
printf '[link]\nbandwidth = 75kbit\n' >many.conf
for i in $(seq 63); do
    printf '[d%d]\nboard = pi3\nmemory = 16KiB\n' "$i" >>many.conf
done
sed -i 's/^\[d1\]/&\nsource = yes/' many.conf
plan 0 "63 devices of 16 KiB" many.conf --objective traffic --latency-cap 1000s
check "none needs more" awk '/"memory_bytes":/ { n++; if ($2 + 0 > 16384) exit 1 } END { if (n < 63) exit 1 }' out

# From another strategy's plan.
limited 4 1GiB >four.conf
status 0 "a plan by pipeline" adaps plan -d four.conf --objective throughput --strategy pipeline -o chain.plan lenet5.onnx
plan 0 "from it" four.conf --objective throughput --from chain.plan -o after.plan
right after.plan
plan 0 "the same again" four.conf --objective throughput --from chain.plan -o again.plan
check "the same file" cmp after.plan again.plan
status 2 "another strategy" adaps plan -d four.conf --strategy pipeline --from chain.plan lenet5.onnx
says err "--from belongs to --strategy dn2pciot" "it says so"
status 2 "no strategy" adaps plan -d four.conf --from chain.plan lenet5.onnx
plan 3 "no such file" four.conf --from none.plan
says err "none.plan" "it is named"
plan 3 "no plan" four.conf --from lenet5.onnx
says err "lenet5.onnx" "it is named"
status 3 "another model" adaps plan -d four.conf --strategy dn2pciot --from chain.plan "$src/models/digits.onnx"
says err "chain.plan is the plan of another model" "it says so"
plan 3 "fewer devices" "$src/devices/local2.conf" --from chain.plan
says err "chain.plan is for 4 devices, the devices file has 2" "it says so"
sed 's/^\[local3\]/[other]/' four.conf >other.conf
plan 3 "other names" other.conf --from chain.plan
says err "its device 4 is 'local3', that of the devices file 'other'" "it says so"
stop_agents || not_ok "adaps local ended with $local_code"
finish
