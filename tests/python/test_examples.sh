#!/bin/sh
# The examples in Python: as they stand, with frames from a file, a stand-in for the camera's library, and a client.
# shellcheck source=tests/support/harness.sh
. "${srcdir:-.}/tests/support/harness.sh"
need_python numpy
if is_sanitized; then
    unset NO_SKIP # there is nothing to install
    skip "the library has a sanitizer, which Python has not"
fi
ADAPS_LIBRARY=$build/libadaps.so.0
PYTHONPATH=$src/python:$work
export ADAPS_LIBRARY PYTHONPATH
model=$src/models/digits.onnx

# As raw frames, a 3 and a 7.
"$python" - "$src/models/samples" >frames <<'END'
import sys, zlib

def levels(path):
    """Of a grey PNG of 8 bits without interlacing."""
    data = open(path, "rb").read()
    at, stream = 8, b""
    while at < len(data):
        size, kind = int.from_bytes(data[at:at + 4], "big"), data[at + 4:at + 8]
        body = data[at + 8:at + 8 + size]
        at += size + 12
        if kind == b"IHDR":
            width, height = int.from_bytes(body[:4], "big"), int.from_bytes(body[4:8], "big")
            assert body[8:13] == bytes([8, 0, 0, 0, 0]), body
        elif kind == b"IDAT":
            stream += body
    raw, before = zlib.decompress(stream), bytes(width)
    for row in range(height):
        line = raw[row * (width + 1):(row + 1) * (width + 1)]
        out = bytearray()
        for i, byte in enumerate(line[1:]):
            a, b, c = out[i - 1] if i else 0, before[i], before[i - 1] if i else 0
            p = min((abs(b - c), 0, a), (abs(a - c), 1, b), (abs(a + b - 2 * c), 2, c))[2]
            out.append((byte + (0, a, b, (a + b) // 2, p)[line[0]]) & 255)
        before = bytes(out)
        yield before

for digit in "37":
    for line in levels(f"{sys.argv[1]}/digit-{digit}.png"):
        sys.stdout.buffer.write(line)
END

# shellcheck disable=SC2016
status 0 "frames from a webcam" sh -c '"$1" "$2" "$3" <frames' sh "$python" "$src/examples/webcam.py" "$model"
says out "^0: class 3 (" "the first is a 3"
says out "^1: class 7 (" "the second is a 7"
says err "^[0-9.]* frames a second$" "and how many there were"
status 1 "no model" "$python" "$src/examples/webcam.py"
says err "^webcam.py MODEL" "is told how it is used"

# A camera with 5 pictures. Before there is another one comes Ctrl-C, or nothing more. At most 3 are in flight, so that two are
# answered by then.
cat >picamera2.py <<'END'
import os, signal
import numpy as np

class Picamera2:
    taken = 0

    def create_video_configuration(self, main):
        assert main["format"] == "BGR888"
        self.size = main["size"]
        return main

    def configure(self, configuration):
        print("camera", *configuration["size"])

    def start(self):
        print("camera starts")

    def stop(self):
        print("camera stops")

    def capture_array(self, name):
        assert name == "main"
        self.taken += 1
        if self.taken == 6 and os.environ.get("INTERRUPTED"):
            os.kill(os.getpid(), signal.SIGINT)
        width, height = self.size
        return np.full((height, width, 3), 40 * self.taken, np.uint8) if self.taken < 6 else None
END
check "a network for pictures in colour" "$build/models/zoo" -o squeezenet.onnx squeezenet
for interrupted in "" yes; do
    INTERRUPTED=$interrupted
    export INTERRUPTED
    status 0 "a camera of a Raspberry Pi${interrupted:+ until Ctrl-C}" "$python" "$src/examples/picamera.py" squeezenet.onnx
    says out "^camera 2[0-9]* 2[0-9]*$" "it takes pictures of the network's size"
    says out "^1: class [0-9]* (" "there are answers"
    says out "^camera stops$" "it is stopped"
done

# An HTTP endpoint on a free port.
"$python" "$src/examples/http_endpoint.py" "$model" 0 >address 2>server.err &
local_pid=$! # harness.sh ends it if this test fails
for _ in $(seq 600); do
    [ ! -s address ] || break
    sleep 0.1
done
cat >client.py <<'END'
import io, sys, urllib.error, urllib.request
import numpy as np

url = open("address").read().strip()
frames = np.fromfile("frames", np.uint8).reshape(2, 1, 1, 28, 28).astype(np.float32) / np.float32(255)

def post(data):
    with urllib.request.urlopen(urllib.request.Request(url, data)) as answer:
        return answer.read()

def packed(array):
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()

for frame in frames:
    print("class", np.load(io.BytesIO(post(packed(frame)))).argmax())
for wrong in (packed(np.zeros(3, np.float32)), b"nothing"):
    try:
        post(wrong)
    except urllib.error.HTTPError as error:
        print(error.code, error.read().decode())
END
status 0 "a client of the endpoint" "$python" client.py
check "reads digits" test "$(grep class out | tr '\n' ' ')" = "class 3 class 7 "
says out "^400 input '.*' has shape 3, the network takes 1x1x28x28" "another shape is refused"
check "and what is no array" test "$(grep -c '^400 ' out)" = 2
kill "$local_pid"
wait "$local_pid"
local_pid=
finish
