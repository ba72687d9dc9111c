#!/bin/sh
# bench/networks: files that adaps imports, the same each time.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy onnx

# shellcheck disable=SC2317
networks() {
    "$python" "$src/bench/networks" "$@"
}

status 2 "an unknown option" networks --nobody
status 2 "an unknown network" networks espcn nobody
says err "no network 'nobody'" "which is named"
check "nothing is written" test ! -e espcn.onnx
: >file
status 3 "a folder that is a file" networks -o file espcn
status 0 "help" networks --help
says out "^  espcn  *1x1x224x224  *ESPCN" "with a table"
status 0 "the list" networks --list
cp out list
check "sixteen names, one a line" test "$(grep -cx '[a-z0-9]*' list)" = 16

# Convolutions, tanh and depth-to-space; attention; all else that detectors have.
status 0 "three small networks" networks -o some espcn textreader yolov8n
check "a file each" test "$(echo some/*)" = "some/espcn.onnx some/textreader.onnx some/yolov8n.onnx"
status 0 "ESPCN is imported" "$adaps" inspect some/espcn.onnx
says out " 1.14 G MACs" "with its multiply-accumulates"
status 0 "the text reader is imported" "$adaps" inspect some/textreader.onnx
status 0 "the detector is imported" "$adaps" inspect some/yolov8n.onnx
says out "  1x84x2100$" "with its output"
status 0 "two of them again" networks -o again espcn textreader
for network in espcn textreader; do
    check "$network: the same bytes" cmp some/$network.onnx again/$network.onnx
done
finish
