"""Starts a fleet of rollout workers and waits until all have loaded their engine."""

import ray
from rendezvous import local_ray, rank_env, say

WORLD = 4


@ray.remote(num_cpus=1)
class RolloutWorker:
    def __init__(self, rank):
        self.rank = rank

    def load_engine(self):
        print(f"worker {self.rank} loaded", flush=True)
        return self.rank


class Fleet:
    def __init__(self):
        self.workers = []

    def scale_to(self, count):
        for rank in range(len(self.workers), count):
            options = RolloutWorker.options(runtime_env=rank_env(rank, WORLD))
            self.workers.append(options.remote(rank))
        say(f"scaling to {count}")
        return ray.get([worker.load_engine.remote() for worker in self.workers])


if __name__ == "__main__":
    local_ray(3)
    fleet = Fleet()
    for count in (2, 3, WORLD):
        fleet.scale_to(count)
        say(f"{count} workers are loaded")
