#!/bin/sh
# adaps pair and adaps unpair, with a real sshd on two boards, each a network namespace with an /etc and a home of its own,
# and two controllers. What namespaces have not, systemd and sudo, are small programs here.
# shellcheck source=tests/support/harness.sh
if [ -z "${ADAPS_PAIR_INSIDE-}" ]; then
    PATH=$PATH:/usr/sbin:/sbin
    ADAPS_PAIR_INSIDE=no
    unshare -nmpf --mount-proc sh -c "mount -t tmpfs none /run && mkdir /run/netns && ip netns add t" >/dev/null 2>&1 &&
        ADAPS_PAIR_INSIDE=yes
    export PATH ADAPS_PAIR_INSIDE
    [ $ADAPS_PAIR_INSIDE = no ] || exec unshare -nmpf --kill-child --mount-proc "$0"
fi
. "${srcdir:-.}/tests/support/harness.sh"
[ "$ADAPS_PAIR_INSIDE" = yes ] || skip "no namespaces of its own (root only)"
sshd=$(command -v sshd) || skip "sshd is not installed (Debian: openssh-server)"
command -v script >/dev/null || skip "no script (Debian: bsdutils)"
command -v ssh >/dev/null && command -v ssh-keygen >/dev/null || skip "ssh is not installed (Debian: openssh-client)"
unset DISPLAY SSH_ASKPASS SSH_AUTH_SOCK XDG_RUNTIME_DIR
chmod 755 "$work"
trap 'cd /; rm -rf "$work"' EXIT # processes end with this one, the first of its namespace
conf=$XDG_CONFIG_HOME/adaps/cluster.conf

# --- machines ---

mount -t tmpfs none /run
mkdir /run/netns /run/sshd
ip link set lo up
ip link add switch type bridge
ip addr add 10.77.0.1/24 dev switch
ip link set switch up

# new_etc NAME: an /etc of its own, with a user for the agent, root's home in $work/NAME, and everybody's address.
new_etc() {
    mkdir -p "$1/home/.ssh"
    chmod -R 700 "$1/home"
    cp -a /etc "$1/etc" 2>copied
    sed "s|^root:.*|root:x:0:0:root:$work/$1/home:/bin/sh|; /^adaps:/d" /etc/passwd >"$1/etc/passwd"
    echo "adaps:x:64123:64123::/nonexistent:/usr/sbin/nologin" >>"$1/etc/passwd"
    echo "pi:x:64124:64124::$work/$1/pi:/bin/sh" >>"$1/etc/passwd"
    sed "/^adaps:/d; /^sudo:/d" /etc/group >"$1/etc/group"
    printf 'adaps:x:64123:\npi:x:64124:\nsudo:x:27:pi\n' >>"$1/etc/group"
    mkdir -p "$1/pi/.ssh"
    chown -R 64124:64124 "$1/pi"
    perl -e 'print "pi:", crypt("open", "\$6\$salt\$"), ":20000:0:99999:7:::\n"' >>"$1/etc/shadow"
    printf '127.0.0.1 localhost\n10.77.0.2 board-a.local\n10.77.0.3 board-b.local\n' >"$1/etc/hosts"
    echo "hosts: files" >"$1/etc/nsswitch.conf"
    rm -rf "$1/etc/adaps" "$1/etc/profile.d"
}

# What boards have of systemd, for the one service that there is; what it did is in $work/NAME/did.
mkdir bin
cp "$build/adaps" "$build/adaps-agent" bin/
cat >bin/systemctl <<'E2'
#!/bin/sh
for verb in "$@"; do
    case $verb in is-enabled | enable | is-active | restart) break ;; esac
done
pid=$(cat /run/agent.pid 2>/dev/null)
case $verb in
    is-enabled) [ -e /run/enabled ] ;;
    enable)
        touch /run/enabled
        echo enable >>/run/did
        ;;
    is-active) [ -n "$pid" ] && kill -0 "$pid" ;;
    restart)
        [ -z "$pid" ] || kill "$pid"
        while [ -n "$pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.05; done
        rm -f /run/ready
        mkfifo -m 666 /run/ready
        setsid setpriv --reuid adaps --regid adaps --clear-groups \
            adaps-agent --config /etc/adaps/agent.conf --ready-fd 3 3>/run/ready >>/run/agent.log 2>&1 </dev/null &
        echo $! >/run/agent.pid
        read -r endpoint </run/ready
        echo restart >>/run/did
        [ -n "$endpoint" ]
        ;;
    *) exit 1 ;;
esac
E2
# sudo of whoever knows the word, or of all while /run/sudo-free is there.
cp "$(command -v setpriv)" bin/as
cat >bin/sudo <<'E2'
#!/bin/sh
if [ ! -e /run/sudo-free ]; then
    [ "$1" != -n ] || exit 1
    printf 'the word? ' >/dev/tty
    read -r word </dev/tty
    [ "$word" = please ] || exit 1
fi
[ "$1" != -n ] || shift
exec as --reuid 0 --regid 0 --clear-groups "$@"
E2
chmod 755 bin bin/*
chmod 4755 bin/as

# in_board NAME COMMAND...: there.
in_board() {
    there=$1
    shift
    nsenter --net="/run/netns/$there" --mount="/proc/$(cat "$there.pid")/ns/mnt" "$@"
}

# new_board NAME ADDRESS: one where the package was just installed.
new_board() {
    new_etc "$1"
    mkdir "$1/etc/adaps" "$1/run"
    cp "$src/data/agent.conf" "$1/etc/adaps/"
    chown 0:64123 "$1/etc/adaps"
    chmod 775 "$1/etc/adaps"
    ssh-keygen -q -t ed25519 -N '' -f "$1/etc/ssh/host"
    cat >"$1/etc/ssh/sshd_config" <<E2
HostKey /etc/ssh/host
UsePAM no
PermitRootLogin yes
AuthorizedKeysFile .ssh/authorized_keys
PidFile none
E2
    ip netns add "$1"
    ip link add name "to-$1" type veth peer name eth0 netns "$1"
    ip link set "to-$1" master switch up
    ip -n "$1" link set lo up
    ip -n "$1" addr add "$2/24" dev eth0
    ip -n "$1" link set eth0 up
    mkfifo "$1.up"
    ip netns exec "$1" unshare -m sh -c "
        mount --make-rprivate /
        mount --bind '$work/$1/etc' /etc
        mount --bind '$work/bin' /usr/local/bin
        mount -t tmpfs none /var/cache
        mkdir -m 700 /var/cache/adaps && chown adaps:adaps /var/cache/adaps
        mount --bind '$work/$1/run' /run
        mkdir -p /run/sshd /run/systemd/system
        echo \$\$ >'$work/$1.pid'
        echo >'$work/$1.up'
        exec '$sshd' -D -e" >"$1.log" 2>&1 &
    read -r _ <"$1.up"
}

# await COMMAND...: until it succeeds, at most a minute.
await() {
    late=$(($(date +%s) + 60))
    until "$@" >/dev/null 2>&1 || [ "$(date +%s)" -ge "$late" ]; do sleep 0.05; done
}

new_etc c1
new_etc c2
new_board a 10.77.0.2
new_board b 10.77.0.3
for controller in c1 c2; do
    ssh-keygen -q -t ed25519 -N '' -f "$controller/home/.ssh/id_ed25519"
    for board in a b; do
        cat "$controller/home/.ssh/id_ed25519.pub" >>"$board/home/.ssh/authorized_keys"
        cat "$controller/home/.ssh/id_ed25519.pub" >>"$board/pi/.ssh/authorized_keys"
    done
done
# sshd listens when it answers.
for address in 10.77.0.2 10.77.0.3; do
    await sh -c "ssh-keyscan -t ed25519 $address 2>/dev/null | grep -q ed25519"
done

# by CONTROLLER COMMAND...: as it would be typed there, without a terminal.
by() {
    controller=$1
    shift
    XDG_CONFIG_HOME=$work/$controller/config unshare -m setsid -w sh -c \
        'mount --bind "$0/etc" /etc; exec "$@"' "$work/$controller" "$@"
}
know() { # know CONTROLLER: it knows the boards' host keys
    for board in a b; do
        echo "board-$board.local $(cut -d ' ' -f 1,2 "$board/etc/ssh/host.pub")"
    done >"$1/home/.ssh/known_hosts"
}
conf=$work/c1/config/adaps/cluster.conf
did() { cat a/run/did b/run/did 2>/dev/null | sort | tr '\n' ' '; }
lines() { grep -c . "$1/etc/adaps/allow"; }

# --- the command line ---

status 2 "no board at all" by c1 adaps pair
says err "which boards" "is asked for"
status 2 "what is no board" by c1 adaps pair -- -oProxyCommand=x
says err "USER@.HOST.:PORT" "is said"
status 2 "unpair of nothing" by c1 adaps unpair
status 4 "a board whose host key is not known" by c1 adaps pair --no-measure root@board-a.local
says err "ssh does not know the host key of board-a.local: connect once with 'ssh root@board-a.local'" "is not trusted"
check "and nothing is written" test ! -e "$conf"
know c1
know c2

# --- two boards ---

status 0 "two fresh boards" by c1 adaps pair root@board-a.local root@board-b.local
says out "^board-a: tcp://board-a.local:5570, paired, measured$" "one is told"
says out "^board-b: tcp://board-b.local:5570, paired, measured$" "so is the other"
check "services were started, and will be" test "$(did)" = "enable enable restart restart "
check "the boards' keys are the agents' own" test "$(stat -c '%a %u' a/etc/adaps/key b/etc/adaps/key)" = "600 64123
600 64123"
check "each board knows the controller and the other board" test "$(lines a) $(lines b)" = "2 2"
for text in "^ssh *= root@board-a.local$" "^conv .*; measured" "^\[link board-a board-b\]" "^threads = .*"; do
    check "cluster.conf has $text" grep -q -- "$text" "$conf"
done
cp "$src/models/samples/noisy.png" 0.png
status 0 "a plan" by c1 adaps plan -d "$conf" --strategy deepthings -o net.plan "$src/models/denoise.onnx"
status 0 "it runs" by c1 adaps run net.plan 0.png
status 0 "and is compared" by c1 adaps verify net.plan 0.png
says out "0 .*differ" "the bits are the same"

# --- again ---

cp "$conf" before.conf
cp a/etc/adaps/allow before.allow
status 0 "pairing again" by c1 adaps pair board-a board-b.local
says out "^board-a: .*, as it was$" "changes nothing"
check "not cluster.conf" cmp before.conf "$conf"
check "not a board" cmp before.allow a/etc/adaps/allow
check "and starts nothing" test "$(did)" = "enable enable restart restart "

# What its owner writes stays; a key that is lost comes back.
sed -i 's/^\[board-a\]/; the one on the shelf\n&\nmemory = 1GiB ; enough/; s/^constant .*/constant = 9us ; by hand/' "$conf"
grep -v "$(sed -n '/^\[board-b\]/,/^ssh/s/^key *= //p' "$conf" | cut -c 1-12)" before.allow >a/etc/adaps/allow
chown 64123:64123 a/etc/adaps/allow
rm b/etc/adaps/key
cp "$conf" before.conf
status 0 "a board that lost its key" by c1 adaps pair --no-measure root@board-b.local
check "has another one" test "$(grep -c -e '^key ' "$conf")" = 2
check "nothing else changed" test "$(diff before.conf "$conf" | grep -c '^[<>]')" = 2
check "which the other board knows, and not the old one" test "$(lines a)" = 2
status 0 "both answer" by c1 adaps status -d "$conf"
status 0 "each other, too" by c1 adaps verify -d "$conf" net.plan 0.png
says out "0 .*differ" "with the same bits"

# Without a board, all of them are looked after.
grep -v -F "$(sed -n '/^\[board-b\]/,/^ssh/s/^key *= //p' "$conf")" a/etc/adaps/allow >without
check "a key is missing" test "$(grep -c . without)" = 1
cat without >a/etc/adaps/allow
status 0 "pairing without a board" by c1 adaps pair --no-measure
says out "^board-a: .*, paired$" "finds what is missing"
says out "^board-b: .*, as it was$" "and what is not"
check "and puts it back" test "$(lines a)" = 2

# A board that has another address, or is called otherwise, is known by its key.
cp "$conf" before.conf
echo "10.77.0.2 $(cut -d ' ' -f 1,2 a/etc/ssh/host.pub)" >>c1/home/.ssh/known_hosts
status 0 "a board under another address" by c1 adaps pair --no-measure root@10.77.0.2
says out "^board-a: tcp://10.77.0.2:5570, " "keeps its section"
check "with that address" test "$(grep -c '10.77.0.2' "$conf")" = 2
status 0 "and its name again" by c1 adaps pair --no-measure root@board-a.local
check "with the same section" cmp before.conf "$conf"
status 0 "once more" by c1 adaps pair --no-measure
check "its list has what it had" test "$(lines a)" = 2

# --- a second controller ---

# A password is asked for once, whatever is done there.
printf '#!/bin/sh\necho asked >>%s/asked\necho open\n' "$work" >ask
chmod 755 ask
mv c2/home/.ssh/id_ed25519 .
status 4 "a user whom sshd knows by a password" \
    by c2 env SSH_ASKPASS="$work/ask" SSH_ASKPASS_REQUIRE=force adaps pair --no-measure pi@board-b.local
says err "sudo wants a password there" "is let in"
touch b/run/sudo-free
status 0 "so it is with sudo" \
    by c2 env SSH_ASKPASS="$work/ask" SSH_ASKPASS_REQUIRE=force adaps pair --no-measure pi@board-b.local
check "each time it is asked once" test "$(grep -c . asked)" = 2
rm b/run/sudo-free
mv id_ed25519 c2/home/.ssh/

# Which comes as a user who may use sudo.
status 4 "sudo that asks, without a terminal" by c2 adaps pair --no-measure pi@board-b.local
says err "sudo wants a password there, and there is no terminal here" "is told"
echo nothing | by c2 script -qec "adaps pair --no-measure pi@board-b.local" /dev/null >out 2>err
says out "sudo did not let you; the agent becomes your own there" "a wrong word makes the agent one of the user's"
says out "^  adaps-agent --config $work/b/pi/.config/adaps/agent.conf" "which is started by hand"
echo please | by c2 script -qec "adaps pair --no-measure pi@board-b.local" /dev/null >out 2>err
says out "sudo may ask for the password of the user there" "on a terminal it asks"
says out "^board-b: tcp://board-b.local:5570, as it was" "and the board is paired as before"
check "nothing of that stays there" test -z "$(in_board b find /tmp -maxdepth 1 -user pi)"
touch a/run/sudo-free b/run/sudo-free
status 0 "a second controller" by c2 adaps pair --no-measure pi@board-a.local pi@board-b.local
status 0 "is answered" by c2 adaps status -d "$work/c2/config/adaps/cluster.conf"
status 0 "and its plan" by c2 adaps verify -d "$work/c2/config/adaps/cluster.conf" net.plan 0.png
status 0 "so is the first" by c1 adaps verify -d "$conf" net.plan 0.png

# --- out again ---

status 2 "a board that is not there" by c1 adaps unpair board-c
says err "'board-c' is not in $conf" "is named"
status 0 "a board is taken out" by c1 adaps unpair board-b
check "of cluster.conf" test "$(grep -c -e 'board-b' "$conf")" = 0
check "what is left is as it was" grep -q "^memory = 1GiB ; enough" "$conf"
sed 's/^constant.*//' before.conf >old.conf
status 4 "it refuses this controller" by c1 adaps status -d old.conf --deadline 2s
says err "board-b" "which is told"
status 0 "but not the other one" by c2 adaps verify -d "$work/c2/config/adaps/cluster.conf" net.plan 0.png

# --- a host key that changed ---

ssh-keygen -q -t ed25519 -N '' -f other
echo "board-a.local $(cut -d ' ' -f 1,2 other.pub)" >c1/home/.ssh/known_hosts
cp "$conf" before.conf
status 4 "a host key that changed" by c1 adaps pair --no-measure root@board-a.local
says err "ssh refuses board-a.local: its host key is not the one that it had before.*ssh-keygen -R board-a.local" "is told"
check "and nothing is done" cmp before.conf "$conf"
status 4 "unpairing it" by c1 adaps unpair board-a
says err "it stays in $conf until that is done, or --forget" "is not done"
check "it is still there" cmp before.conf "$conf"
status 0 "it can be forgotten" by c1 adaps unpair --forget board-a
check "then no cluster.conf is left" test ! -e "$conf"

# --- by hand ---

status 0 "what to type" by c1 adaps pair --manual
line=$(sed -n 's/^  sudo runuser -u adaps -- \(.*\) && sudo systemctl restart adaps-agent$/\1/p' out)
in_board b sh -c "setpriv --reuid adaps --regid adaps --clear-groups $line" >key
check "on the board tells its key" test "$(wc -c <key)" = 41
status 0 "and here" by c1 adaps pair --manual --no-measure "by-hand=tcp://board-b.local:5570=$(cat key)"
status 0 "it answers" by c1 adaps status -d "$conf"
status 2 "what is no key" by c1 adaps pair --manual "x=tcp://board-b.local:5570=key"
status 2 "what is no address" by c1 adaps pair --manual "x=board-b.local=$(cat key)"

# --- an agent of the user's own, without systemd ---

rm -rf a/run/systemd
know c1
in_board a sh -c 'kill $(cat /run/agent.pid)'
status 1 "a board where nothing starts the agent" by c1 adaps pair --user --no-measure root@board-a.local
says out "^  adaps-agent --config $work/a/home/.config/adaps/agent.conf$" "tells how it is started"
says out "^On by-hand, so that it lets the others in:$" "and what to type on the one that ssh does not reach"
has out "--admit '$(sed -n '/^\[board-a\]/,$s/^key *= //p' "$conf") for " "which is the new one's key"
rm -f ready
mkfifo ready
in_board a sh -c "HOME=$work/a/home exec $(sed -n 's/^  \(adaps-agent\)/\1/p' out) --ready-fd 3" 3>ready >own.log 2>&1 &
read -r endpoint <ready
status 0 "then it is paired" by c1 adaps pair --no-measure root@board-a.local --user
status 0 "and answers" by c1 adaps status -d "$conf"
finish
