"""Policy workers: one per rank, each trains on its share of the rewards."""

import math
import os

import ray


@ray.remote(num_cpus=0)
class PolicyWorker:
    """One rank of the policy."""

    def __init__(self) -> None:
        self.rank = int(os.environ["RANK"])
        self.weights = {"layer0": [0.1 * self.rank, 0.2], "layer1": [0.3, 0.4]}
        self.history: list = []

    def train(self, step: int, rewards: list, stop: bool) -> float:
        """One step; pauses at a breakpoint() if `stop`."""
        advantage = [reward - sum(rewards) / len(rewards) for reward in rewards]
        norm = math.sqrt(sum(a * a for a in advantage)) + 1e-6
        if stop:
            breakpoint()
        loss = sum(a / norm for a in advantage) * self.weights["layer1"][0] - 0.01 * step
        for layer in self.weights:
            self.weights[layer] = [w - 0.001 * loss for w in self.weights[layer]]
        self.history.append(loss)
        return loss
