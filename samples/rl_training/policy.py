"""The policy workers: one for each rank."""

import math

import ray


@ray.remote(num_cpus=0)
class PolicyWorker:
    """One rank of the policy."""

    def __init__(self, rank: int) -> None:
        self.rank = rank
        self.weights = [0.1 * rank, 0.2, 0.3]
        self.history: list = []

    def train(self, step: int, rewards: list) -> float:
        """Trains for one step and returns the loss."""
        mean = sum(rewards) / len(rewards)
        advantages = [each - mean for each in rewards]
        norm = math.hypot(*advantages) + 1e-6
        loss = max(advantages) / norm - 0.01 * step
        self.weights = [w - 0.001 * loss for w in self.weights]
        self.history.append(loss)
        return loss
