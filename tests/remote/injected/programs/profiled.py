"""A family of actors, some of which are recorded: each says whether nsys is round it and what it has of the person's."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any

import ray


def told() -> str:
    """Whether nsys is round this process, and the variables that the program has set for it."""
    under = "recorded" if "NSYS_PROFILING_SESSION_ID" in os.environ else "plain"
    return f"{under} {os.environ.get('OF_JOB')} {os.environ.get('OF_ACTOR')}"


def sync(count: int) -> int:
    """As many calls that nsys counts."""
    with tempfile.TemporaryFile() as file:
        for _ in range(count):
            file.write(b"x")
            file.flush()
            os.fsync(file.fileno())
    return count


@ray.remote
def task() -> str:
    return told()


@ray.remote
class PolicyWorker:
    def told(self) -> str:
        return told()

    def sync(self, count: int) -> int:
        return sync(count)


@ray.remote
class RewardWorker:
    def told(self) -> str:
        return told()


@ray.remote
class Rollout:
    def __init__(self) -> None:
        own = {"env_vars": {"OF_ACTOR": "rollout"}}
        self.policy: Any = PolicyWorker.options(name="inner-1", runtime_env=own).remote()
        self.reward: Any = RewardWorker.remote()

    def told(self) -> list[str]:
        inner = ray.get([self.policy.told.remote(), self.reward.told.remote(), task.remote()])
        return [told(), *inner]


@ray.remote
class Controller:
    def __init__(self) -> None:
        self.rollout: Any = Rollout.remote()

    def told(self) -> list[str]:
        return [told(), *ray.get(self.rollout.told.remote())]


OWN = {"t": "nvtx,osrt", "s": "none", "cpuctxsw": "none", "o": "'own_%p'", "stop-on-exit": "true"}


@ray.remote(runtime_env={"nsight": OWN, "env_vars": {"OF_ACTOR": "framework"}})
class Framework:
    """One that its own framework puts under nsys."""

    def told(self) -> str:
        sync(4)
        return told()


def main() -> None:
    ray.init(runtime_env={"env_vars": {"OF_JOB": "job"}}, log_to_driver=False)
    policy: Any = PolicyWorker.options(runtime_env={"env_vars": {"OF_ACTOR": "own"}}).remote()
    print("policy:", ray.get(policy.told.remote()), flush=True)
    if "framework" in sys.argv:
        framework: Any = Framework.remote()
        print("framework:", ray.get(framework.told.remote()), flush=True)
        around = (
            f"nsys profile -t osrt -s none --cpuctxsw=none -o '{sys.argv[2]}_%p' {sys.executable}"
        )
        own = {"py_executable": around, "env_vars": {"OF_ACTOR": "around"}}
        wrapped: Any = PolicyWorker.options(name="around", runtime_env=own).remote()
        synced = ray.get(wrapped.sync.remote(3))
        print("around:", ray.get(wrapped.told.remote()), synced, flush=True)
        return
    if sys.argv[1:] and sys.argv[1] == "family":
        controller: Any = Controller.remote()
        names = ("controller", "rollout", "inner", "reward", "task")
        for name, one in zip(names, ray.get(controller.told.remote()), strict=True):
            print(f"{name}: {one}", flush=True)
    if len(sys.argv) > 2:
        print("ready: yes", flush=True)
        # Each line is a number of calls.
        with Path(sys.argv[2]).open() as orders:
            for order in orders:
                print("synced:", ray.get(policy.sync.remote(int(order))), flush=True)


if __name__ == "__main__":
    main()
