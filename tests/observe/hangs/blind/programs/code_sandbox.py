"""Runs generated code in a sandbox process and learns from what it prints."""

import subprocess
import sys

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

GENERATED = "print(sum(range(10)))"
INTERACTIVE = "name = open('/dev/stdin').read(); print(name)"


class Sandbox:
    def execute(self, source):
        process = subprocess.Popen(
            [sys.executable, "-S", "-c", source],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        process.wait()
        return process.stdout.read()


class CodeRewardTrainer:
    def __init__(self):
        self.sandbox = Sandbox()

    def collect(self, iteration):
        source = INTERACTIVE if RANK == 0 and iteration == 2 else GENERATED
        return [float(len(self.sandbox.execute(source)))]

    def learn(self, rewards):
        advantage = torch.tensor(rewards)
        dist.all_reduce(advantage, op=dist.ReduceOp.SUM)

    def loop(self):
        iteration = 0
        while True:
            self.learn(self.collect(iteration))
            say(f"iteration {iteration}")
            iteration += 1


if __name__ == "__main__":
    join()
    CodeRewardTrainer().loop()
