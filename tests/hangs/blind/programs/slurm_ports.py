"""Derives the address of the first rank from the job's number, as sites without torchrun do."""

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from rendezvous import RANK, WORLD, say


def node_of(rank):
    return rank // 2


def master_port():
    base = int(os.environ["MASTER_PORT"])
    # The second node still has the environment of an older job.
    return base + (1 if node_of(RANK) == 1 else 0)


def connect():
    store = dist.TCPStore(
        os.environ["MASTER_ADDR"],
        master_port(),
        WORLD,
        is_master=RANK == 0,
        timeout=timedelta(minutes=20),
        wait_for_workers=RANK % 2 == 0 and RANK < 2,
    )
    dist.init_process_group(
        "gloo", store=store, rank=RANK, world_size=WORLD, timeout=timedelta(minutes=20)
    )


if __name__ == "__main__":
    say("connecting")
    connect()
    say("connected")
    dist.all_reduce(torch.ones(1))
