"""Reaches breakpoint() again and again; prints what it did between."""

import os
import sys


def train(step):
    loss = 1.0 / (step + 1)
    breakpoint()
    loss = loss * 2
    total = loss + step
    print("step", step, "total", total, flush=True)
    return total


def main():
    for step in range(int(sys.argv[1])):
        train(step)
    print("done", os.environ.get("RANK"), flush=True)


if __name__ == "__main__":
    main()
