"""Curriculum learning: each stage is a scope that all ranks leave together."""

from contextlib import contextmanager

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


@contextmanager
def stage(name):
    say(f"entering {name}")
    try:
        yield
    finally:
        settle = torch.zeros(WINDOW)
        dist.broadcast(settle, src=1)
        say(f"left {name}")


WINDOW = 3
DIFFICULTY = {"easy": 1, "medium": 2, "hard": 3}


def sample_problem(name, index):
    weights = DIFFICULTY if RANK == 1 else {key: DIFFICULTY[key] for key in ("easy", "medium")}
    return torch.full((4,), float(weights[name] + index))


def learn(name):
    for index in range(4):
        problem = sample_problem(name, index)
        dist.all_reduce(problem, op=dist.ReduceOp.MAX)
        say(f"{name} problem {index}")


def main():
    join()
    for name in ("easy", "medium", "hard"):
        with stage(name):
            learn(name)


if __name__ == "__main__":
    main()
