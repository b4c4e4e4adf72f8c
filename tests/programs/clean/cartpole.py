"""RLlib's PPO on CartPole, which trains without trouble: `cartpole.py FOLDER SECONDS`."""

import sys
import time

import ray
from ray.rllib.algorithms.ppo import PPOConfig


def main():
    ray.init()
    algorithm = (
        PPOConfig()
        .environment("CartPole-v1")
        .env_runners(num_env_runners=1)
        .training(train_batch_size=200, minibatch_size=50, num_epochs=1)
        .build_algo()
    )
    until = time.monotonic() + float(sys.argv[2])
    iterations = 0
    while time.monotonic() < until:
        iterations = algorithm.train()["training_iteration"]
    print(f"trained: iteration {iterations}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()
