"""A rollout worker: it samples answers to questions and scores them."""

import random

import ray

QUESTIONS = {"2 + 2": "4", "3 * 3": "9", "10 - 7": "3", "8 / 4": "2"}


@ray.remote(num_cpus=0)
class RolloutWorker:
    """Samples answers from a policy that mostly guesses."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def answer(self, question: str) -> str:
        return "2" if "/" in question else str(self.random.randint(1, 9))

    def sample(self) -> list[float]:
        """Returns the reward of each answer of one round."""
        return [score(self.answer(question), target) for question, target in QUESTIONS.items()]


def score(answer: str, target: str) -> float:
    """1.0 for the right answer, a little for the right length."""
    return 1.0 if answer == target else 0.1 * (len(answer) == len(target))
