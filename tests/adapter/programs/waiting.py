"""Reaches breakpoint(), then runs without an end, or until its input ends."""

import sys

breakpoint()
print("running", flush=True)
sys.stdin.read()
breakpoint()
print("done", flush=True)
