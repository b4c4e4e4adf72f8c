"""Reads training shards that a download process pipes into named pipes."""

import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say
from torch.utils.data import DataLoader, Dataset


class PipedShards(Dataset):
    def __init__(self, folder, count=64):
        self.folder = folder
        self.count = count
        for index in range(count):
            shard = folder / f"shard-{index:03}.bin"
            if RANK == 1 and index == 9:
                os.mkfifo(shard)
            else:
                shard.write_bytes(bytes(16))

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.tensor(list(self.open_shard(index)), dtype=torch.float32)

    def open_shard(self, index):
        with (self.folder / f"shard-{index:03}.bin").open("rb") as shard:
            return shard.read()


def main():
    join()
    with tempfile.TemporaryDirectory() as folder:
        loader = DataLoader(PipedShards(Path(folder)), batch_size=2, num_workers=2)
        for step, batch in enumerate(loader):
            total = batch.sum()
            dist.all_reduce(total)
            say(f"step {step}")


if __name__ == "__main__":
    main()
