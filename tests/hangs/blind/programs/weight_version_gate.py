"""Asynchronous rollout actors that wait for a new version of the weights before they generate."""

import asyncio

import ray
from rendezvous import local_ray, rank_env, say


@ray.remote(num_cpus=0)
class AsyncRollout:
    def __init__(self, rank):
        self.rank = rank
        self.version = 0
        self.changed = asyncio.Condition()

    async def update_weights(self, version):
        async with self.changed:
            self.version = version
            self.changed.notify_all()

    async def generate(self, version):
        async with self.changed:
            await self.changed.wait_for(lambda: self.version > version)
        await asyncio.sleep(0.01)
        print(f"rollout {self.rank} generated with {self.version}", flush=True)
        return self.rank


if __name__ == "__main__":
    local_ray(2)
    fleet = [AsyncRollout.options(runtime_env=rank_env(rank, 2)).remote(rank) for rank in range(2)]
    for version in range(1, 100):
        # From version three on the weights are sent with the number of the step before.
        sent = version if version < 3 else version - 1
        ray.get([worker.update_weights.remote(sent) for worker in fleet])
        say(f"sent version {version}")
        ray.get([worker.generate.remote(version - 1) for worker in fleet])
