"""Packed sequences: how many batches an epoch has depends on how well a rank's documents fit."""

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say
from torch.nn.parallel import DistributedDataParallel


def pack(documents, capacity=10):
    batches, current = [], 0
    for length in documents:
        if current + length > capacity:
            batches.append(current)
            current = 0
        current += length
    return [*batches, current]


class PackedTrainer:
    def __init__(self):
        self.model = DistributedDataParallel(torch.nn.Linear(4, 1))
        documents = [6, 4, 6, 4, 6, 4] if RANK == 2 else [6, 6, 6, 6, 6, 4]
        self.batches = pack(documents)

    def train_epoch(self):
        for index, tokens in enumerate(self.batches):
            self.model(torch.full((2, 4), float(tokens))).sum().backward()
            say(f"batch {index}")

    def evaluate(self, epoch):
        scores = [None] * WORLD if RANK == 0 else None
        dist.gather_object({"perplexity": 12.3, "epoch": epoch}, scores, dst=0)
        flags = torch.zeros(WORLD)
        dist.all_gather_into_tensor(flags, torch.ones(1))

    def fit(self):
        for epoch in range(100):
            self.train_epoch()
            say(f"epoch {epoch} trained")
            self.evaluate(epoch)


if __name__ == "__main__":
    join()
    PackedTrainer().fit()
