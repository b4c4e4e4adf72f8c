"""Tensor-parallel decoding: one reduction for each layer of each token."""

import random
import time

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class TensorParallelDecoder:
    def __init__(self, layers):
        self.layers = layers

    def attend(self, hidden):
        # One rank's machine is shared, so that all wait for it at each layer.
        self.compute()
        return hidden * 0.5

    def project(self, hidden):
        self.compute()
        return hidden + 1

    def compute(self):
        time.sleep(random.uniform(0.1, 0.8) if RANK == 2 else 0.01)

    def layer(self, hidden):
        hidden = self.project(self.attend(hidden))
        dist.all_reduce(hidden)
        return hidden

    def token(self, hidden):
        for _ in range(self.layers):
            hidden = self.layer(hidden)
        return hidden


if __name__ == "__main__":
    join()
    decoder = TensorParallelDecoder(4)
    for token in range(100_000):
        decoder.token(torch.ones(8))
        say(f"token {token}")
