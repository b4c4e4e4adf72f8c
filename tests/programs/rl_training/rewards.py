"""Scores of answers; `score_batch` runs as a nested task."""

import ray


def score(answer: str, target: str) -> float:
    """1.0 for the right answer, a little for the right length."""
    if not target:
        raise ValueError(f"no target for {answer!r}")
    return 1.0 if answer == target else 0.1 * (len(answer) == len(target))


@ray.remote(num_cpus=0)
def score_batch(batch: list, stop: bool = False) -> list:
    """Scores pairs of answer and target; may pause at a breakpoint(), inside a task that a task started."""
    if stop:
        breakpoint()
    return [score(answer, target) for answer, target in batch]
