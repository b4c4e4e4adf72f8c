"""The code of the run's workers, without a breakpoint() in it; comments in brackets mark the lines that tests name."""

import time

import ray

PACE_S = 0.05


@ray.remote(num_cpus=0)
class Policy:
    """One worker."""

    def __init__(self) -> None:
        self.state = {"step": 0, "loss": 1.0}

    def train(self, number: int) -> int:
        rewards = [1.0, 2.0, 3.0]
        self.state["loss"] = sum(rewards) / (number + 1)  # [loss]

        # Nothing is here that could stop.  [nothing]
        time.sleep(PACE_S)
        self.state["step"] += 1
        return self.state["step"]  # [return]
