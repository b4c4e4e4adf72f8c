"""Starts scenarios of trainer.py or joining.py with four ranks each, which are forked, so that torch is imported only once.

Reads lines of JSON (`program`, `scenario`, `port`, `folder` for the output of the ranks) and answers each with the pids of a launcher and
its ranks.  A launcher doesn't wait for its ranks.  All of them end with this process.
"""

import ctypes
import json
import os
import runpy
import signal
import sys
from pathlib import Path

import torch
import torch.distributed
import torch.utils.data

WORLD = 4
PR_SET_PDEATHSIG = 1


def fork() -> int:
    """As `os.fork`; the child ends with its parent."""
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)
    return pid


def launch(program: str, scenario: str, port: int, folder: str) -> int | None:
    """The pid of the launcher; in a rank None, which then has its environment, and its output in `folder`."""
    reads, writes = os.pipe()
    launcher = fork()
    if launcher:
        os.close(writes)
        with os.fdopen(reads) as pids:
            print(json.dumps([launcher, *map(int, pids.readline().split())]), flush=True)
        return launcher
    os.close(reads)
    ranks = []
    for rank in range(WORLD):
        ranks.append(fork())
        if ranks[-1] == 0:
            os.close(writes)
            become(rank, port, folder)
            sys.argv = [program, scenario]
            return None
    os.write(writes, " ".join(map(str, ranks)).encode() + b"\n")
    os.close(writes)
    while True:
        signal.pause()


def become(rank: int, port: int, folder: str) -> None:
    # pdb waits for an input that stays open, of which this process has the other end, too.
    stdin, _ = os.pipe()
    output = os.open(Path(folder, f"{rank}.log"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    for number, descriptor in enumerate((stdin, output, output)):
        os.dup2(descriptor, number)
    os.environ.update(
        RANK=str(rank),
        WORLD_SIZE=str(WORLD),
        LOCAL_WORLD_SIZE=str(WORLD),
        MASTER_ADDR="127.0.0.1",
        MASTER_PORT=str(port),
    )


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("ready", flush=True)
    # Not `for line in sys.stdin`, which has read ahead what a rank would then find in its copy of the buffer.
    while line := sys.stdin.readline():
        if launch(**json.loads(line)) is None:
            break
    else:
        sys.exit()
    # Here and not in a function, so that what a rank raises ends its program.
    runpy.run_path(sys.argv[0], run_name="__main__")
