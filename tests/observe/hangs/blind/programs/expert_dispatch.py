"""Mixture of experts: tokens are reduced within the ranks that share an expert."""

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say

SHARE = 3


class ExpertParallel:
    def __init__(self):
        self.groups = [
            dist.new_group(list(range(first, first + SHARE))) for first in range(0, WORLD, SHARE)
        ]

    def group_of(self, slot):
        return self.groups[min(slot // SHARE, len(self.groups) - 1)]

    def combine(self, tokens, slot):
        dist.all_reduce(tokens, group=self.group_of(slot))
        return tokens


class MoELayer:
    def __init__(self):
        self.experts = ExpertParallel()

    def forward(self, tokens, step):
        slot = RANK if step < 4 else RANK + step % 2 + 1
        slot = RANK if RANK != 2 else slot
        return self.experts.combine(tokens, slot)


def main():
    join()
    layer = MoELayer()
    for step in range(1000):
        layer.forward(torch.ones(4), step)
        balance = torch.ones(1)
        dist.all_reduce(balance)
        say(f"step {step}")


if __name__ == "__main__":
    main()
