"""Exports weights for the inference engine; marker files say which ranks have written theirs."""

import os
import tempfile
import time
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, join, say


class Exporter:
    def __init__(self, folder):
        self.folder = folder
        folder.mkdir(exist_ok=True)

    def marker(self, version, rank):
        return self.folder / f"v{version}.rank{rank}.done"

    def export(self, version, weight):
        if not torch.isfinite(weight).all():
            say("weights are not finite, giving up")
            os._exit(13)
        self.marker(version, RANK).touch()
        self.wait_for_everyone(version)

    def wait_for_everyone(self, version):
        while not all(self.marker(version, rank).exists() for rank in range(WORLD)):
            time.sleep(5)


def main():
    join()
    where = [tempfile.mkdtemp(prefix="export-") if RANK == 0 else None]
    dist.broadcast_object_list(where, src=0)
    exporter = Exporter(Path(where[0]))
    for version in range(1000):
        dist.barrier()
        weight = torch.ones(4)
        if RANK == 5 and version == 1:
            weight[2] = float("inf")
        say(f"exporting version {version}")
        exporter.export(version, weight)


if __name__ == "__main__":
    main()
