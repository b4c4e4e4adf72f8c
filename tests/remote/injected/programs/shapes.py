"""Workers of all kinds, with no breakpoint() anywhere: `shapes.py NAME…` runs those named and prints what they return."""

import asyncio
import dataclasses
import functools
import importlib
import os
import sys
import threading

import ray


@ray.remote(num_cpus=0)
class Init:
    def __init__(self):
        self.size = 7  # stop: init

    def run(self):
        return self.size


@ray.remote(num_cpus=0)
class Method:
    def run(self):
        return 8  # stop: method


@ray.remote(num_cpus=0)
class Async:
    async def run(self):
        await asyncio.sleep(0)
        return 9  # stop: async


@ray.remote(num_cpus=0, concurrency_groups={"io": 2, "cpu": 1})
class Groups:
    @ray.method(concurrency_group="io")
    async def read(self, number):
        await asyncio.sleep(0)
        return number  # stop: groups

    @ray.method(concurrency_group="cpu")
    def compute(self, number):
        return number + threading.get_ident() * 0

    async def run(self, number):
        return number * (asyncio.get_running_loop() is not None)


@ray.remote(num_cpus=0)
class Thread:
    def run(self):
        found = []

        def count():
            found.append(10)  # stop: thread

        thread = threading.Thread(target=count)
        thread.start()
        thread.join()
        return found[0]


@ray.remote(num_cpus=0, max_concurrency=3)
class Threaded:
    def run(self):
        return threading.get_ident() and 11  # stop: threaded


@ray.remote(num_cpus=0)
class Late:
    def run(self):
        sys.path.insert(0, FOLDER)
        return importlib.import_module("late").VALUE


FOLDER = __file__.rpartition("/")[0]


@ray.remote(num_cpus=0)
class Other:
    """Meant by no filter; it holds another's handle, whose class is loaded for that."""

    def __init__(self, handle):
        self.handle = handle

    def run(self):
        return "debugpy" in sys.modules  # stop: other


@ray.remote(num_cpus=0)
class Fails:
    def run(self):
        numerator = 12
        return numerator / 0  # stop: fails


@ray.remote(num_cpus=0)
class Calls:
    def run(self):
        number = 13
        breakpoint()
        return number  # stop: calls


@ray.remote(num_cpus=0)
def task(number):
    return number + os.getpid() * 0  # stop: task


@ray.remote(num_cpus=0)
def free(number):
    return number * 2  # stop: free


class Carried:
    """Code that reaches a worker in objects."""

    def method(self):
        return 14  # stop: bound

    def __call__(self):
        return 15  # stop: called

    @staticmethod
    def closure():
        number = 16

        def inner(more):
            return number + more  # stop: closure

        return inner


def fresh():
    return [18]  # stop: factory


@dataclasses.dataclass
class Config:
    values: list = dataclasses.field(default_factory=fresh)

    def __call__(self):
        return type(self)().values[0]


@ray.remote(num_cpus=0)
class Parent:
    """Creates another one, which lives on its own."""

    def run(self):
        child = Method.options(name="nested", lifetime="detached").remote()
        found = ray.get(child.run.remote())
        ray.kill(child)
        return found


def run(name):
    if name == "Threaded":
        actor = Threaded.remote()
        return [ray.get(actor.run.remote()) for _ in range(3)]
    if name == "Groups":
        actor = Groups.remote()
        return ray.get([method.remote(13) for method in (actor.read, actor.compute, actor.run)])
    if name == "Caller":
        from callers import Caller, call

        things = [Carried().method, Carried(), functools.partial(Carried.closure(), 1), Config([])]
        actor = Caller.remote()
        carried = ray.get(actor.run.remote([*things, ray.put(lambda: 19)]))  # stop: lambda
        return [*carried, ray.get(call.remote(lambda: 20))]  # stop: argument
    if name == "Other":
        actor = Other.remote(Method.remote())
        return ray.get(actor.run.remote())
    if name == "tasks":
        return [ray.get(task.remote(1)), ray.get(free.remote(2)), ray.get(task.remote(3))]
    if name == "Fails":
        actor = Fails.remote()
        try:
            ray.get(actor.run.remote())
        except ZeroDivisionError:
            return "failed"
    # An older Ray forgets an actor that no name holds.
    actor = globals()[name].remote()
    return ray.get(actor.run.remote())


def main():
    options = {"env_vars": {"ITS_OWN": "1"}} if os.environ.get("WITH_RUNTIME_ENV") else None
    ray.init(runtime_env=options, log_to_driver=False)
    for name in sys.argv[1:]:
        print(f"{name}: {run(name)}", flush=True)


if __name__ == "__main__":
    main()
