#!/usr/bin/python3
"""webcam.py MODEL [DEVICES]: what a classifier sees in raw frames from stdin, of the network's size:

    ffmpeg -f v4l2 -i /dev/video0 -vf scale=28:28 -pix_fmt gray -f rawvideo - | ./webcam.py digits.onnx

Networks with 3 channels take -pix_fmt rgb24. With a devices file its agents answer."""
import sys
import time

import numpy as np

import adaps


def frames(file, shape):
    """Levels of 0 to 1, as most networks want them, in the order of the network: channels first."""
    _, channels, height, width = shape
    while len(data := file.read(height * width * channels)) == height * width * channels:
        pixels = np.frombuffer(data, np.uint8).reshape(height, width, channels)
        yield pixels.transpose(2, 0, 1)[np.newaxis].astype(np.float32) / np.float32(255)


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with adaps.Session(sys.argv[1], devices=sys.argv[2] if len(sys.argv) == 3 else None) as session:
        begin, count = time.monotonic(), 0
        for number, answer in session.stream(frames(sys.stdin.buffer, session.inputs[0].shape)):
            count = number + 1
            print(f"{number}: class {answer.argmax()} ({answer.max():.2f})", flush=True)
        print(f"{count / (time.monotonic() - begin):.1f} frames a second", file=sys.stderr)


if __name__ == "__main__":
    main()
