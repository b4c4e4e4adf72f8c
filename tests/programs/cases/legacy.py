"""Tasks that wait in Ray's own pdb: `first` and `second` side by side, `calling`, which calls another, and `failing`.

Its workers are debugged as its own environment says, whatever the cluster's says.
"""

import os
import sys

import ray


@ray.remote
def first(value: int) -> int:
    doubled = value * 2
    breakpoint()  # stands: first
    return doubled


@ray.remote
class Second:
    def add(self, value: int) -> int:
        total = value + 1
        breakpoint()  # stands: second
        return total


@ray.remote
def inner(value: int) -> int:
    tripled = value * 3
    return tripled  # stands: inner


@ray.remote
def calling(value: int) -> int:
    breakpoint()  # stands: calling
    return ray.get(inner.remote(value))


@ray.remote
def looping(value: int) -> int:
    total = 0
    breakpoint()  # stands: looping
    for step in range(value):
        total += step  # stands: body
    return total


@ray.remote
def failing(value: int) -> float:
    denominator = value - value
    return value / denominator  # stands: failing


def main(shapes: list[str]) -> None:
    asked = {name: value for name, value in os.environ.items() if name.startswith("RAY_DEBUG")}
    ray.init(log_to_driver=False, runtime_env={"env_vars": asked} if asked else None)
    second = Second.options(name="adder").remote()
    started = {
        "first": lambda: first.remote(21),
        "second": lambda: second.add.remote(41),
        "calling": lambda: calling.remote(7),
        "looping": lambda: looping.remote(4),
        "failing": lambda: failing.remote(1),
    }
    running = {shape: started[shape]() for shape in shapes}
    for shape, result in running.items():
        try:
            print(f"{shape}: {ray.get(result)}", flush=True)
        except Exception as error:
            print(f"{shape}: failed with {type(error).__name__}", flush=True)


main(sys.argv[1:])
