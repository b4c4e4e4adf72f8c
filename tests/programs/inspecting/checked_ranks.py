"""Two ranks with a long wait: rank 0 waits in all_reduce, rank 1 counts until its standard input ends and joins then.

Rank 1 proves that nothing changed what it computes: each of its steps has a known sum, and it says how many were right.
"""

import datetime
import os
import sys
import threading

import torch
import torch.distributed as dist


def fit(rank: int) -> None:
    dist.init_process_group("gloo", timeout=datetime.timedelta(days=2))
    gradient = torch.arange(4.0)
    print("ready", flush=True)
    right, steps = count_until_told() if rank == 1 else (0, 0)
    dist.all_reduce(gradient)
    # Without this one of three ranks ends with SIGABRT, inspected or not (torch 2.13).
    dist.destroy_process_group()
    print(f"{right} of {steps} steps right, reduced to {gradient.tolist()}", flush=True)


def count_until_told() -> tuple[int, int]:
    told = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), told.set()), daemon=True).start()
    right = steps = 0
    while not told.wait(0.01):
        numbers = torch.arange(1000 + steps % 7, dtype=torch.int64)
        steps += 1
        right += int(numbers.sum()) == len(numbers) * (len(numbers) - 1) // 2
    return right, steps


if __name__ == "__main__":
    fit(int(os.environ["RANK"]))
