"""Resumes a run: skips the prompts that were already used, then trains on."""

from collections import deque
from itertools import cycle, islice

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class ResumableDataset:
    def __init__(self, prompts):
        self.prompts = cycle(prompts)

    def skip(self, consumed):
        deque(islice(self.prompts, consumed), maxlen=0)

    def next(self):
        return next(self.prompts)


class Checkpoint:
    def __init__(self):
        # One rank's state counts tokens, the others' count prompts.
        self.consumed = 10**15 if RANK == 3 else 1000


def main():
    join()
    dataset = ResumableDataset([[1.0, 2.0], [3.0, 4.0]])
    dist.barrier()
    say("skipping")
    dataset.skip(Checkpoint().consumed)
    while True:
        batch = torch.tensor(dataset.next())
        dist.all_reduce(batch)


if __name__ == "__main__":
    main()
