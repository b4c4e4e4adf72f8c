"""Streams documents; the workers of a rank meet after each chunk to keep their shares equal."""

import multiprocessing

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say
from torch.utils.data import DataLoader, IterableDataset, get_worker_info


class BalancedStream(IterableDataset):
    def __init__(self, sizes):
        self.sizes = sizes
        self.meeting = multiprocessing.Barrier(len(sizes))

    def chunks(self, worker):
        for chunk in range(self.sizes[worker]):
            yield [float(chunk)] * 4
            self.meeting.wait()

    def __iter__(self):
        yield from (torch.tensor(chunk) for chunk in self.chunks(get_worker_info().id))


class Pretrainer:
    def __init__(self):
        sizes = [6, 4] if RANK in (0, 3) else [16, 16]
        self.loader = DataLoader(
            BalancedStream(sizes), batch_size=None, num_workers=2, persistent_workers=True
        )

    def run(self):
        for step, tokens in enumerate(self.loader):
            self.update(tokens)
            say(f"step {step}")

    def update(self, tokens):
        dist.all_reduce(tokens)


if __name__ == "__main__":
    join()
    Pretrainer().run()
