"""Trains under a guard process that throttles a rank whose memory exceeds its budget."""

import os
import subprocess
import sys
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

GUARD = """
import os, signal, sys, time
pid, budget = int(sys.argv[1]), int(sys.argv[2])
while True:
    with open(f"/proc/{pid}/statm") as statm:
        resident = int(statm.read().split()[1]) * 4096
    if resident > budget:
        os.kill(pid, signal.SIGSTOP)
        break
    time.sleep(0.1)
time.sleep(86400)
"""


def resident():
    return int(Path("/proc/self/statm").read_text().split()[1]) * 4096


class ReplayCache:
    def __init__(self):
        self.rows = []

    def grow(self):
        self.rows.append(bytearray(b"1" * (4 << 20 if RANK == 0 else 16)))


def main():
    join()
    budget = resident() + (40 << 20)
    subprocess.Popen([sys.executable, "-S", "-c", GUARD, str(os.getpid()), str(budget)])
    cache = ReplayCache()
    step = 0
    while True:
        cache.grow()
        dist.all_reduce(torch.ones(8))
        if step % 5 == 0:
            say(f"step {step}")
        step += 1


if __name__ == "__main__":
    main()
