"""Data-parallel training of a small model with an evaluation every few steps."""

import time

import torch
import torch.distributed as dist
from rendezvous import join, say
from torch.nn.parallel import DistributedDataParallel


class Trainer:
    def __init__(self):
        self.model = DistributedDataParallel(torch.nn.Linear(8, 1))
        self.optimizer = torch.optim.Adam(self.model.parameters())

    def batch(self):
        time.sleep(0.05)
        return torch.rand(4, 8)

    def train_step(self):
        self.model(self.batch()).sum().backward()
        self.optimizer.step()
        self.optimizer.zero_grad()

    def evaluate(self):
        loss = self.model.module(self.batch()).mean().detach()
        dist.all_reduce(loss)
        return float(loss)


if __name__ == "__main__":
    join()
    trainer = Trainer()
    for step in range(1_000_000):
        trainer.train_step()
        if step % 20 == 0:
            say(f"step {step} loss {trainer.evaluate():.3f}")
