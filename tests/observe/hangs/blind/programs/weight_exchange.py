"""Two learners exchange their weights by pulling each other's after each round."""

import time

import ray
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=0)
class Learner:
    def __init__(self, name):
        self.name = name
        self.version = 0
        self.peer = None

    def connect(self, peer):
        self.peer = peer

    def weights(self):
        return self.version

    def merge(self, other):
        self.version = max(self.version, other) + 1

    def round(self, number):
        print(f"{self.name} round {number}", flush=True)
        if number < 2 and self.name == "right":
            return
        time.sleep(1)
        [ready], _ = ray.wait([self.peer.weights.remote()], num_returns=1)
        self.merge(ray.get(ready))


if __name__ == "__main__":
    local_ray(2)
    learners = [
        Learner.options(runtime_env=rank_env(rank, 2)).remote(name)
        for rank, name in enumerate(("left", "right"))
    ]
    ray.get([learners[0].connect.remote(learners[1]), learners[1].connect.remote(learners[0])])
    for number in range(100):
        ray.get([learner.round.remote(number) for learner in learners])
        say(f"round {number} done")
