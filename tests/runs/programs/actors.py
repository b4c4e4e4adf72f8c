"""Joins a Ray or starts its own, and two actors; nothing here knows of any debugger."""

import ray


@ray.remote
class Policy:
    def __init__(self):
        self.steps = 0

    def step(self, more):
        self.steps += more
        self.doubled = self.steps * 2  # stands: step
        return self.doubled


@ray.remote
class Other:
    def step(self, more):
        return more  # stands: other


ray.init()
policy, other = Policy.remote(), Other.remote()
print("other", ray.get(other.step.remote(1)), flush=True)
print("policy", ray.get(policy.step.remote(3)), flush=True)  # stands: driver
