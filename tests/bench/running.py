"""Eight actors that start and work; `running.py env|plain` prints how long that took, and the CPU seconds of it all."""

import json
import os
import sys
import time

import psutil
import ray

ACTORS = 8
TURNS = 1_500_000


@ray.remote(num_cpus=0)
class Free:
    """Nobody's breakpoint is in this file, or nobody's filter fits this name."""

    def ready(self) -> bool:
        return True

    def work(self) -> tuple[float, float]:
        """The fastest of five loops, and the CPU seconds of this process from its start on."""
        return min(looped() for _ in range(5)), time.process_time()


def looped() -> float:
    begun, total = time.process_time(), 0
    for turn in range(TURNS):
        total += turn & 3
    return time.process_time() - begun


def of_proxies() -> float:
    """What the processes beside ours have used that belong to the same run."""
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
    print(json.dumps({"start": start, "cpu": cpu, "loop": min(loop for loop, _ in worked)}))


main()
