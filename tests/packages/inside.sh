#!/bin/sh
# The steps of install.sh, in the root: inside.sh STEP. What one step finds, the next one compares with.
set -eu
cd /packages

fail() {
    echo "FAIL $*" >&2
    exit 1
}

quietly() {
    "$@" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; fail "$*"; }
}

# Every file, but for those that packages' installation may change: lists of packages and users, logs, caches.
files() {
    find / -xdev \( -path /proc -o -path /sys -o -path /dev -o -path /tmp -o -path /packages -o -path /root -o \
        -path /run -o -path /var/lib/dpkg -o -path /var/lib/apt -o -path /var/cache/apt -o -path /var/log -o \
        -path /var/cache/debconf -o -path /var/cache/ldconfig \) -prune -o -print |
        grep -vE '^/etc/(passwd|shadow|group|gshadow)-?$|^/etc/(subuid|subgid)-?$|^/etc/ld.so.cache$|^/etc/.pwd.lock$' | sort
}

# The unit's command line, by its user, until the agent has said where it listens (in `said`).
start_agent() {
    line=$(sed -n 's/^ExecStart=//p' "$(dpkg -L adaps-agent | grep '/adaps-agent.service$')")
    rm -f /tmp/said
    mkfifo /tmp/said
    # shellcheck disable=SC2086
    setpriv --reuid adaps --regid adaps --clear-groups --no-new-privs --bounding-set=-all \
        env -i PATH=/usr/bin $line 2>/tmp/said &
    agent=$!
    exec 4</tmp/said
    read -r said <&4 || fail "the agent does not start: $line"
    echo "agent: $said"
}

stop_agent() {
    kill "$agent"
    wait "$agent" || fail "the agent ends with status $?"
    exec 4<&-
}

# The main job, with the agent of the package.
answer() {
    printf '[link]\nbandwidth = 1gbit\nlatency = 0.1ms\n[here]\nboard = x86\naddress = tcp://127.0.0.1:5570\n' >/tmp/one.conf
    [ $# = 0 ] || echo "key = $1" >>/tmp/one.conf
    models=/usr/share/adaps/models
    adaps plan -d /tmp/one.conf -o /tmp/net.plan "$models/denoise.onnx" >/tmp/log
    adaps push /tmp/net.plan >/tmp/log
    adaps run /tmp/net.plan "$models/samples/noisy.png" -o /tmp/clean.png >/tmp/log
    test -s /tmp/clean.png || fail "no picture"
    adaps verify /tmp/net.plan | tee /tmp/log
    grep -q '^0 of ' /tmp/log || fail "another answer than one device's"
}

install_step() {
    quietly apt-get update
    # What the packages need comes first: it stays.
    needs=$(for package in ./*.deb; do dpkg-deb -f "$package" Depends; done | tr ',' '\n' |
        sed 's/^ *//; s/ .*//' | grep -v adaps | sort -u)
    # shellcheck disable=SC2086
    quietly apt-get install -y --no-install-recommends $needs
    files >/root/before
    quietly apt-get install -y --no-install-recommends ./*.deb
    [ "$(dpkg-query -W -f '${Package}\n' '*adaps*' | wc -l)" = 4 ] || fail "there should be 4 packages"
    [ "$(stat -c %U:%G /etc/adaps)" = root:adaps ] || fail "/etc/adaps: $(stat -c %U:%G /etc/adaps)"
    [ "$(stat -c %U:%a /var/cache/adaps)" = adaps:700 ] || fail "/var/cache/adaps: $(stat -c %U:%a /var/cache/adaps)"
    ldconfig -p | grep -q 'libadaps.so.0' || fail "the library is not found"
    [ "$(adaps --version | cut -d ' ' -f 2)" = "$(dpkg-query -W -f '${Version}' adaps)" ] || fail "two versions"
    dpkg-query -W -f '${Package} ${Version} ${Installed-Size} KiB\n' '*adaps*'
}

use_step() {
    start_agent
    case $said in
        *"listening on tcp://127.0.0.1:5570: for this machine only, since /etc/adaps/key and /etc/adaps/allow are missing"*) ;;
        *) fail "without keys it says: $said" ;;
    esac
    answer
    [ -n "$(ls /var/cache/adaps)" ] || fail "nothing is cached"
    stop_agent
    runuser -u adaps -- adaps keygen -o /etc/adaps/key >/root/agent.public
    [ "$(stat -c %U:%a /etc/adaps/key)" = adaps:600 ] || fail "the key: $(stat -c %U:%a /etc/adaps/key)"
    adaps keygen >/etc/adaps/allow
    echo '; edited' >>/etc/adaps/agent.conf
}

upgrade_step() {
    quietly apt-get install -y --reinstall --no-install-recommends ./*.deb
    grep -q '^; edited$' /etc/adaps/agent.conf || fail "the settings are lost"
    [ "$(stat -c %U:%a /etc/adaps/key)" = adaps:600 ] || fail "the key: $(stat -c %U:%a /etc/adaps/key)"
}

use_again_step() {
    start_agent
    case $said in
        *"listening on tcp://0.0.0.0:5570") ;;
        *) fail "with keys it says: $said" ;;
    esac
    answer "$(cat /root/agent.public)"
    stop_agent
}

remove_step() {
    quietly apt-get remove -y adaps adaps-agent libadaps0 libadaps-dev
    [ -f /etc/adaps/key ] || fail "removal takes the key away"
    [ -f /etc/adaps/agent.conf ] || fail "removal takes the settings away"
    [ ! -e /usr/bin/adaps-agent ] || fail "removal leaves the program"
    quietly dpkg --purge adaps adaps-agent libadaps0 libadaps-dev
    files >/root/after
    diff /root/before /root/after || fail "something is left, or gone"
    [ -z "$(dpkg-query -W -f '${Package} ' '*adaps*' 2>/dev/null)" ] || fail "packages are left"
}

"$1_step"
