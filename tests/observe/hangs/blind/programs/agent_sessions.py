"""Agentic rollouts: each session holds a slot, and so does each tool call within it."""

import asyncio

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class SessionPool:
    def __init__(self, slots):
        self.slots = asyncio.Semaphore(slots)

    async def tool(self, query):
        async with self.slots:
            await asyncio.sleep(0.01)
            return len(query)

    async def session(self, prompt):
        async with self.slots:
            await asyncio.sleep(0.05)
            return await self.tool(prompt)


async def rollout(prompts):
    pool = SessionPool(4)
    return await asyncio.gather(*[pool.session(prompt) for prompt in prompts])


class AgentTrainer:
    def prompts(self, step):
        return ["hard"] * (4 if RANK == 1 and step == 3 else 2)

    def step(self, step):
        rewards = asyncio.run(rollout(self.prompts(step)))
        total = torch.tensor([float(sum(rewards))])
        dist.all_reduce(total)
        say(f"step {step}")


if __name__ == "__main__":
    join()
    trainer = AgentTrainer()
    for step in range(1000):
        trainer.step(step)
