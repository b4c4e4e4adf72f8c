"""An actor-learner loop whose trajectories are prefetched by a thread into a bounded queue."""

import queue
import threading

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class TrajectoryPrefetcher:
    def __init__(self, depth=2):
        self.ready = queue.Queue(maxsize=depth)
        threading.Thread(target=self._produce, name="prefetch").start()

    def _produce(self):
        version = 0
        while True:
            self.ready.put({"obs": torch.zeros(4), "version": version})
            version += 1

    def next(self):
        return self.ready.get()


class Learner:
    def __init__(self):
        self.weight = torch.zeros(4)

    def update(self, trajectory):
        if RANK == 4 and trajectory["version"] == 5:
            raise AssertionError("advantage is NaN in 3 of 128 trajectories")
        parts = [torch.zeros(4) for _ in range(WORLD)]
        dist.all_gather(parts, trajectory["obs"])
        self.weight += sum(parts)


def main():
    join()
    prefetcher = TrajectoryPrefetcher()
    learner = Learner()
    while True:
        trajectory = prefetcher.next()
        learner.update(trajectory)
        say(f"version {trajectory['version']}")


if __name__ == "__main__":
    main()
