"""Saves a gathered checkpoint: the first rank writes all tensors while the others wait."""

import hashlib
import random
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say


class CheckpointWriter:
    def __init__(self, folder):
        self.folder = folder
        self.written = 0

    def serialise(self, index):
        return bytes(torch.full((1 << 16,), index % 255, dtype=torch.uint8).numpy())

    def checksum(self, data):
        digest = hashlib.sha256()
        for _ in range(random.randrange(200, 1500)):
            digest.update(data)
        return digest.digest()

    def write(self, index):
        with (self.folder / "model.bin").open("ab" if index % 64 else "wb") as file:
            for _ in range(4):
                data = self.serialise(index)
                file.write(data + self.checksum(data))
                self.flush(file)
                self.written += len(data)
                say(f"written {self.written >> 10} KiB")

    def flush(self, file):
        file.flush()
        time.sleep(random.uniform(0.02, 0.2))

    def save(self, tensors):
        for index in range(tensors):
            self.write(index)


def main():
    join()
    dist.all_reduce(torch.ones(1))
    say("saving")
    if RANK == 0:
        with tempfile.TemporaryDirectory() as folder:
            CheckpointWriter(Path(folder)).save(400)
    dist.barrier()
    say("saved")


if __name__ == "__main__":
    main()
