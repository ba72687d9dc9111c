#!/bin/sh
# A disk that does not take what is written: the push that waits for it fails, in time, and another controller's
# inferences on the same agents go on. Needs a file system of its own to freeze.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
PATH=$PATH:/usr/sbin:/sbin

if [ "${1-}" != inside ]; then
    for tool in fsfreeze mkfs.ext4; do
        command -v "$tool" >"$work/out" || skip "no $tool"
    done
    cd / || exit 99
    unshare -m true 2>"$work/err" || skip "no namespaces: $(cat "$work/err")"
    srcdir=$src ADAPS=$adaps NPYDIFF=$npydiff TMPDIR=$work unshare -m "$src/tests/cli/test_slow_disk.sh" inside
    exit $?
fi
truncate -s 64M disk.img
mkfs.ext4 -q -F disk.img 2>err || skip "no file system: $(cat err)"
mkdir disk
mount -o loop disk.img disk 2>err || {
    unset NO_SKIP # loop devices are the machine's affair, and no package brings them
    skip "no loop device: $(cat err)"
}
# Whatever happens, nothing stays frozen.
trap 'fsfreeze -u disk 2>thaw; [ -z "$local_pid" ] || kill "$local_pid"; wait; umount disk; cd /; rm -rf "$work"' EXIT

speed=0.05
! is_sanitized || speed=0.5
"$adaps" local 2 --speed $speed,$speed --threads 1 --cache disk/cache -o two.conf >local.out 2>&1 &
local_pid=$!
until [ -s two.conf ]; do sleep 0.05; done
status 0 "plan" "$adaps" plan -d two.conf --strategy edgeflow -o denoise.plan "$src/models/denoise.onnx"
status 0 "another plan" "$adaps" plan -d two.conf --strategy edgeflow -o digits.plan "$src/models/digits.onnx"
status 0 "push" "$adaps" push denoise.plan
noisy=$src/models/samples/noisy.png
set --
while [ $# -lt 60 ]; do set -- "$@" "$noisy"; done
mkdir answers
"$adaps" run --in-flight 1 denoise.plan "$@" -o 'answers/%d.npy' >run.out 2>run.err &
run=$!
until ls answers | grep -q .; do sleep 0.05; done
fsfreeze -f disk
begun=$(date +%s%N)
status 4 "a push that needs the disk" "$adaps" push --deadline 3s digits.plan
took=$((($(date +%s%N) - begun) / 1000000))
if [ "$took" -lt 6000 ]; then ok "in time"; else not_ok "it took $took ms"; fi
says err "no answer within the deadline" "what was missing is said"
status 0 "the agents can be asked" "$adaps" status -d two.conf
check "the run goes on" kill -0 "$run"
fsfreeze -u disk
wait "$run"
code=$?
if [ "$code" -eq 0 ]; then ok "the run ends well"; else not_ok "the run: exit $code: $(cat run.err)"; fi
status 0 "the push, with a disk that works" "$adaps" push digits.plan
finish
