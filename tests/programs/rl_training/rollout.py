"""Rollout workers: they sample answers and have them scored."""

import random

import ray
from rewards import score, score_batch

QUESTIONS = {"2 + 2": "4", "3 * 3": "9", "10 - 7": "3", "8 / 4": "2"}


@ray.remote(num_cpus=0)
def rollout_round(batch: list, stop: bool) -> list:
    """A task that waits for a nested task."""
    return ray.get(score_batch.remote(batch, stop))


@ray.remote(num_cpus=0)
class RolloutWorker:
    """Samples answers to questions."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.rounds = 0

    def answer(self, question: str) -> str:
        return str(self.random.randint(1, 9) if "/" not in question else 2)

    def sample(self, stop: bool = False) -> list:
        """Rewards of one round of answers."""
        self.rounds += 1
        batch = [(self.answer(question), target) for question, target in QUESTIONS.items()]
        return ray.get(rollout_round.remote(batch, stop))

    def sample_broken(self) -> list:
        """Meets a question without a target: fails, and under post-mortem it waits there."""
        rewards = []
        for question, target in (QUESTIONS | {"1 + ?": ""}).items():
            answer = self.answer(question)
            rewards.append(score(answer, target))
        return rewards
