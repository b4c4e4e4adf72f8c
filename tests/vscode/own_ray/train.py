"""A small training run that starts a Ray of its own and goes round until it is ended."""

import ray
from learner import Policy

ROUNDS = 100_000
TOLD_EVERY = 10


def main() -> None:
    ray.init(num_cpus=2, log_to_driver=False)
    policies = [Policy.options(name=f"policy-{rank}").remote() for rank in range(2)]
    for number in range(ROUNDS):
        steps = ray.get([policy.train.remote(number) for policy in policies])
        if number % TOLD_EVERY == 0:
            print(f"round {number}: {steps}", flush=True)


if __name__ == "__main__":
    main()
