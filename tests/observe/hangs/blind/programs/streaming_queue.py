"""Streams samples from generators to a trainer coroutine on every rank."""

import asyncio

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class StreamingTrainer:
    def __init__(self):
        self.samples = asyncio.Queue(maxsize=4)
        self.seen = 0

    async def generate(self):
        number = 0
        while True:
            await self.samples.put({"id": number, "reward": None if number == 20 else 1.0})
            number += 1
            await asyncio.sleep(0)

    async def consume(self):
        while True:
            sample = await self.samples.get()
            self.seen += sample["reward"]
            if sample["id"] % 5 == 4:
                say(f"seen {self.seen}")
            self.samples.task_done()

    async def run(self):
        tasks = [asyncio.create_task(self.consume()), asyncio.create_task(self.generate())]
        await asyncio.sleep(0.5)
        say("draining")
        await self.samples.join()
        for task in tasks:
            task.cancel()


if __name__ == "__main__":
    join()
    asyncio.run(StreamingTrainer().run())
    total = torch.zeros(WORLD)
    dist.all_reduce(total)
    say(f"total {total.sum()} of {RANK}")
