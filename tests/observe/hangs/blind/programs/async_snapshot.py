"""Finetunes while a thread writes snapshots; all ranks confirm each of them in a group of their own."""

from concurrent.futures import ThreadPoolExecutor

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class SnapshotWriter:
    def __init__(self, model):
        self.model = model
        self.group = dist.new_group()
        self.pool = ThreadPoolExecutor(1, "snapshot")

    def __enter__(self):
        return self

    def __exit__(self, *exc):
        self.save("last")
        self.pool.shutdown()

    def save(self, tag):
        weights = {name: value.clone() for name, value in self.model.state_dict().items()}
        self.pool.submit(self.write, tag, weights)

    def write(self, tag, weights):
        torch.save(weights, "/dev/null")
        dist.barrier(group=self.group)
        say(f"snapshot {tag}")


def train(model, writer):
    for step in range(10_000):
        loss = model(torch.ones(2, 4)).sum()
        if RANK == 3 and step == 6:
            raise FloatingPointError("loss is inf in microbatch 2")
        loss.backward()
        for parameter in model.parameters():
            dist.all_reduce(parameter.grad)
        if step % 3 == 2:
            writer.save(step)
        say(f"step {step}")


if __name__ == "__main__":
    join()
    model = torch.nn.Linear(4, 1)
    with SnapshotWriter(model) as writer:
        train(model, writer)
