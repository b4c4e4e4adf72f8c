"""Eight actors that start and work; `running.py env|plain` prints how long that took, and the CPU seconds of it."""

import json
import os
import sys
import time
from collections.abc import Callable
from typing import Any

import psutil
import ray

ACTORS = 8
TURNS = 1_500_000
CLOSURES = 1000
CALLS = 20


@ray.remote(num_cpus=0)
class Free:
    """No user's breakpoint is in this file, or no user's filter matches this name."""

    def ready(self) -> bool:
        return True

    def work(self) -> tuple[float, float]:
        """The fastest of five loops, and the CPU seconds of this process from its start on."""
        return min(looped() for _ in range(5)), time.process_time()

    def call(self, closures: list[Callable[[], int]]) -> tuple[int, float]:
        """Returns the result of the last closure, and the CPU seconds of this process."""
        return closures[-1](), time.process_time()


def closure(number: int) -> Callable[[], int]:
    return lambda: number


def shipped(actor: Any) -> float:
    """The CPU seconds of driver and worker for a call with many closures."""
    closures = [closure(number) for number in range(CLOSURES)]
    before = time.process_time() + ray.get(actor.call.remote(closures))[1]
    for _ in range(CALLS):
        number, used = ray.get(actor.call.remote(closures))
        assert number == CLOSURES - 1
    return (time.process_time() + used - before) / CALLS


def looped() -> float:
    begun, total = time.process_time(), 0
    for turn in range(TURNS):
        total += turn & 3
    return time.process_time() - begun


def of_proxies() -> float:
    """Returns the use of the run's processes besides ours."""
    used = 0.0
    package = json.loads(os.environ.get("EAGLERAY_RUN", "{}")).get("package", "no package")
    for process in psutil.process_iter(["cmdline", "cpu_times"]):
        words = process.info["cmdline"] or []
        if any(word.startswith(f"{package}.") for word in words):
            used += process.info["cpu_times"].user + process.info["cpu_times"].system
    return used


def main() -> None:
    with_env = {"runtime_env": {"env_vars": {"BENCH": "1"}}} if sys.argv[1] == "env" else {}
    ray.init(log_to_driver=False, **with_env)
    begun = time.perf_counter()
    actors = [Free.remote() for _ in range(ACTORS)]
    ray.get([actor.ready.remote() for actor in actors])
    start = time.perf_counter() - begun
    # One after the other: eight at a time would measure how they share the machine.
    worked = [ray.get(actor.work.remote()) for actor in actors]
    cpu = time.process_time() + sum(used for _, used in worked) + of_proxies()
    loop = min(loop for loop, _ in worked)
    print(json.dumps({"start": start, "cpu": cpu, "loop": loop, "shipped": shipped(actors[0])}))


main()
