"""Fails, and waits in post-mortem as a Ray task does that raised."""

import ray.util.rpdb


def divide(numbers):
    total = sum(numbers)
    return total / (len(numbers) - 3)


def train(step):
    rewards = [1.0, 2.0, step]
    return divide(rewards)


def execute():
    try:
        train(3.0)
    except Exception:
        ray.util.rpdb._post_mortem()
    print("done", flush=True)


execute()
