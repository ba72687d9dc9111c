#!/bin/sh
# The steps of install.sh, in the root: inside.sh STEP ARCHITECTURE [EMULATOR...]. The packages' programs are run by
# the emulator. What one step finds, the next one compares with.
set -eu
cd /packages
step=$1
architecture=$2
shift 2
emulator=$*
# The board that is emulated.
[ "$architecture" != arm64 ] || [ ! -f cpuinfo ] || mount --bind cpuinfo /proc/cpuinfo
# dpkg tells the packages of another processor apart by it.
packages="adaps:$architecture adaps-agent:$architecture libadaps0:$architecture libadaps-dev:$architecture"
# The Python package is of no processor: it wants the library of this machine's.
if [ "$architecture" = "$(dpkg --print-architecture)" ]; then
    packages="$packages python3-adaps"
else
    rm -f python3-adaps_*.deb
fi

fail() {
    echo "FAIL $*" >&2
    exit 1
}

quietly() {
    "$@" >/tmp/log 2>&1 || { tail -n 20 /tmp/log; fail "$*"; }
}

# The lists of packages. A mirror that cannot be reached for a moment is asked again; apt-get alone would end with
# success and the lists of before, which do not have another processor's packages.
update() {
    for pause in 5 20 60 0; do
        ! apt-get update -o APT::Update::Error-Mode=any -o Acquire::Retries=3 >/tmp/log 2>&1 || return 0
        sleep $pause
    done
    tail -n 20 /tmp/log
    fail "the lists of packages cannot be had"
}

adaps() {
    $emulator /usr/bin/adaps "$@"
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
    line=$(sed -n 's/^ExecStart=//p' /usr/lib/systemd/system/adaps-agent.service)
    rm -f /tmp/said
    mkfifo /tmp/said
    # shellcheck disable=SC2086
    setpriv --reuid adaps --regid adaps --clear-groups --no-new-privs --bounding-set=-all \
        env -i PATH=/usr/bin $emulator $line 2>/tmp/said &
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

# The main job, with the agent of the package: emulated, that of the smaller net.
answer() {
    printf '[link]\nbandwidth = 1gbit\nlatency = 0.1ms\n[here]\nboard = x86\naddress = tcp://127.0.0.1:5570\n' >/tmp/one.conf
    [ $# = 0 ] || echo "key = $1" >>/tmp/one.conf
    models=/usr/share/adaps/models
    if [ -n "$emulator" ]; then
        net=digits picture=digit-3.png result=answer.npy
    else
        net=denoise picture=noisy.png result=clean.png
    fi
    rm -f "/tmp/$result"
    quietly adaps plan -d /tmp/one.conf -o /tmp/net.plan "$models/$net.onnx"
    quietly adaps push /tmp/net.plan
    quietly adaps run /tmp/net.plan "$models/samples/$picture" -o "/tmp/$result"
    test -s "/tmp/$result" || fail "no $result"
    quietly adaps verify /tmp/net.plan
    [ -n "$emulator" ] || answer_in_python
    same=$(grep '^0 of ' /tmp/log) || fail "another answer than one device's: $(cat /tmp/log)"
    echo "$net${emulator:+ by $emulator}: $same"
}

# The same by Python, as it stands after installation, in this process.
answer_in_python() {
    python3 - /tmp/net.plan >/tmp/said.python 2>&1 <<'E2' || fail "python: $(cat /tmp/said.python)"
import sys
import numpy as np
import adaps
with adaps.Session(sys.argv[1]) as session, adaps.Session(sys.argv[1], local=True) as here:
    x = np.zeros(session.inputs[0].shape, np.float32)
    assert np.array_equal(session.run(x), here.run(x))
    print("python", adaps.__version__, session.outputs[0].shape)
E2
    cat /tmp/said.python
}

# What installation does: the user, the folders, and a service that is started with the machine.
look() {
    # shellcheck disable=SC2086
    [ "$(dpkg-query -W -f '${Package}\n' '*adaps*' | wc -l)" = "$(echo $packages | wc -w)" ] || fail "not all packages are there"
    [ "$(stat -c %U:%G:%a /etc/adaps)" = root:adaps:775 ] || fail "/etc/adaps: $(stat -c %U:%G:%a /etc/adaps)"
    [ "$(stat -c %U:%G:%a /var/cache/adaps)" = adaps:adaps:700 ] ||
        fail "/var/cache/adaps: $(stat -c %U:%G:%a /var/cache/adaps)"
    [ "$(getent passwd adaps | cut -d : -f 5-)" = "adaps agent:/var/cache/adaps:/usr/sbin/nologin" ] ||
        fail "the user: $(getent passwd adaps)"
    [ "$(id -u adaps)" -lt 1000 ] || fail "the user is no system user"
    [ -L /etc/systemd/system/multi-user.target.wants/adaps-agent.service ] || fail "the service is not enabled"
    for file in bash-completion/completions/adaps zsh/vendor-completions/_adaps fish/vendor_completions.d/adaps.fish; do
        [ -f "/usr/share/$file" ] || fail "there is no /usr/share/$file"
    done
}

# With what comes first: what the packages need, which stays.
install_step() {
    [ "$architecture" = "$(dpkg --print-architecture)" ] || dpkg --add-architecture "$architecture"
    update
    quietly apt-get install -s --no-install-recommends ./*.deb
    needs=$(sed -n 's/^Inst \([^ ]*\) .*/\1/p' /tmp/log | grep -v adaps) || fail "the packages need nothing?"
    # shellcheck disable=SC2086
    quietly apt-get install -y --no-install-recommends $needs qemu-user
    ! command -v systemd-sysusers >/dev/null || fail "systemd is in this root"
    files >/root/before
    quietly apt-get install -y --no-install-recommends ./*.deb
    look
    if [ -z "$emulator" ]; then
        ldconfig -p | grep -q 'libadaps.so.0' || fail "the library is not found"
    else
        said=$($emulator -E LD_PRELOAD=libadaps.so.0 /usr/bin/adaps --version 2>&1)
        case $said in *ERROR*) fail "the library is not found: $said" ;; esac
    fi
    for program in adaps adaps-agent; do
        [ "$($emulator /usr/bin/$program --version)" = "$program $(dpkg-query -W -f '${Version}' "$program:$architecture")" ] ||
            fail "$program has another version than its package"
    done
    dpkg-query -W -f '${Package}:${Architecture} ${Version} ${Installed-Size} KiB\n' '*adaps*'
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
    # shellcheck disable=SC2086
    runuser -u adaps -- $emulator /usr/bin/adaps keygen -o /etc/adaps/key >/root/agent.public
    [ "$(stat -c %U:%a /etc/adaps/key)" = adaps:600 ] || fail "the key: $(stat -c %U:%a /etc/adaps/key)"
    adaps keygen >/etc/adaps/allow
    echo '; edited' >>/etc/adaps/agent.conf
}

# Over themselves: settings and keys stay, and files that root made become the agent's.
upgrade_step() {
    quietly apt-get install -y --reinstall --no-install-recommends ./*.deb
    look
    grep -q '^; edited$' /etc/adaps/agent.conf || fail "the settings are lost"
    for file in key allow; do
        [ "$(stat -c %U:%G:%a /etc/adaps/$file)" = adaps:adaps:600 ] ||
            fail "/etc/adaps/$file: $(stat -c %U:%G:%a /etc/adaps/$file)"
    done
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
    # shellcheck disable=SC2086
    quietly apt-get remove -y $packages
    [ -f /etc/adaps/key ] || fail "removal takes the key away"
    [ -f /etc/adaps/agent.conf ] || fail "removal takes the settings away"
    [ ! -e /usr/bin/adaps-agent ] || fail "removal leaves the program"
    # shellcheck disable=SC2086
    quietly dpkg --purge $packages
    files >/root/after
    diff /root/before /root/after || fail "something is left, or gone"
    [ -z "$(dpkg-query -W -f '${Package} ' '*adaps*' 2>/dev/null)" ] || fail "packages are left"
}

# Once more in a root with systemd: it makes the user and the folders, knows all of the unit's settings, and finds that
# the service may do little.
systemd_step() {
    userdel adaps
    quietly apt-get install -y --no-install-recommends systemd
    files >/root/before
    quietly apt-get install -y --no-install-recommends ./*.deb
    look
    unit=/usr/lib/systemd/system/adaps-agent.service
    systemd-analyze verify --man=no $unit >/tmp/log 2>&1 || fail "systemd-analyze verify: $(cat /tmp/log)"
    ! grep adaps-agent /tmp/log || fail "systemd has something to say of the unit"
    systemd-analyze security --offline=true --threshold=20 --no-pager $unit >/tmp/log 2>&1 || { cat /tmp/log; fail "exposure"; }
    echo "systemd $(systemctl --version | sed -n '1s/systemd \([0-9]*\).*/\1/p'):" \
        "$(sed -n 's/^.*\(Overall exposure level.*[0-9]\).*/\1/p' /tmp/log)"
    touch /etc/adaps/key # as root
    quietly apt-get install -y --reinstall --no-install-recommends ./*.deb
    [ "$(stat -c %U:%G:%a /etc/adaps/key)" = adaps:adaps:600 ] || fail "the key: $(stat -c %U:%G:%a /etc/adaps/key)"
    remove_step
}

# The packages again, for boot.sh.
before_boot_step() {
    quietly apt-get install -y --no-install-recommends ./*.deb
}

# service PROPERTY
service() {
    systemctl show adaps-agent --property "$1" --value
}

# As a service of a systemd that runs, in its sandbox.
booted_step() {
    [ "$(service ActiveState)" = active ] || fail "the service: $(systemctl status --no-pager adaps-agent)"
    systemctl status --no-pager --full adaps-agent >/tmp/log
    grep '^ *Status: "listening on tcp://127.0.0.1:5570 without keys: for this machine only, since /etc/adaps/key and' /tmp/log ||
        fail "its status: $(cat /tmp/log)"
    pid=$(service MainPID)
    [ "$(stat -c %U "/proc/$pid")" = adaps ] || fail "the service is run by $(stat -c %U "/proc/$pid")"
    grep -q '^CapEff:[[:space:]]*0*$' "/proc/$pid/status" || fail "it has $(grep CapEff "/proc/$pid/status")"
    answer
    runuser -u adaps -- adaps keygen -o /etc/adaps/key >/root/agent.public
    adaps keygen -f >/etc/adaps/allow
    quietly systemctl restart adaps-agent
    [ "$(service StatusText)" = "listening on tcp://0.0.0.0:5570 with keys, for 1 controller" ] ||
        fail "its status with keys: $(service StatusText)"
    answer "$(cat /root/agent.public)"
    quietly apt-get install -y --reinstall --no-install-recommends ./*.deb
    [ "$(service ActiveState)" = active ] || fail "an upgrade leaves it $(service ActiveState)"
    [ "$(service MainPID)" != "$pid" ] || fail "an upgrade leaves the old program running"
    [ "$(service NRestarts)" = 0 ] || fail "it ended by itself, $(service NRestarts) times"
    # shellcheck disable=SC2086
    quietly dpkg --purge $packages
    [ "$(service ActiveState)" = inactive ] || fail "after its removal it is $(service ActiveState)"
    [ ! -e /etc/adaps ] || fail "/etc/adaps is left"
    [ ! -e /var/cache/adaps ] || fail "/var/cache/adaps is left"
}

"${step}_step"
