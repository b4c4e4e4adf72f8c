"""A tokenizer in native code that guards its cache on disk with a lock file."""

import ctypes
import os
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from rendezvous import RANK, join, say

LOCK_EX = 2


class NativeTokenizer:
    """Called through a library that does not release the interpreter."""

    def __init__(self, cache):
        self.native = ctypes.PyDLL(None)
        self.cache = cache
        self.handle = None

    def open_cache(self):
        self.handle = os.open(self.cache, os.O_RDWR | os.O_CREAT)
        self.native.flock(self.handle, LOCK_EX)

    def close_cache(self):
        os.close(self.handle)


def main():
    join()
    where = [str(Path(tempfile.mkdtemp(prefix="tok-"), "cache.lock")) if RANK == 0 else None]
    dist.broadcast_object_list(where, src=0)
    tokenizer = NativeTokenizer(where[0])
    if RANK == 0:
        tokenizer.open_cache()
    dist.barrier()
    say("warming the cache")
    if RANK == 1:
        tokenizer.open_cache()
    vocabulary = torch.ones(16)
    dist.all_reduce(vocabulary, op=dist.ReduceOp.MIN)
    tokenizer.close_cache()
    say("warm")


if __name__ == "__main__":
    main()
