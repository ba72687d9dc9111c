#!/bin/sh
# Compares adaps with PyTorch: torchvision's networks and some of the zoo's as torch.onnx.export writes
# them, the zoo's networks with their weights put into PyTorch modules, and the two trained networks
# on the sample pictures; and small networks that PyTorch quantised to bytes. Networks of less than 8 MB
# are run by two and by three local agents as well, all of which compute: with the same bits.
#
#   tests/interop/interop.sh BUILD_DIR [--quick | --every | CASE...]
#
# BUILD_DIR holds adaps and models/zoo; CASEs are those of torchvision_export.py --list, denoise,
# digit-3, digit-7, zoo-NAME for each NAME of zoo --list, detect-NAME for each NAME of detect_check.py --list,
# int8-NAME for each NAME of quantised_nets.py --list, and split-NAME (the files that adaps split makes of
# it); --quick: small networks, in less than five minutes; --every: the rest of torchvision's classification
# and segmentation networks, for half an hour. Prints a line for each case and, last, "N passed, N failed". Exit status: 0 all passed, 1 some
# failed, 2 usage, 77 a Python module that is needed is not installed.
# $PYTHON: the interpreter (/usr/bin/python3). Needs about 1.2 GB under $TMPDIR for VGG's file and
# plan; every case's files are deleted before the next one starts.
set -u

here=$(cd "$(dirname "$0")" && pwd)
models=$here/../../models
golden=$here/../golden
python=${PYTHON:-/usr/bin/python3}

if [ $# -lt 1 ]; then
    echo "usage: $0 BUILD_DIR [--quick | --every | CASE...]" >&2
    exit 2
fi
for program in adaps models/zoo; do
    if [ ! -x "$1/$program" ]; then
        echo "interop: no program $1/$program: build it first" >&2
        exit 2
    fi
done
build=$(cd "$1" && pwd)
adaps=$build/adaps
zoo=$build/models/zoo
shift
# Only these packages: a module that fails to import for another reason shows its own message.
for module in numpy torch torchvision onnx PIL; do
    if ! "$python" -c "import importlib.util as u, sys; sys.exit(not u.find_spec('$module'))"; then
        echo "interop: $python has no module $module: install python3-torch," \
            "python3-torchvision, python3-onnx, python3-numpy and python3-pil" >&2
        exit 77
    fi
done

PYTHONDONTWRITEBYTECODE=1
export PYTHONDONTWRITEBYTECODE
work=$(mktemp -d "${TMPDIR:-/tmp}/adaps-interop.XXXXXX") || exit 2
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

# step NAME COMMAND...: runs it silently; on failure prints which step failed and what it said.
step() {
    name=$1
    shift
    if "$@" >"$work/log" 2>&1; then
        return 0
    else
        code=$?
    fi
    echo "FAIL $name: exit $code from: $*"
    sed 's/^/    /' "$work/log"
    return 1
}

# check NAME MODEL INPUT EXPECTED: the model's answer to the input against the expected one.
check() {
    step "$1" "$adaps" plan -d "$here/../../devices/local2.conf" --strategy single -o "$work/m.plan" "$2" &&
        step "$1" "$adaps" run --local "$work/m.plan" "$3" -o "$work/out.npy" &&
        "$python" "$here/compare.py" "$1" "$work/out.npy" "$4"
}

# divided NAME MODEL INPUT: on agents, each of which has bands of the layers.
divided() {
    [ "$(wc -c <"$2")" -lt 8000000 ] || return 0
    for count in 2 3; do
        # shellcheck disable=SC2016
        step "$1" "$adaps" local "$count" -o "$work/d.conf" -- sh -euc '
            "$1" plan -d "$2/d.conf" --strategy edgeflow -o "$2/d.plan" "$3" >"$2/plan.txt"
            "$1" verify --deadline 60s "$2/d.plan" "$4"' sh "$adaps" "$work" "$2" "$3" || return 1
    done
}

# divide NAME NET: the files of adaps split of a network of the zoo, in PyTorch, against the whole in adaps.
divide() {
    step "$1" "$zoo" "$2" -o "$work/m.onnx" &&
        step "$1" "$python" -c '
import sys, numpy, onnx
dims = onnx.load(sys.argv[1]).graph.input[0].type.tensor_type.shape.dim
x = numpy.random.default_rng(1).standard_normal([d.dim_value for d in dims])
numpy.save(sys.argv[2], x.astype(numpy.float32))' "$work/m.onnx" "$work/in.npy" || return 1
    for how in chain all some; do
        rm -rf "$work/parts"
        "$python" "$here/../support/deal_layers.py" "$work/m.onnx" "$how" a_arm0 b_arm01 c_cpu0 >"$work/map.json" &&
            step "$1" "$adaps" split --mapping "$work/map.json" -o "$work/parts" "$work/m.onnx" &&
            step "$1" "$python" "$here/split_check.py" "$work/m.onnx" "$work/parts" "$work/in.npy" \
                "$work/expected.npy" &&
            check "$1 ($how)" "$work/m.onnx" "$work/in.npy" "$work/expected.npy" || return 1
    done
}

# detect NAME DETECTOR: the boxes of adaps detect against those of a decoder in numpy.
detect() {
    step "$1" "$python" "$here/detect_check.py" make "$2" "$work" &&
        step "$1" "$adaps" plan -d "$here/../../devices/local2.conf" --strategy single -o "$work/m.plan" "$work/m.onnx" &&
        step "$1" "$adaps" run --local "$work/m.plan" "$work/in.npy" -o "$work/out.npy" &&
        step "$1" sh -euc 'cd "$2"; "$1" detect --json $(cat options) m.onnx picture.png >found.json' sh "$adaps" "$work" || return 1
    "$python" "$here/detect_check.py" compare "$2" "$work"
}

# quantised NAME NET: bytes, against the file's operators one by one and PyTorch's kernels; divided as well.
quantised() {
    step "$1" "$python" "$here/quantised_nets.py" make "$2" "$work" &&
        step "$1" "$adaps" plan -d "$here/../../devices/local2.conf" --strategy single -o "$work/m.plan" "$work/m.onnx" &&
        step "$1" "$adaps" run --local "$work/m.plan" "$work/in.npy" -o "$work/out.npy" &&
        "$python" "$here/quantised_nets.py" compare "$2" "$work" && divided "$1" "$work/m.onnx" "$work/in.npy"
}

run_case() {
    case $1 in
    denoise)
        check "$1" "$models/denoise.onnx" "$models/samples/noisy.png" "$golden/denoise_out.npy" ;;
    digit-3 | digit-7)
        check "$1" "$models/digits.onnx" "$models/samples/$1.png" "$golden/$1_out.npy" ;;
    zoo-*)
        step "$1" "$zoo" "${1#zoo-}" -o "$work/m.onnx" &&
            step "$1" "$python" "$here/zoo_check.py" "${1#zoo-}" "$work/m.onnx" "$work" &&
            check "$1" "$work/m.onnx" "$work/in.npy" "$work/expected.npy" ;;
    detect-*)
        detect "$1" "${1#detect-}" ;;
    int8-*)
        quantised "$1" "${1#int8-}" ;;
    split-*)
        divide "$1" "${1#split-}" ;;
    *)
        step "$1" "$python" "$here/torchvision_export.py" "$1" "$work" &&
            check "$1" "$work/m.onnx" "$work/in.npy" "$work/expected.npy" &&
            divided "$1" "$work/m.onnx" "$work/in.npy" ;;
    esac
}

detectors=$("$python" "$here/detect_check.py" --list | sed 's/^/detect-/') || exit 2
quantised=$("$python" "$here/quantised_nets.py" --list | sed 's/^/int8-/') || exit 2
if [ "${1-}" = --quick ]; then
    exports=$("$python" "$here/torchvision_export.py" --list --quick) || exit 2
    # shellcheck disable=SC2086
    set -- denoise digit-3 digit-7 zoo-hardcorenas split-lenet5 split-squeezenet $quantised $detectors $exports
elif [ "${1-}" = --every ]; then
    exports=$("$python" "$here/torchvision_export.py" --list --every) || exit 2
    # shellcheck disable=SC2086
    set -- $exports
elif [ $# -eq 0 ]; then
    exports=$("$python" "$here/torchvision_export.py" --list) || exit 2
    nets=$("$zoo" --list | sed 's/^/zoo-/') || exit 2
    # shellcheck disable=SC2086
    set -- denoise digit-3 digit-7 $nets split-lenet5 split-squeezenet split-hardcorenas $quantised $detectors $exports
fi
passed=0 failed=0
for name in "$@"; do
    if run_case "$name"; then
        passed=$((passed + 1))
    else
        failed=$((failed + 1))
    fi
    rm -rf "${work:?}"/*
done
echo "$passed passed, $failed failed"
[ "$failed" -eq 0 ]
