"""Four pipeline stages; the last batch of an epoch has fewer micro-batches."""

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say

HIDDEN = 4


class Stage:
    def __init__(self):
        self.saved = []

    def forward(self):
        activation = torch.zeros(HIDDEN)
        if RANK > 0:
            dist.recv(activation, RANK - 1)
        if RANK < WORLD - 1:
            dist.send(activation + 1, RANK + 1)
        self.saved.append(activation)

    def backward(self):
        grad = torch.zeros(HIDDEN)
        self.saved.pop()
        if RANK < WORLD - 1:
            dist.recv(grad, RANK + 1)
        if RANK > 0:
            dist.send(grad, RANK - 1)


class Schedule:
    def __init__(self, microbatches):
        self.stage = Stage()
        self.microbatches = microbatches

    def count(self, samples):
        """Only the first stage has the samples; the others go by the configuration."""
        return -(-samples // 2) if RANK == 0 else self.microbatches

    def step(self, samples):
        count = self.count(samples)
        for _ in range(count):
            self.stage.forward()
        for _ in range(count):
            self.stage.backward()


def main():
    join()
    schedule = Schedule(4)
    for step, samples in enumerate([8, 8, 8, 5, 8, 8]):
        schedule.step(samples)
        say(f"step {step}")


if __name__ == "__main__":
    main()
