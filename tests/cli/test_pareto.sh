#!/bin/sh
# adaps plan --pareto: its table, JSON, picture and files, whose plans run on agents; its ends; bad options.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

digits=$src/models/digits.onnx
plain=$src/devices/local2.conf
need_python json

# json CODE: the expression is true of the JSON in $work/out, which is d.
json() {
    "$python" -c "import json, sys; d = json.load(open('$work/out')); sys.exit(not ($1))"
}

# Without watts.
status 3 "a front without watts" adaps plan -d "$plain" --pareto latency,energy "$digits"
says err "the energy of 'local0' is not known" "is refused by name"
status 0 "a front without energy needs none" adaps plan -d "$plain" --pareto latency,memory --json --evaluations 100 "$digits"
check "there it is null" json 'all(p["energy_j"] is None for p in d["plans"])'

# Two agents, the second with less power, but not less energy for the same work.
start_agents 2 --speed 1,0.5
awk '
    { print }
    /^address/ {
        print "idle_watts = " (n ? 1.5 : 2)
        print "core_watts = " (n ? 0.75 : 1)
        print "network_watts = 0.125"
        n++
    }' local.conf >watts.conf

# A front.
status 0 "a front" adaps plan -d watts.conf --pareto latency,throughput,memory,energy --json --svg front.svg \
    --seed 3 --evaluations 300 -o front.plan "$digits"
says err "^adaps plan: written to front-1.plan to front-[0-9]*.plan$" "where it is written is told"
cp out front.json
check "its JSON" json 'd["objectives"] == ["latency", "throughput", "memory", "energy"] and d["visited"] > 0'
check "numbers from 1, and files" json '[p["number"] for p in d["plans"]] == list(range(1, len(d["plans"]) + 1)) and all(p["file"] == "front-%d.plan" % p["number"] for p in d["plans"])'
check "none is dominated" json 'all(not (all(a[k] <= b[k] for k in ("predicted_ms", "interval_ms", "memory_most_bytes", "energy_j")) and a is not b) for a in d["plans"] for b in d["plans"])'
check "in order of the latency" json 'sorted(p["predicted_ms"] for p in d["plans"]) == [p["predicted_ms"] for p in d["plans"]]'
for objective in latency throughput memory energy; do
    status 0 "--objective $objective" adaps plan -d watts.conf --json --objective $objective --seed 3 --evaluations 300 "$digits"
    check "is an end of the front" json "(lambda key: min(key(p) for p in json.load(open('front.json'))['plans']) == key(d))(lambda p: {'latency': p['predicted_ms'], 'throughput': p['interval_ms'], 'memory': max(p['memory_bytes']), 'energy': p['energy_j']}['$objective'])"
done
i=0
while [ -e "front-$((i + 1)).plan" ]; do
    i=$((i + 1))
    status 0 "plan $i of the front" adaps show --json "front-$i.plan"
    for key in predicted_ms interval_ms energy_j frames_in_flight memory_bytes; do
        check "plan $i has the front's $key" json "json.load(open('front.json'))['plans'][$i - 1]['$key'] == d['$key']"
    done
    status 0 "plan $i on agents" adaps verify --json "front-$i.plan"
    says out '"differ":0,"max_abs_diff":0.0,' "plan $i: no element differs"
done
check "as many files as plans" test "$i" = "$(grep -c '"number"' front.json)"
says front.svg "<svg" "a picture"
check "a panel for each two objectives" test "$(grep -c 'class="panel"' front.svg)" = 6
check "a point for each plan in each" test "$(grep -c 'class="plan"' front.svg)" = $((6 * i))
check "it is XML" "$python" -c 'import xml.dom.minidom; xml.dom.minidom.parse("front.svg")'
status 0 "the table" adaps plan -d watts.conf --pareto energy,latency --evaluations 300 -o one "$digits"
says out "^no  *strategy  *latency  *interval  *memory  *energy  *moved  *devices" "its titles"
says out "^ *1  *[a-z]" "a row"
says out "by energy, latency$" "by what"
check "a name without an ending" test -s one-1
status 0 "nothing kept" adaps plan -d watts.conf --pareto energy,latency --evaluations 300 "$digits"
says err "nothing written; -o FILE keeps the plans" "which is said"
stop_agents

# What is refused.
for list in latency latency,latency 'latency,' ,latency speed,latency ''; do
    status 2 "--pareto '$list'" adaps plan -d "$plain" --pareto "$list" "$digits"
    says err "^adaps plan: --pareto $list: two" "two are wanted"
done
for other in "--strategy auto" "--objective memory" "--rate-floor 1" --spares "--layout x" "--mapping x"; do
    # shellcheck disable=SC2086
    status 2 "--pareto with $other" adaps plan -d "$plain" --pareto latency,memory $other "$digits"
    says err "^adaps plan: --pareto does not go with ${other%% *}" "does not go"
done
status 2 "--svg alone" adaps plan -d "$plain" --svg x.svg "$digits"
says err "^adaps plan: --svg belongs to --pareto" "belongs to --pareto"
status 1 "no plan at all" adaps plan -d "$plain" --pareto latency,memory --latency-cap 1us "$digits"
says err "no strategy has a plan" "is told"
finish
