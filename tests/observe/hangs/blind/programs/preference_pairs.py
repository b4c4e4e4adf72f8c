"""DPO on preference pairs: a loss per pair, averaged over ranks."""

import time

import torch
from rendezvous import join, say
from torch.nn.parallel import DistributedDataParallel


class DPOTrainer:
    def __init__(self):
        self.policy = DistributedDataParallel(torch.nn.Linear(4, 1))
        self.optimizer = torch.optim.SGD(self.policy.parameters(), lr=0.01)

    def pair_loss(self, chosen, rejected):
        return -torch.nn.functional.logsigmoid(self.policy(chosen) - self.policy(rejected)).sum()

    def step(self, step):
        self.pair_loss(torch.rand(2, 4), torch.rand(2, 4)).backward()
        self.optimizer.step()
        say(f"step {step}")


if __name__ == "__main__":
    join()
    trainer = DPOTrainer()
    for step in range(100_000):
        trainer.step(step)
        time.sleep(0.1)
