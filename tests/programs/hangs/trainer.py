"""A training loop of four ranks on gloo that hangs in the way named by its first argument.

Started once for each rank, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; prints `ready` before it hangs.
"""

import os
import re
import sys
import threading
import time

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
WORLD = int(os.environ["WORLD_SIZE"])


class Trainer:
    def __init__(self, scenario: str) -> None:
        self.scenario = scenario
        self.gradient = torch.ones(1000)

    def fit(self) -> None:
        for step in range(3):
            self.train_step(step)
        print("ready", flush=True)
        getattr(self, self.scenario)()

    def train_step(self, step: int) -> None:
        dist.all_reduce(self.gradient)
        self.gradient /= WORLD

    def mismatch(self) -> None:
        if RANK % 2:
            self.gather()
        else:
            self.reduce()

    def gather(self) -> None:
        parts = [torch.zeros(1000) for _ in range(WORLD)]
        dist.all_gather(parts, self.gradient)

    def reduce(self) -> None:
        dist.all_reduce(self.gradient)

    def straggler(self) -> None:
        if RANK == 2:
            self.load_checkpoint()
        self.reduce()

    def load_checkpoint(self) -> None:
        threading.Event().wait()

    def cleanup(self) -> None:
        """Ranks 0 and 1 fail and tear down with a message outstanding, while the others wait for theirs."""
        try:
            if RANK < 2:
                self.backward = dist.irecv(torch.empty(1000), src=RANK + 2)
                raise ValueError("shape of microbatch 3 does not fit")
            dist.recv(self.gradient, src=RANK - 2)
        finally:
            dist.destroy_process_group()

    def exception_in_flight(self) -> None:
        """Ranks 0 and 1 wait in a barrier of their `finally` while an exception is on its way out."""
        try:
            if RANK < 2:
                raise ValueError("no target for sample 7")
            self.reduce()
        finally:
            dist.barrier()

    def gil(self) -> None:
        if RANK == 1:
            self.parse_answer()
        self.reduce()

    def parse_answer(self) -> None:
        re.match(r"(a+)+$", "a" * 60 + "b")

    def transport(self) -> None:
        """All ranks are in the same call; the partner that doesn't answer is outside of them."""
        if RANK == 0:
            dist.recv(self.gradient, src=1, tag=7)
        else:
            dist.recv(self.gradient, src=0, tag=7)

    def slow(self) -> None:
        for step in range(100_000):
            self.train_step(step)
            time.sleep(0.01)


if __name__ == "__main__":
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    Trainer(sys.argv[1]).fit()
