"""A small training program in the shape of RL on Ray: a driver, 4 policy workers, 2 rollout workers, nested tasks.

Policy workers pause at a breakpoint() in every step, a nested task pauses at one in the first step, and a rollout
worker fails under post-mortem at the start.  It runs `--steps` steps once the workers are continued.
"""

import argparse
import os

import ray
from policy import PolicyWorker
from rollout import RolloutWorker

POST_MORTEM = {"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}}


def policy_workers(count: int) -> list:
    return [
        PolicyWorker.options(
            name=f"policy-{rank}",
            runtime_env={"env_vars": {"RANK": str(rank), "WORLD_SIZE": str(count)}},
        ).remote()
        for rank in range(count)
    ]


def rollout_workers(count: int) -> list:
    return [
        RolloutWorker.options(name=f"rollout-{index}", runtime_env=POST_MORTEM).remote(index)
        for index in range(count)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1000)
    arguments = parser.parse_args()
    ray.init(namespace=f"rl-{os.getpid()}", log_to_driver=False)
    policies = policy_workers(4)
    rollouts = rollout_workers(2)
    failing = rollouts[1].sample_broken.remote()
    for step in range(arguments.steps):
        rewards = ray.get(rollouts[0].sample.remote(stop=False))
        nested = rollouts[0].sample.remote(stop=True) if step == 0 else None
        losses = ray.get([policy.train.remote(step, rewards, stop=True) for policy in policies])
        if nested is not None:
            rewards = ray.get(nested)
        print(
            f"step {step}: mean reward {sum(rewards) / len(rewards):.3f}, losses {losses}",
            flush=True,
        )
    try:
        ray.get(failing)
    except ValueError as error:
        print(f"a rollout worker failed: {error}", flush=True)
    print("training is done", flush=True)


if __name__ == "__main__":
    main()
