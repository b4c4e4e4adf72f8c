"""Workers that wait in every way that Ray knows: `shapes.py NAME…` starts some and says when each has continued.

A comment `stands: NAME` marks the line at which a debugger must stand.
"""

import asyncio
import sys

import ray
from names import HOSTILE

ACTORS = []
POST_MORTEM = {"env_vars": {"RAY_DEBUG_POST_MORTEM": "1"}}


@ray.remote(num_cpus=0)
def plain_task(number):
    doubled = number * 2
    breakpoint()
    return doubled + 1  # stands: task


@ray.remote(num_cpus=0)
def last_line():
    """The breakpoint() is the last line of its function, without a line after it to stop at."""
    breakpoint()  # stands: last_line


@ray.remote(num_cpus=0)
def inner(number):
    breakpoint()
    return number + 1  # stands: nested


@ray.remote(num_cpus=0)
def outer(number):
    return ray.get(inner.remote(number))


@ray.remote(num_cpus=0)
class InInit:
    def __init__(self):
        size = 7
        breakpoint()
        self.size = size  # stands: init

    def get(self):
        return self.size


@ray.remote(num_cpus=0)
class Async:
    async def work(self, number):
        await asyncio.sleep(0)
        breakpoint()
        return number * 10  # stands: async


@ray.remote(num_cpus=0, max_concurrency=3)
class Threaded:
    def work(self, number):
        breakpoint()
        return number * 100  # stands: threaded


@ray.remote(num_cpus=0)
class Looping:
    def work(self):
        total = 0
        for step in range(3):
            breakpoint()
            total = self.added(total, step)  # stands: looping
        return total

    def added(self, total, step):
        return total + step  # stands: own_method


@ray.remote(num_cpus=0)
class Failing:
    def work(self, divisor):
        numerator = 10
        return numerator / divisor  # stands: post_mortem


@ray.remote(num_cpus=0, max_retries=1, retry_exceptions=True)
def flaky():
    attempt = "each attempt"
    raise KeyError(attempt)  # stands: retries


@ray.remote(num_cpus=0, max_retries=0)
def failing_child():
    secret = 41
    raise RuntimeError(f"child failed at {secret}")  # stands: child


@ray.remote(num_cpus=0, max_retries=0)
def relaying_parent():
    return ray.get(failing_child.remote())  # stands: relay


@ray.remote(num_cpus=0)
class Named:
    def work(self):
        breakpoint()
        return "named"  # stands: hostile


def driver():
    answer = 42
    breakpoint()
    return answer + 1  # stands: driver


def kept(actor):
    """Without a handle an actor ends as soon as it has answered, and its debugger with it."""
    ACTORS.append(actor)
    return actor


def start(name):
    """The references of what `name` starts."""
    if name == "task":
        return [plain_task.remote(4)]
    if name == "last_line":
        return [last_line.remote()]
    if name == "nested":
        return [outer.remote(1)]
    if name == "init":
        actor = kept(InInit.options(name="init-0").remote())
        return [actor.get.remote()]
    if name == "async":
        actor = kept(Async.remote())
        return [actor.work.remote(1), actor.work.remote(2)]
    if name == "threaded":
        actor = kept(Threaded.remote())
        return [actor.work.remote(number) for number in range(3)]
    if name == "looping":
        actor = kept(Looping.options(name="looping").remote())
        return [actor.work.remote()]
    if name == "post_mortem":
        actor = kept(Failing.options(runtime_env=POST_MORTEM).remote())
        return [actor.work.remote(0)]
    if name == "retries":
        return [flaky.options(runtime_env=POST_MORTEM).remote()]
    if name == "relay":
        return [relaying_parent.options(runtime_env=POST_MORTEM).remote()]
    if name == "hostile":
        actor = kept(Named.options(name=HOSTILE).remote())
        return [actor.work.remote()]
    raise SystemExit(f"there is no shape {name}")


def say(name, references):
    try:
        print(f"{name}: {ray.get(references)}", flush=True)
    except ray.exceptions.RayTaskError as error:
        print(f"{name}: failed with {type(error.cause).__name__}", flush=True)


def main():
    ray.init(log_to_driver=False)
    names = sys.argv[1:]
    started = {name: start(name) for name in names if name != "driver"}
    if "driver" in names:
        print(f"driver: {driver()}", flush=True)
    waiting = {reference: name for name, found in started.items() for reference in found}
    while waiting:
        (done,), _ = ray.wait(list(waiting), num_returns=1)
        name = waiting.pop(done)
        if name not in waiting.values():
            say(name, started[name])
    print("the program is done", flush=True)


if __name__ == "__main__":
    main()
