"""Accumulates gradients over many micro-batches on a throttled machine."""

import random
import time

import torch
from rendezvous import join, say
from torch.nn.parallel import DistributedDataParallel


class Accumulator:
    def __init__(self):
        self.model = DistributedDataParallel(torch.nn.Linear(4, 1))
        self.micro = 0

    def load(self):
        time.sleep(random.uniform(0.3, 1.5))
        return torch.ones(2, 4)

    def transform(self, batch):
        time.sleep(random.uniform(0.3, 1.2))
        return batch * 2

    def accumulate(self, batch):
        with self.model.no_sync():
            self.model(batch).sum().backward()
        time.sleep(random.uniform(0.2, 0.8))
        self.micro += 1

    def update(self):
        self.model(torch.ones(2, 4)).sum().backward()
        say(f"update after {self.micro} micro-batches")


if __name__ == "__main__":
    join()
    accumulator = Accumulator()
    while True:
        for _ in range(3):
            accumulator.accumulate(accumulator.transform(accumulator.load()))
        accumulator.update()
