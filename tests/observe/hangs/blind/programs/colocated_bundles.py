"""Reserves bundles for policy and reference before it creates their workers."""

import ray
from ray.util.placement_group import placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=1)
class Worker:
    def forward(self, batch):
        return sum(batch)


class ResourcePool:
    def __init__(self, workers):
        self.workers = workers

    def reserve(self):
        group = placement_group([{"CPU": 1}] * self.workers, strategy="STRICT_PACK")
        ray.get(group.ready())
        return group


def spawn(pool):
    group = pool.reserve()
    return [
        Worker.options(
            runtime_env=rank_env(rank, pool.workers),
            scheduling_strategy=PlacementGroupSchedulingStrategy(group, rank),
        ).remote()
        for rank in range(pool.workers)
    ]


if __name__ == "__main__":
    local_ray(3)
    policy = spawn(ResourcePool(2))
    print(ray.get([worker.forward.remote([1, 2]) for worker in policy]), flush=True)
    say("policy is placed")
    reference = spawn(ResourcePool(2))
    say("reference is placed")
