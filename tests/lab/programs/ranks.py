"""A rank that waits in a collective of the fake torch: odd ranks in another one than even ranks."""

import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "fake_torch/torch/distributed"))

import distributed_c10d as dist


class Trainer:
    def fit(self, rank: int) -> None:
        self.last_error = ConnectionError(f"attempt of rank {rank}")
        if rank % 2:
            self.gather()
        else:
            self.reduce()

    def gather(self) -> None:
        dist.all_gather()

    def reduce(self) -> None:
        dist.all_reduce()


rank = int(os.environ.get("RANK") or os.environ["SLURM_PROCID"])
print(f"ready {rank}", flush=True)
Trainer().fit(rank)
