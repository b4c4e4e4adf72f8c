"""A run whose worker fails, without a breakpoint() in it; a comment in brackets marks the line spoken of."""

import ray


@ray.remote(num_cpus=0)
class Reward:
    def score(self, steps: int) -> float:
        return 1.0 / steps  # [fails]


ray.init(num_cpus=1, log_to_driver=False)
print(ray.get(Reward.options(name="reward").remote().score.remote(0)), flush=True)
