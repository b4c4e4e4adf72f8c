"""Writes a sharded checkpoint: a rank says in the store when its shard is complete."""

import tempfile
import time
from datetime import timedelta
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class ShardedCheckpointer:
    def __init__(self, folder):
        self.folder = folder
        self.store = dist.distributed_c10d._get_default_store()

    def write_shard(self, step, tensors):
        path = self.folder / f"step{step}-rank{RANK}.pt"
        torch.save(tensors, path)
        say(f"writing shard of step {step}")
        time.sleep(0.5)
        if RANK == 3 and step == 2:
            time.sleep(3600)
        self.store.set(f"shard/{step}/{RANK}", str(path))

    def commit(self, step):
        names = [f"shard/{step}/{rank}" for rank in range(WORLD)]
        self.store.wait(names, timedelta(minutes=45))

    def save(self, step, tensors):
        self.write_shard(step, tensors)
        self.commit(step)


def main():
    join()
    with tempfile.TemporaryDirectory() as folder:
        checkpointer = ShardedCheckpointer(Path(folder))
        weight = torch.zeros(8)
        for step in range(1000):
            dist.all_reduce(weight)
            checkpointer.save(step, {"weight": weight})
            say(f"step {step}")


if __name__ == "__main__":
    main()
