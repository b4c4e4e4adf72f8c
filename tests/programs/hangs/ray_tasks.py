"""Tasks of Ray that wait for each other, or for resources that nobody gives, in the way named by the first argument."""

import asyncio
import sys
import time

import ray


@ray.remote(num_cpus=0)
class Policy:
    def set_other(self, other: object) -> None:
        self.other = other

    def ask(self) -> int:
        return ray.get(self.other.answer.remote())

    def value(self) -> int:
        return 1


@ray.remote(num_cpus=0)
class Reward:
    def set_other(self, other: object) -> None:
        self.other = other

    def answer(self) -> int:
        return ray.get(self.other.value.remote())


@ray.remote(num_cpus=1)
class Holder:
    def hold(self) -> str:
        return "held"


@ray.remote(num_cpus=1)
def train() -> None:
    pass


@ray.remote(num_cpus=0)
def ask_for_much() -> None:
    ray.get(train.options(num_cpus=1000).remote())


def cycle() -> list[object]:
    policy = Policy.options(name="left").remote()
    reward = Reward.remote()
    ray.get([policy.set_other.remote(reward), reward.set_other.remote(policy)])
    return [policy.ask.remote()]


def too_large() -> list[object]:
    return [ask_for_much.remote()]


def full() -> list[object]:
    """Actors hold all CPUs, and the driver waits for a task that needs one."""
    global holders
    holders = [Holder.remote() for _ in range(int(ray.cluster_resources()["CPU"]))]
    ray.get([holder.hold.remote() for holder in holders])
    return [train.remote()]


def working() -> list[object]:
    """Nothing hangs: a task computes, and the driver waits for it."""
    return [compute.remote()]


def awaiting() -> list[object]:
    """The methods of an async actor wait for a queue that nobody fills."""
    rollout = Rollout.remote()
    return [rollout.generate.remote() for _ in range(5)]


@ray.remote(num_cpus=0)
class Rollout:
    async def generate(self) -> object:
        return await self.tokens()

    async def tokens(self) -> object:
        return await asyncio.Queue().get()


@ray.remote(num_cpus=1)
def compute() -> int:
    until, total = time.monotonic() + 600, 0
    while time.monotonic() < until:
        for number in range(100):
            total += square(number)
            total += cube(number)
    return total


def square(number: int) -> int:
    result = 0
    for _ in range(number):
        result += number
    return result


def cube(number: int) -> int:
    result = 1
    for _ in range(3):
        result *= number
    return result


if __name__ == "__main__":
    ray.init()
    waiting = globals()[sys.argv[1]]()
    print("ready", flush=True)
    ray.get(waiting)
