"""Reward servers that score only full batches; the last prompts of an epoch don't fill one."""

import asyncio

import ray
from rendezvous import local_ray, rank_env, say

BATCH = 4


@ray.remote(num_cpus=0)
class RewardServer:
    def __init__(self):
        self.waiting = []

    async def score(self, prompt):
        score = asyncio.get_running_loop().create_future()
        self.waiting.append((prompt, score))
        if len(self.waiting) == BATCH:
            self.flush()
        return await score

    def flush(self):
        for prompt, score in self.waiting:
            score.set_result(float(len(prompt)))
        self.waiting.clear()


if __name__ == "__main__":
    local_ray(2)
    servers = [RewardServer.options(runtime_env=rank_env(rank, 2)).remote() for rank in range(2)]
    for epoch in range(100):
        # The third epoch has two prompts fewer.
        count = 16 if epoch < 2 else 14
        prompts = [f"prompt {number}" for number in range(count)]
        say(f"epoch {epoch}")
        requests = [servers[0].score.remote(prompt) for prompt in prompts[:8]]
        requests += [servers[1].score.remote(prompt) for prompt in prompts[8:]]
        print(sum(ray.get(requests)), flush=True)
