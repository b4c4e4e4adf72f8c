"""A training loop of four ranks on gloo that hangs in the way named by its first argument.

Started once for each rank, with RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT; prints `ready` before it hangs."""

import asyncio
import atexit
import ctypes
import os
import pdb
import re
import signal
import socket
import sys
import threading
import time
from pathlib import Path

import torch
import torch.distributed as dist
from torch.utils.data import DataLoader, Dataset

RANK, WORLD = (int(os.environ[name]) for name in ("RANK", "WORLD_SIZE"))


class Answers(Dataset):
    def __len__(self) -> int:
        return 4

    def __getitem__(self, index: int) -> torch.Tensor:
        return self.read_remote(index)

    def read_remote(self, index: int) -> torch.Tensor:
        ours, _theirs = socket.socketpair()
        ours.recv(1)
        return torch.zeros(10)


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
        """Ranks 0 and 1 fail with a collective outstanding, and end their process group while the others wait."""
        try:
            if RANK < 2:
                self.work = dist.all_reduce(self.gradient, async_op=True)
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

    def data_loader(self) -> None:
        if RANK == 3:
            for sample in DataLoader(Answers(), num_workers=1, batch_size=1):
                self.gradient += sample.sum()
        self.reduce()

    def wrong_group(self) -> None:
        everybody, pairs = dist.new_group([0, 1, 2, 3]), dist.new_group([0, 1, 2, 3])
        if RANK == 3:
            dist.all_reduce(self.gradient, group=pairs)
        else:
            dist.all_reduce(self.gradient, group=everybody)

    def pipeline(self) -> None:
        """Rank 2 takes a microbatch more than rank 1 sends."""
        for _ in range(3 if RANK >= 2 else 2):
            if RANK > 0:
                dist.recv(self.gradient, src=RANK - 1)
            if RANK < 3:
                dist.send(self.gradient, dst=RANK + 1)
        self.reduce()

    def rollouts(self) -> None:
        """The answers of rank 1 wait for a queue that no code fills."""
        if RANK == 1:
            asyncio.run(self.answers())
        self.reduce()

    async def answers(self) -> None:
        await asyncio.Queue().get()

    def generations(self) -> None:
        """The answers of rank 1 wait for an engine that gives none."""
        if RANK == 1:
            asyncio.run(self.generate_all())
        self.reduce()

    async def generate_all(self) -> None:
        tokens, rewards = asyncio.Queue(), asyncio.Queue()
        await asyncio.gather(*(self.generate(tokens) for _ in range(9)), self.score(rewards))

    async def generate(self, tokens: asyncio.Queue) -> None:
        await tokens.get()

    async def score(self, rewards: asyncio.Queue) -> None:
        await rewards.get()

    def swallowed(self) -> None:
        """Rank 1 has swallowed an exception, and never comes back."""
        if RANK == 1:
            self.try_again()
        self.reduce()

    def try_again(self) -> None:
        try:
            raise RuntimeError("CUDA error: device-side assert triggered")
        except RuntimeError as error:
            last_error = error
        threading.Event().wait()
        print(last_error)

    def group_in_variable(self) -> None:
        """At one line, rank 3 is in another group than the others."""
        groups = [dist.new_group([0, 1, 2, 3]), dist.new_group([0, 1, 2, 3])]
        group = groups[RANK == 3]
        dist.all_reduce(self.gradient, group=group)

    def killed(self) -> None:
        """Rank 0 is killed, and the others wait for the file that it was to write."""
        if RANK == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        while not Path("/nonexistent/checkpoint").exists():
            time.sleep(0.1)

    def paused(self) -> None:
        if RANK == 2:
            pdb.set_trace()
        self.reduce()

    def slow(self) -> None:
        """Nothing hangs: steps follow each other."""
        for step in range(10_000_000):
            self.train_step(step)

    def long_steps(self) -> None:
        """Rank 2 computes for longer than the others, in one call of native code each time."""
        while True:
            if RANK == 2:
                self.simulate()
            self.reduce()

    def simulate(self) -> None:
        torch.ones(1500, 1500) @ torch.ones(1500, 1500)

    def cut_off(self) -> None:
        """Waits for its input before the collective, so that the network can be cut first; `end` is the end of its data."""
        if sys.stdin.readline() != "end\n":
            self.reduce()

    def logged(self) -> None:
        """Ranks 0 and 1 end by an exception that Python has printed; their exit waits for the others."""
        atexit.register(self.agree_on_end)
        if RANK < 2:
            raise ValueError("shape of microbatch 3 does not fit")
        self.reduce()

    def agree_on_end(self) -> None:
        dist.barrier()

    def without_data(self) -> None:
        """All ranks have left a loop over no data, and a thread keeps them."""
        threading.Thread(target=self.prefetch).start()
        for _ in DataLoader([], batch_size=1):
            self.reduce()
        print("ready", flush=True)

    def prefetch(self) -> None:
        threading.Event().wait()

    def extra_broadcast(self) -> None:
        """Rank 0 broadcasts its metrics, in which no other rank takes part."""
        if RANK == 0:
            self.publish_metrics()
        self.reduce()

    def publish_metrics(self) -> None:
        dist.broadcast(torch.ones(1000), src=1)

    def raised_beside_thread(self) -> None:
        """Rank 1 ends by an exception, and one of its threads keeps its process alive."""
        if RANK == 1:
            threading.Thread(target=self.prefetch).start()
            raise ValueError("shape of microbatch 3 does not fit")
        self.reduce()

    def finished_beside_thread(self) -> None:
        """Rank 1 has fewer batches and reaches its end, and one of its threads keeps its process alive."""
        if RANK == 1:
            threading.Thread(target=self.prefetch).start()
            return
        self.reduce()

    def initialization(self) -> None:
        """Rank 2 forms the process group, in which the others wait for it, only after SIGUSR1; then rank 0 broadcasts."""
        loaded = threading.Event()
        signal.signal(signal.SIGUSR1, lambda *_: loaded.set())
        print("ready", flush=True)
        if RANK == 2:
            self.load_shard(loaded)
        dist.init_process_group("gloo")
        self.extra_broadcast()

    def load_shard(self, loaded: threading.Event) -> None:
        loaded.wait()

    def finished_early(self) -> None:
        """Rank 3 has no data and ends well, without the process group in which the others wait for it."""
        print("ready", flush=True)
        if RANK < 3:
            dist.init_process_group("gloo")

    def stopped(self) -> None:
        """A signal stops rank 1, and nothing resumes it."""
        if RANK == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        self.reduce()

    def gil_asleep(self) -> None:
        """Native code of rank 1 waits with the GIL, and uses no CPU."""
        if RANK == 1:
            self.wait_for_answer()
        self.reduce()

    def wait_for_answer(self) -> None:
        ctypes.PyDLL(None).pause()

    def other_pair(self) -> None:
        """Rank 1 takes its pair with rank 2 for that with rank 0, which waits for it; the others wait for both."""
        first, other, last = (dist.new_group(pair) for pair in ([0, 1], [1, 2], [2, 3]))
        dist.all_reduce(self.gradient, group=[first, other, last, last][RANK])
        self.reduce()

    def tokenizing(self) -> None:
        """Nothing hangs: rank 2 waits for a process that it has started, and that works."""
        if RANK == 2:
            self.run_process("tokenize")
        self.reduce()

    def tokenizing_at_once(self) -> None:
        """The process works in a single call, so that it is never seen to move."""
        if RANK == 2:
            self.run_process("tokenize_at_once")
        self.reduce()

    def run_process(self, method: str) -> None:
        process = torch.multiprocessing.Process(target=getattr(self, method), args=[os.getpid()])
        process.start()
        process.join()

    def tokenize(self, parent: int) -> None:
        position = 0
        while os.getppid() == parent:
            position += len(re.findall(r"\w+", "a text of a corpus " * 1000))

    def tokenize_at_once(self, parent: int) -> None:
        pr_set_pdeathsig = 1
        ctypes.CDLL(None).prctl(pr_set_pdeathsig, signal.SIGKILL)
        if os.getppid() == parent:
            re.search("(a+)+b", "a" * 60)


# These form the process group themselves, or don't.
BEFORE_GROUP = ("initialization", "finished_early")
WITHOUT_STEPS = ("without_data",)

if __name__ == "__main__":
    torch.set_num_threads(1)
    trainer = Trainer(sys.argv[1])
    if sys.argv[1] not in BEFORE_GROUP:
        dist.init_process_group("gloo")
    if sys.argv[1] in (*BEFORE_GROUP, *WITHOUT_STEPS):
        getattr(trainer, sys.argv[1])()
    else:
        trainer.fit()
    if sys.argv[1] == "cut_off":
        # Without it, PyTorch 2.13 aborts about one exit in twenty: a thread of the group may still run.
        dist.destroy_process_group()
