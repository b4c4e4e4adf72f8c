"""RLlib's PPO on CartPole: `cartpole.py SITE_PACKAGES`; its environment stands at a breakpoint() in its third step.

SITE_PACKAGES is searched first by the workers: an installed library with a breakpoint() of its own can lie there.
"""

import sys

import gymnasium
import ray
from ray.rllib.algorithms.ppo import PPOConfig


class StoppingCartPole(gymnasium.Env):
    """CartPole that stands at a breakpoint() in its third step."""

    def __init__(self, config=None):
        self.inner = gymnasium.make("CartPole-v1")
        self.action_space = self.inner.action_space
        self.observation_space = self.inner.observation_space
        self.steps = 0

    def reset(self, *, seed=None, options=None):
        return self.inner.reset(seed=seed, options=options)

    def step(self, action):
        self.steps += 1
        observation, reward, terminated, truncated, info = self.inner.step(action)
        if self.steps == 3:
            breakpoint()
        return observation, reward, terminated, truncated, info  # stands: env


def main():
    ray.init(log_to_driver=False, runtime_env={"env_vars": {"PYTHONPATH": sys.argv[1]}})
    algorithm = (
        PPOConfig()
        .environment(StoppingCartPole)
        .env_runners(num_env_runners=1)
        .training(train_batch_size=200, minibatch_size=50, num_epochs=1)
        .build_algo()
    )
    result = algorithm.train()
    print(f"trained: iteration {result['training_iteration']}", flush=True)
    algorithm.stop()


if __name__ == "__main__":
    main()
