#!/bin/sh
# adaps show --html: a page that holds together, loads nothing, says what --json says, is not taken in by names, and works in
# Chromium where that is installed.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python json

page=$src/tests/support/page.py
denoise=$src/models/denoise.onnx
cp -r "$src/devices/boards" boards

# devices FILE COUNT: so many slow devices on fast links.
devices() {
    printf '[link]\nbandwidth = 1gbit\nlatency = 0.1ms\n' >"$1"
    i=0
    while [ "$i" -lt "$2" ]; do
        printf '\n[node-%d]\nboard = pi4\nthreads = 3\n' "$i" >>"$1"
        i=$((i + 1))
    done
}
devices four.conf 4
devices nine.conf 9

# a_page NAME OPTIONS...: NAME.plan, NAME.html, and both kinds of JSON.
a_page() {
    name=$1
    shift
    status 0 "$name: plan" adaps plan -o "$name.plan" "$@"
    status 0 "$name: show --html" adaps show --html "$name.html" "$name.plan"
    adaps show --json "$name.plan" >"$name.json"
    adaps simulate --json "$name.plan" >"$name-simulated.json"
    check "$name: the text" "$python" "$page" text "$name.html"
    check "$name: the numbers" "$python" "$page" numbers "$name.html" "$name.json" "$name-simulated.json"
}
"$python" "$page" model hostile.onnx
a_page rows -d four.conf --evaluations 300 "$denoise"
"$build/models/zoo" mobilenetv2 -o mobilenetv2.onnx
a_page channels -d four.conf --dims c --evaluations 300 mobilenetv2.onnx
a_page stream -d four.conf --objective throughput --evaluations 300 "$denoise"
a_page pipeline -d four.conf --strategy pipeline --objective throughput "$denoise"
a_page hostile -d nine.conf --evaluations 200 hostile.onnx
says rows.html '<title>A \(rows\|columns\) ' "parts are rows or columns"
says channels.html '<title>.*A channels ' "parts are channels"
has stream.html "Steady state of the stream" "a stream's page shows its steady state"
check "the name of a node is not repeated at length" sh -c '! grep -qE "(long){90}" hostile.html'
for name in rows channels stream pipeline hostile; do
    check "$name: less than 300 kB" test "$(wc -c <"$name.html")" -lt 300000
done

# A large network on many devices.
if ! is_sanitized; then
    devices eight.conf 8
    "$build/models/zoo" yolov3 -o yolov3.onnx
    a_page large -d eight.conf --strategy deepslicing yolov3.onnx
    rm yolov3.onnx
    check "large: less than 3 MB" test "$(wc -c <large.html)" -lt 3000000
fi

# In a browser.
if command -v chromium >/dev/null && command -v chromedriver >/dev/null; then
    check "in Chromium" timeout 300 "$python" "$page" browser channels.html stream.html hostile.html
else
    echo "# no chromium or no chromedriver: the page was not opened (./bootstrap page installs them)"
fi
finish
