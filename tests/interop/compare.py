#!/usr/bin/env python3
"""Compares two .npy files: is the largest difference within 1e-4 of the expected output's range?

    compare.py [--tolerance T] NAME ACTUAL.npy EXPECTED.npy

Prints one line. Exit status: 0 yes, 1 no (or another shape, or values that are not finite),
2 usage, 3 a file cannot be read.
"""
import argparse
import sys

import numpy as np


def load(path):
    try:
        return np.load(path, allow_pickle=False)
    except (OSError, ValueError) as error:
        print(f"compare: {path}: {error}", file=sys.stderr)
        raise SystemExit(3)


def main():
    parser = argparse.ArgumentParser(description="Compare two .npy files.")
    parser.add_argument("--tolerance", type=float, default=1e-4,
                        help="largest difference / range of the expected values (1e-4)")
    parser.add_argument("name")
    parser.add_argument("actual")
    parser.add_argument("expected")
    args = parser.parse_args()
    actual, expected = load(args.actual), load(args.expected)

    def verdict(ok, text):
        print(f"{'ok  ' if ok else 'FAIL'} {args.name}: {text}")
        return 0 if ok else 1

    if actual.shape != expected.shape:
        return verdict(False, f"shape {actual.shape}, expected {expected.shape}")
    if actual.size == 0:
        return verdict(False, "no elements")
    actual, expected = actual.astype(np.float64), expected.astype(np.float64)
    if not (np.isfinite(actual).all() and np.isfinite(expected).all()):
        return verdict(False, "values that are not finite")
    spread = float(expected.max() - expected.min()) or 1.0
    worst = float(np.abs(actual - expected).max())
    return verdict(worst <= args.tolerance * spread,
                   f"max abs difference {worst:.3g}, range {spread:.3g}, "
                   f"ratio {worst / spread:.2g} of {actual.size} elements")


if __name__ == "__main__":
    raise SystemExit(main())
