"""A small reinforcement learning loop on Ray.

1. Select "Debug on Ray" above this file.
2. Both policy workers pause in policy.py, line 22.
"""

import argparse

import ray
from policy import PolicyWorker
from rollout import RolloutWorker


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()

    ray.init()
    rollout = RolloutWorker.options(name="rollout").remote(seed=0)
    policies = [
        PolicyWorker.options(name=f"policy-{rank}").remote(rank)
        for rank in range(arguments.workers)
    ]
    for step in range(arguments.steps):
        rewards = ray.get(rollout.sample.remote())
        losses = ray.get([policy.train.remote(step, rewards) for policy in policies])
        print(f"step {step}: losses {losses}", flush=True)
    print("training is done")


if __name__ == "__main__":
    main()
