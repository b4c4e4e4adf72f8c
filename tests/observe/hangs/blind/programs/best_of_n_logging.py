"""Best-of-n sampling; the first rank also logs a histogram of all rewards now and then."""

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class RewardHistogram:
    def __init__(self, bins=4):
        self.bins = bins

    def update(self, rewards):
        everything = torch.zeros(WORLD * len(rewards))
        dist.all_gather_into_tensor(everything, rewards)
        return torch.histc(everything, bins=self.bins)


class Logger:
    def __init__(self, every):
        self.every = every
        self.histogram = RewardHistogram()

    def on_step_end(self, step, rewards):
        if RANK != 0:
            return
        if step and step % self.every == 0:
            say(f"histogram {self.histogram.update(rewards).tolist()}")


class BestOfNTrainer:
    def __init__(self):
        self.callbacks = [Logger(every=4)]

    def sample(self):
        return torch.rand(4)

    def step(self, step):
        rewards = self.sample()
        best = rewards.max().reshape(1)
        dist.all_reduce(best, op=dist.ReduceOp.MAX)
        say(f"step {step}")
        for callback in self.callbacks:
            callback.on_step_end(step, rewards)


if __name__ == "__main__":
    join()
    trainer = BestOfNTrainer()
    for step in range(1000):
        trainer.step(step)
