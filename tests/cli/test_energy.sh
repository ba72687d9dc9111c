#!/bin/sh
# Energy on the command line: watts in devices files, joules in what plan, show and simulate print, the objective energy.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

digits=$src/models/digits.onnx
plain=$src/devices/local2.conf
need_python json

# number KEY: the first number of that key in $work/out.
number() {
    sed -n "s/^ *\"$1\": \([-0-9.e+]*\),\{0,1\}$/\1/p" "$work/out" | head -n 1
}

# json CODE: the expression is true of the JSON in $work/out, which is d.
json() {
    "$python" -c "import json, sys; d = json.load(open('$work/out')); sys.exit(not ($1))"
}

# Without watts: no energy.
status 0 "a plan without watts" adaps plan -d "$plain" --json -o plain.plan "$digits"
check "its energy is null" json 'd["energy_j"] is None and all(e["energy_j"] is None for e in d["devices"] if e["macs"])'
status 0 "its table" adaps show plain.plan
check "says nothing of energy" sh -c '! grep -i energy out'
status 0 "simulate" adaps simulate --json plain.plan
check "null as well" json 'd["energy_j"] is None'
status 3 "the objective energy without watts" adaps plan -d "$plain" --objective energy "$digits"
says err "the energy of 'local0' is not known: idle_watts is missing" "is refused by name"

# Two devices, the second with less power, but not less energy for the same work.
awk '
    { print }
    /^address/ {
        print "idle_watts = " (n ? 1.5 : 2)
        print "core_watts = " (n ? 0.75 : 1)
        print "network_watts = 0.125"
        n++
    }' "$plain" >watts.conf
status 0 "a plan with watts" adaps plan -d watts.conf --strategy bbgrap --json -o watts.plan "$src/models/denoise.onnx"
all=$(number energy_j)
check "the devices' energies add up to all" json 'd["energy_j"] > 0 and abs(sum(e["energy_j"] for e in d["devices"]) - d["energy_j"]) < 1e-9 * d["energy_j"]'
check "idle and computing at least" json 'd["energy_j"] > 2e-3 * d["predicted_ms"] + 1e-3 * d["devices"][0]["busy_ms"]'
status 0 "its file" adaps show --json watts.plan
check "says the same" test "$(number energy_j)" = "$all"
status 0 "its tables" adaps show watts.plan
says out "^  energy  *[0-9.]* [mu]*J per inference" "say so"
says out "^device.* energy$" "for each device, too"
status 0 "simulate" adaps simulate watts.plan
says out "^energy [0-9.]* [mu]*J per inference" "tells it"
status 0 "simulate --json" adaps simulate --json watts.plan
check "the same number" test "$(number energy_j)" = "$all"
status 0 "on a slow link" adaps simulate --json --bw 10mbit watts.plan
check "devices idle for longer" json "d['energy_j'] > $all"
status 0 "the objective energy" adaps plan -d watts.conf --json --objective energy "$src/models/denoise.onnx"
check "takes no more" json "d['energy_j'] <= $all"
says out "energy made small" "which is noted"
finish
