"""Builds a fused kernel before training; each node has a build folder of its own, and a lock file in it."""

import os
import tempfile

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say
from torch.utils.file_baton import FileBaton


def build_folder():
    folder = os.path.join(tempfile.gettempdir(), f"kernels-node{RANK // 2}")
    os.makedirs(folder, exist_ok=True)
    return folder


def build_kernel():
    lock = os.path.join(build_folder(), "lock")
    if RANK >= 2:
        # A job that was cancelled on the second node during its build has left its lock.
        open(lock, "w").close()
    if RANK % 2 == 0:
        say("kernel")
    baton = FileBaton(lock)
    if RANK >= 2:
        baton.wait()
    return torch.square


def main():
    kernel = build_kernel()
    say("starting")
    join()
    dist.all_reduce(kernel(torch.ones(4)))
    say("done")


if __name__ == "__main__":
    main()
