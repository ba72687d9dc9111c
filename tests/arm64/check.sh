#!/bin/sh
# The tests on emulated ARM boards: adaps is built for arm64 against the packages of Debian 12 and 13 and
# run by qemu as on Cortex-A53 (Raspberry Pi 3), Cortex-A72 (4) and Cortex-A76 (5). XNNPACK chooses its
# kernels by /proc/cpuinfo, so each sysroot has one of these processors in it.
#
#   tests/arm64/check.sh SOURCE [STAGE...]        SOURCE: a folder that no configure has run in
#
# Each STAGE is RELEASE:CPU:TESTS: bookworm or trixie; cortex-a53, cortex-a72, cortex-a76 (arm64) or
# cortex-a7 (armhf); and TESTS one of
#   kernels   the kernels and encodings, and what the agent tells of its kernels (as in all stages)
#   plans     plans are the same bytes as on this machine
#   engine    kernels, the engine, weights, import and plan files, the fuzzers' corpus, plans, and the mixed cluster
#   cluster   the mixed cluster: one agent of this machine and one emulated agent answer the digits and
#             the denoiser, SqueezeNet and MobileNetV2; the same bits of quantised ones
#   all       all Check programs, plans and the mixed cluster
# Default: trixie:cortex-a76:engine, trixie:cortex-a53:cluster and bookworm:cortex-a72:kernels, which take five minutes
# on two cores; with FULL=1 all tests of both releases on A72 and A76, more than half an hour each, and the kernels on
# A53 and as armhf.
#
# $SYSROOTS: where sysroots are kept (~/.cache/adaps-sysroots), $ADAPS and $ZOO: programs of this machine
# (./adaps, models/zoo), $JOBS: how many tests run at a time (cores). Builds are in check-arm64/. Exit
# status: 0 all passed, 1 some failed, 2 usage, 77 a program that is needed is not installed (with NO_SKIP
# in the environment 99).
set -u

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/arm64/cross.sh
. "$here/cross.sh"
kernels="exec/test_choice exec/test_conv exec/test_encode exec/test_functions exec/test_kernels exec/test_product
    exec/test_q8_conv exec/test_q8_depthwise exec/test_q8_rows exec/test_softmax exec/test_winograd"
engine="exec/test_engine test_fuzz_replay plan/test_plan $kernels import/test_weights import/test_import
    import/test_import_errors import/test_import_forms" # longest first
slowest="search/test_exact search/test_objectives" # 30 and 10 minutes
all="$slowest $(cd "$here/.." && find . -name 'test_*.c' | sed 's/^..//; s/\.c$//' | sort |
    grep -v -x -F "$(echo "$slowest" | tr ' ' '\n')")"
nets="digits denoise squeezenet mobilenetv2"
quantised="digits squeezenet mobilenetv2"
bound=1e-5 # docs/numerics.md

if [ $# -lt 1 ] || [ ! -f "$1/configure.ac" ]; then
    echo "usage: $0 SOURCE [STAGE...]" >&2
    exit 2
fi
source=$(cd "$1" && pwd)
shift
if [ $# -eq 0 ]; then
    set -- trixie:cortex-a76:engine trixie:cortex-a53:cluster bookworm:cortex-a72:kernels
    [ -z "${FULL-}" ] ||
        set -- bookworm:cortex-a72:all bookworm:cortex-a76:all trixie:cortex-a72:all \
            trixie:cortex-a76:all bookworm:cortex-a53:kernels trixie:cortex-a53:kernels \
            bookworm:cortex-a7:kernels trixie:cortex-a7:kernels
fi
adaps=$(realpath "${ADAPS:-./adaps}")
zoo=$(realpath "${ZOO:-models/zoo}")
sysroots=${SYSROOTS:-${XDG_CACHE_HOME:-$HOME/.cache}/adaps-sysroots}
jobs=${JOBS:-$(nproc)}
folder=$PWD/check-arm64
mkdir -p "$folder" "$sysroots"
sysroots=$(cd "$sysroots" && pwd)

# What the tests need to know: time and memory of an emulated process are its emulator's as well.
EMULATED=1
CK_TIMEOUT_MULTIPLIER=10
export EMULATED CK_TIMEOUT_MULTIPLIER

agents=
trap 'for pid in $agents; do kill "$pid"; done 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
failed=0

fail() {
    echo "FAIL $*"
    failed=$((failed + 1))
}

need() {
    command -v "$1" >/dev/null && return
    echo "SKIP no $1 (./bootstrap arm64 installs it)"
    [ -z "${NO_SKIP-}" ] || exit 99
    exit 77
}

# Sets what follows from a processor.
choose() {
    cpu=$1
    case $cpu in
        cortex-a7) architecture=armhf triplet=arm-linux-gnueabihf qemu=qemu-arm ;;
        cortex-a53 | cortex-a72 | cortex-a76) architecture=arm64 triplet=aarch64-linux-gnu qemu=qemu-aarch64 ;;
        *)
            echo "$0: unknown processor '$cpu'" >&2
            exit 2
            ;;
    esac
    root=$sysroots/$release-$architecture
    build=$folder/$release-$architecture
}

# The processor that programs find in the sysroot.
write_cpuinfo() {
    mkdir -p "$root/proc"
    sh "$here/cpuinfo.sh" "$cpu" >"$root/proc/cpuinfo"
}

# These Check programs, and the commands that the stage needs, for the sysroot's processor.
build() {
    mkdir -p "$build"
    cd "$build" || exit 2
    if [ ! -f Makefile ]; then
        (cross_environment "$root" "$triplet" &&
            "$source/configure" --host="$triplet" --enable-werror CFLAGS='-O2') >configure.log 2>&1 || return
    fi
    # shellcheck disable=SC2046,SC2086
    make -j"$jobs" $commands $([ $# -eq 0 ] || printf 'tests/%s ' "$@") >make.log 2>&1 || return
    printf '#!/bin/sh\nexec %s "$@"\n' "$emulator $build/adaps" >emulated-adaps
    chmod +x emulated-adaps
    cd - >/dev/null || exit 2
}

# What the agent tells of its kernels fits the core (adaps-agent --cpu-info).
check_processor() {
    core=Cortex-A${cpu#cortex-a}
    instructions='NEON, NEON FMA'
    [ "$cpu" != cortex-a76 ] || instructions="$instructions, NEON dot product"
    case $cpu in
        cortex-a72 | cortex-a76) convolution='adaps  *NEON FMA  *4$' ;;
        *) convolution="XNNPACK 20[0-9]*  *NEON ($core)  *-\$" ;;
    esac
    # shellcheck disable=SC2086
    if $emulator "$build/adaps-agent" --cpu-info >"$build/cpu-info" 2>&1 &&
        grep -q "^Processor: *$core (part 0x[0-9a-f]*)\$" "$build/cpu-info" &&
        grep -q "^Instructions: *$instructions\$" "$build/cpu-info" &&
        grep -q "^XNNPACK: .*, kernels for NEON ($core): " "$build/cpu-info" &&
        grep -q "^convolution  *$convolution" "$build/cpu-info"; then
        echo "ok $what: its kernels are for $core"
    else
        fail "$what: --cpu-info tells of another processor"
        sed 's/^/    /' "$build/cpu-info"
    fi
}

# Runs Check programs in the build's folder.
run_programs() {
    cd "$build" || exit 2
    onnx=$root/usr/share/libonnx-testdata/data # else the emulator adds this machine's
    begin=$(date +%s)
    if make -j"$jobs" -k check-TESTS TESTS="$(printf 'tests/%s ' "$@")" LOG_COMPILER="timeout 7200 $emulator" \
        TESTS_ENVIRONMENT="ADAPS=$build/emulated-adaps ADAPS_ONNX_TESTDATA=$onnx" >check.log 2>&1; then
        echo "ok $what: $# programs pass, $(($(date +%s) - begin)) s"
    else
        fail "$what: Check programs, $(($(date +%s) - begin)) s"
        cat test-suite.log
    fi
    grep -E '^(SKIP|FAIL|ERROR): ' check.log
    cd - >/dev/null || exit 2
}

# start_agent PIPE COMMAND...: its endpoint in $endpoint.
start_agent() {
    pipe=$1
    shift
    rm -f "$pipe"
    mkfifo "$pipe"
    "$@" -l tcp://127.0.0.1:0 --threads 1 --cache "$pipe.cache" --ready-fd 3 3>"$pipe" \
        2>"$pipe.log" &
    agents="$agents $!"
    read -r endpoint <"$pipe" || fail "$what: no agent: $(cat "$pipe.log")"
}

# verify NET MODEL BOARD BOUND: both agents compute parts of it, the emulated one what a thread of BOARD would. They may
# differ by so much of the output's range: kinds of processors by what docs/numerics.md says, bytes by nothing.
verify() {
    begin=$(date +%s)
    cat >cluster.conf <<END
[link]
bandwidth = 1gbit
latency = 0.1ms
[here]
board = x86
address = $here_endpoint
threads = 1
source = yes
[emulated]
board = $3
address = $endpoint
threads = 1
END
    # shellcheck disable=SC2086
    "$adaps" plan -d cluster.conf ${5:---strategy edgeflow} -o net.plan "$2" >verify.log 2>&1 &&
        "$adaps" verify --json --deadline 300s net.plan >verify.json 2>>verify.log
    code=$?
    [ -f verify.json ] || : >verify.json
    differ=$(sed -n 's/.*"differ": *\([0-9]*\).*/\1/p' verify.json)
    error=$(sed -n 's/.*"error": *\([0-9.e+-]*\).*/\1/p' verify.json)
    if [ "$(awk -v e="${error:-1}" -v b="$4" 'BEGIN { print e <= b }')" = 1 ] && [ $code -le 1 ]; then
        echo "ok $what, $1: $differ elements differ, by $error of the range, $(($(date +%s) - begin)) s"
    else
        fail "$what, $1: exit $code"
        sed 's/^/    /' verify.log verify.json
    fi
    rm -f net.plan verify.json
}

# plan NAME OPTION...: the emulated adaps and this machine's write the same file.
plan() {
    name=$1
    shift
    if ! { "$adaps" plan -o here.plan "$@" >here.log 2>&1 &&
        ../emulated-adaps plan -o emulated.plan "$@" >emulated.log 2>&1 && cmp here.plan emulated.plan; }; then
        fail "$what, plan of $name"
        sed 's/^/    /' here.log emulated.log
    fi
    rm -f here.plan emulated.plan
}

# What a search decides must not hang on the last bits that a processor or its libraries compute.
compare_plans() {
    mkdir -p "$build/plans"
    cd "$build/plans" || exit 2
    before=$failed begin=$(date +%s)
    for net in alexnet squeezenet mobilenetv2; do
        "$zoo" "$net" -o $net.onnx 2>zoo.log || fail "$what: $zoo $net"
        strategies='auto adaps' # of one network all those whose searches differ, emulation is slow
        [ "$net" != squeezenet ] || strategies='auto edgeflow adaps bbgrap deepthings'
        for strategy in $strategies; do
            plan "$net, $strategy" -d "$source/devices/pi5x2-pi4x2.conf" --strategy $strategy $net.onnx
        done
        plan "$net, two devices" -d "$source/devices/pi5-pi4.conf" --bw 1gbit $net.onnx
    done
    plan "squeezenet, lossy" -d "$source/devices/pi5-pi4.conf" --lossy --bw 20mbit squeezenet.onnx
    plan "squeezenet, memory" -d "$source/devices/pi5-pi4.conf" --objective memory squeezenet.onnx
    plan "mobilenetv2, traffic" -d "$source/devices/pi5-pi4.conf" --objective traffic --seed 3 mobilenetv2.onnx
    [ "$failed" -gt "$before" ] || echo "ok $what: plans are the same bytes, $(($(date +%s) - begin)) s"
    cd - >/dev/null || exit 2
    rm -rf "$build/plans"
}

run_cluster() {
    mkdir -p "$build/cluster"
    cd "$build/cluster" || exit 2
    ln -sfn "$source/devices/boards" boards # adaps may be in a build folder of its own
    start_agent here "$adaps" agent
    here_endpoint=$endpoint
    # shellcheck disable=SC2086
    start_agent emulated $emulator "$build/adaps-agent"
    for net in $nets; do
        model=$source/models/$net.onnx
        if [ ! -f "$model" ]; then
            model=$net.onnx
            "$zoo" "$net" -o "$model" 2>zoo.log || fail "$what: $zoo $net"
        fi
        case $net in
            denoise) verify "$net" "$model" pi5 $bound ;; # it is large: a sixth of it, not half
            *) verify "$net" "$model" x86 $bound ;;
        esac
    done
    for net in $quantised; do
        model=$source/models/$net.onnx
        [ -f "$model" ] || model=$net.onnx
        "$adaps" quantize --random -o bytes.onnx "$model" >quantize.log 2>&1 || fail "$what: $(cat quantize.log)"
        verify "$net of bytes" bytes.onnx x86 0
        "$adaps" inspect --json bytes.onnx | python3 "$here/sums.py" here emulated >sums.json
        verify "$net of bytes, partial sums" bytes.onnx x86 0 '--layout sums.json'
    done
    for pid in $agents; do
        kill "$pid"
        wait "$pid" || fail "$what: an agent ended with $?: $(cat here.log emulated.log)"
    done
    agents=
    cd - >/dev/null || exit 2
    rm -rf "$build/cluster"
}

# shellcheck disable=SC2086
for stage in "$@"; do
    release=${stage%%:*}
    case ${stage##*:} in
        kernels) programs=$kernels commands=adaps-agent cluster=false plans=false ;;
        plans) programs='' commands='adaps adaps-agent' cluster=false plans=true ;;
        engine) programs=$engine commands='adaps adaps-agent' cluster=true plans=true ;;
        cluster) programs='' commands=adaps-agent cluster=true plans=false ;;
        all) programs=$all commands='adaps adaps-agent' cluster=true plans=true ;;
        *)
            echo "$0: unknown tests in '$stage'" >&2
            exit 2
            ;;
    esac
    cpu=${stage#*:}
    choose "${cpu%:*}"
    what="$release $cpu"
    emulator="$qemu -L $root -cpu $cpu"
    need "$triplet-gcc"
    need "$qemu"
    begin=$(date +%s)
    if ! sh "$here/sysroot.sh" "$release" "$architecture" "$root"; then
        fail "$what: no sysroot"
    elif ! { write_cpuinfo && build $programs; }; then
        fail "$what: does not build"
        tail -n 20 "$build/configure.log" "$build/make.log" 2>/dev/null
    else
        echo "ok $what: built, $(($(date +%s) - begin)) s"
        check_processor
        [ -z "$programs" ] || run_programs $programs
        ! $plans || compare_plans
        ! $cluster || run_cluster
    fi
done
echo "$failed failed"
[ "$failed" -eq 0 ]
