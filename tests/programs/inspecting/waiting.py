"""An actor that waits for a lock until a file exists, as a rank waits for its partners; then the program ends."""

import sys
import threading
import time
from pathlib import Path

import ray


@ray.remote
class Trainer:
    def fit(self, steps: int, partner: str) -> int:
        batch = {"tokens": [3, 5, 8], "step": steps}
        lock = threading.Lock()
        lock.acquire()
        threading.Thread(target=release, args=(lock, partner), daemon=True).start()
        print("waiting", flush=True)
        lock.acquire()  # waits here
        return sum(batch["tokens"]) + batch["step"]


def release(lock: threading.Lock, partner: str) -> None:
    while not Path(partner).exists():
        time.sleep(0.1)
    lock.release()


if __name__ == "__main__":
    ray.init()
    trainer = Trainer.options(name="trainer-0").remote()
    print("went on with", ray.get(trainer.fit.remote(41, sys.argv[1])), flush=True)
