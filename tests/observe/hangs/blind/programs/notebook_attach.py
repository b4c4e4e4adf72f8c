"""Trains a reward model; the rank given by the environment can be looked at from an editor."""

import os

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


def maybe_listen():
    if int(os.environ.get("ATTACH_RANK", "0")) != RANK:
        return
    import debugpy

    debugpy.listen(("127.0.0.1", 0))
    say("an editor may attach")
    debugpy.wait_for_client()


class RewardModelTrainer:
    def __init__(self):
        self.scores = torch.zeros(4)

    def train_step(self, step):
        if step == 2:
            maybe_listen()
        dist.reduce(self.scores, dst=1)
        dist.broadcast(self.scores, src=1)
        say(f"step {step}")


if __name__ == "__main__":
    join()
    trainer = RewardModelTrainer()
    for step in range(1000):
        trainer.train_step(step)
