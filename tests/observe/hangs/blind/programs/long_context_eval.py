"""Evaluates on long documents on one rank while the others wait for the scores."""

import random
import time

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class LongContextEvaluator:
    def prefill(self, document):
        rows = torch.ones(8, 8)
        until = time.monotonic() + random.uniform(0.2, 1.5)
        while time.monotonic() < until:
            rows = torch.tanh(rows @ rows)
        return rows

    def decode(self, rows, tokens):
        for token in range(tokens):
            self.sample(rows, token)

    def sample(self, rows, token):
        until = time.monotonic() + random.uniform(0.1, 0.4)
        while time.monotonic() < until:
            sorted(range(2000), key=lambda value: -value)

    def score(self, documents):
        for document in range(documents):
            rows = self.prefill(document)
            self.decode(rows, 6)
            say(f"document {document}")
        return torch.ones(1)


def main():
    join()
    scores = torch.zeros(1)
    if RANK == 1:
        scores = LongContextEvaluator().score(10_000)
    dist.broadcast(scores, src=1)


if __name__ == "__main__":
    main()
