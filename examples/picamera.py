#!/usr/bin/python3
"""picamera.py MODEL [DEVICES]: what a classifier sees in a Raspberry Pi's camera (Debian: python3-picamera2), until Ctrl-C.

The camera takes the next picture while the devices answer those before it."""
import asyncio
import sys

import numpy as np
from picamera2 import Picamera2

import adaps


async def pictures(camera):
    """From the camera's own thread, as 1 x 3 x height x width, levels 0 to 1."""
    while True:
        pixels = await asyncio.to_thread(camera.capture_array, "main")
        if pixels is None:
            return
        yield pixels.transpose(2, 0, 1)[np.newaxis].astype(np.float32) / np.float32(255)


async def look(session):
    _, _, height, width = session.inputs[0].shape
    camera = Picamera2()
    # What picamera2 calls BGR888 has red first.
    camera.configure(camera.create_video_configuration({"size": (width, height), "format": "BGR888"}))
    camera.start()
    try:
        async for number, answer in session.stream(pictures(camera)):
            print(f"{number}: class {answer.argmax()} ({answer.max():.2f})", flush=True)
    finally:
        camera.stop()


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    with adaps.Session(sys.argv[1], devices=sys.argv[2] if len(sys.argv) == 3 else None) as opened:
        try:
            asyncio.run(look(opened))
        except KeyboardInterrupt:
            pass
