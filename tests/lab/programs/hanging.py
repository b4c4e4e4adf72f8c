"""An actor on the last node that waits for a lock until a file exists, as a rank waits for its partners; then the program ends."""

import sys
import threading
import time
from pathlib import Path

import ray
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy


@ray.remote(num_cpus=0)
class Hanging:
    """One rank of a training, say."""

    def fit(self, partner: str) -> int:
        batch = {"tokens": [3, 5, 8]}
        lock = threading.Lock()
        lock.acquire()
        threading.Thread(target=release, args=(lock, partner), daemon=True).start()
        print("hangs", flush=True)
        lock.acquire()  # stands: hanging
        return sum(batch["tokens"])


def release(lock: threading.Lock, partner: str) -> None:
    while not Path(partner).exists():
        time.sleep(0.1)
    lock.release()


def main() -> None:
    ray.init()
    last = max(ray.nodes(), key=lambda node: str(node["NodeManagerAddress"]))
    actor = Hanging.options(
        name="rank-1",
        scheduling_strategy=NodeAffinitySchedulingStrategy(last["NodeID"], soft=False),
    ).remote()
    print("went on with", ray.get(actor.fit.remote(sys.argv[1])), flush=True)


main()
