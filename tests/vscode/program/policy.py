"""A policy worker as the editor's tests look at it; comments in brackets mark the lines they speak of."""

import ray
import steps


def mean_of(rewards: list) -> float:
    """Fails without rewards, for post-mortem."""
    total = sum(rewards)
    return total / len(rewards)  # [fails]


@ray.remote(num_cpus=0, max_restarts=0)
class Policy:
    """One rank."""

    def ping(self) -> str:
        return "pong"

    def say(self, words: str) -> None:
        """Writes a line to its log."""
        print(words, flush=True)

    def train(self, step: int) -> int:
        """Stands at its breakpoint() and then goes round five times."""
        rewards = [1.0, 2.0, 3.0]
        state = {"step": step, "loss": 0.5}
        breakpoint()  # [call]
        mean = mean_of(rewards)  # [after]
        for index in range(5):
            state["loss"] = mean * index  # [loop]
            state["step"] += 1
        return state["step"]  # [return]

    def train_twice(self, step: int) -> int:
        """Stands at the same breakpoint() two times."""
        for _ in range(2):
            breakpoint()  # [again]
            step += 1
        return step

    def train_in_library(self, step: int) -> int:
        """Stands in an imported module."""
        return steps.advance(step)

    def score(self) -> float:
        """Fails under post-mortem."""
        rewards: list = []
        return mean_of(rewards)  # [scores]
