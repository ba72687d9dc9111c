#!/bin/sh
# The unit for systemd: its settings are known to systemd, and it may do little.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"

command -v systemd-analyze >/dev/null || skip "systemd-analyze is not installed (Debian: systemd)"
unit=$src/data/adaps-agent.service

# value NAME: what the unit sets it to.
value() {
    sed -n "s/^$1=//p" "$unit"
}

# With this build's program, since none may be installed, and without the manual's pages.
sed "s|/usr/bin/adaps-agent|$build/adaps-agent|; /^Documentation=/d" "$unit" >adaps-agent.service
status 0 "systemd reads it" systemd-analyze verify "$work/adaps-agent.service"
check "and finds nothing to say of it" test -z "$(grep adaps-agent.service err)"
status 0 "its exposure is 2.0 at most" systemd-analyze security --offline=true --threshold=20 "$work/adaps-agent.service"
sed -n 's/^.*\(Overall exposure level.*\)/# \1/p' out

check "it is started when it says so" test "$(value Type)" = notify
check "it has 30 s or more for a sign of life" test "$(value WatchdogSec)" -ge 30
check "no core dump has its keys" test "$(value LimitCORE)" = 0
check "it is not root" test -n "$(value User)"
check "it has no limits that need the memory cgroup" test -z "$(sed -n '/^Memory\(Max\|High\|Low\|Min\|Limit\)/p' "$unit")"

check "it starts the program with the package's settings" \
    test "$(value ExecStart)" = "/usr/bin/adaps-agent --config /etc/adaps/agent.conf"
finish
