"""Tasks of Ray that wait for each other, or for resources that no node has, in the way named by the first argument."""

import asyncio
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import ray
from ray.util import placement_group
from ray.util.queue import Queue


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


def chain() -> list[object]:
    """The driver waits for a trainer, which waits for an engine, which waits for a server that doesn't answer."""
    global listener
    listener = socket.create_server(("127.0.0.1", 0))
    engine = Engine.remote(listener.getsockname())
    return [Syncer.remote(engine).sync.remote()]


@ray.remote(num_cpus=0)
class Syncer:
    def __init__(self, engine: object) -> None:
        self.engine = engine

    def sync(self) -> object:
        return ray.get(self.engine.generate.remote())


@ray.remote(num_cpus=0)
class Engine:
    def __init__(self, server: tuple[str, int]) -> None:
        self.server = server

    def generate(self) -> bytes:
        with socket.create_connection(self.server) as connection:
            return connection.recv(1)


def constructor() -> list[object]:
    """An actor waits in its constructor for the first line of a child that prints none."""
    return [Starting.remote().step.remote()]


@ray.remote(num_cpus=0)
class Starting:
    def __init__(self) -> None:
        with subprocess.Popen(["sleep", "600"], stdout=subprocess.PIPE) as child:
            self.first = child.stdout.readline()

    def step(self) -> None:
        pass


def queue() -> list[object]:
    """A task fills a queue, and the actor that should read it has no task."""
    global reader
    reader = Policy.remote()
    ray.get(reader.value.remote())
    return [fill.remote(Queue(maxsize=2, actor_options={"num_cpus": 0}))]


@ray.remote(num_cpus=0)
def fill(filled: Queue) -> None:
    for number in range(9):
        filled.put(number)


def polling() -> list[object]:
    """Two actors ask another actor again and again for what that never has."""
    global followers
    policy = Policy.remote()
    followers = [Follower.remote(policy) for _ in range(2)]
    return [each.follow.remote() for each in followers]


@ray.remote(num_cpus=0)
class Follower:
    def __init__(self, policy: object) -> None:
        self.policy = policy

    def follow(self) -> None:
        while ray.get(self.policy.value.remote()) < 2:
            time.sleep(0.5)


def generator() -> list[object]:
    """A generator may be two results ahead, and the driver waits for its end before it reads them."""
    global made
    made = make.remote()
    return [made.completed()]


@ray.remote(num_cpus=0, num_returns="streaming", _generator_backpressure_num_objects=2)
def make() -> Iterator[int]:
    for number in range(9):
        yield square(number)


def group() -> list[object]:
    return [placement_group([{"CPU": 1000}]).ready()]


def working() -> list[object]:
    """Nothing hangs: a task computes, and the driver waits for it."""
    return [compute.remote()]


def awaiting() -> list[object]:
    """The methods of an async actor wait for a queue that no code fills."""
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
