"""Actors of Ray that train on gloo and then call different collectives: odd ranks gather while even ones reduce.

`late`: each sets its rank in its own environment, as Ray Train and OpenRLHF do; `arguments`: no variable has it; `paused`:
rank 1 waits in breakpoint() instead, and rank 0 handles an exception that it has printed; `all_paused_but_first`: rank 0
reduces, and the others wait in breakpoint(); `killed`: rank 1 is killed, and
the others wait for its file.
"""

import os
import signal
import sys
import time
import traceback
from pathlib import Path

import ray
import torch
import torch.distributed as dist


@ray.remote(num_cpus=0)
class Trainer:
    def __init__(self, how: str, rank: int, world: int, port: str) -> None:
        torch.set_num_threads(1)
        # As in a run of Eagleray.
        os.environ["TORCH_FR_BUFFER_SIZE"] = "2000"
        self.rank, self.world = rank, world
        self.gradient = torch.ones(100)
        self.how = how
        if how != "arguments":
            os.environ |= {"RANK": str(rank), "WORLD_SIZE": str(world)}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
            dist.init_process_group("gloo")
        else:
            address = f"tcp://127.0.0.1:{port}"
            dist.init_process_group("gloo", init_method=address, rank=rank, world_size=world)

    def train_step(self) -> int:
        dist.all_reduce(self.gradient)
        return self.rank

    def hang(self) -> None:
        if self.how == "killed":
            self.wait_for_checkpoint()
        elif (self.how, self.rank) == ("paused", 1) or (
            self.how == "all_paused_but_first" and self.rank
        ):
            breakpoint()
        elif self.how == "paused" and self.rank == 0:
            self.reduce_after_failure()
        elif self.how in ("late", "arguments") and self.rank % 2:
            self.gather()
        else:
            self.reduce()

    def wait_for_checkpoint(self) -> None:
        if self.rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
        while not Path("/nonexistent/checkpoint").exists():
            time.sleep(0.1)

    def reduce_after_failure(self) -> None:
        try:
            raise ValueError("no reward of sample 7")
        except ValueError:
            traceback.print_exc()
            self.reduce()

    def gather(self) -> None:
        parts = [torch.zeros(100) for _ in range(self.world)]
        dist.all_gather(parts, self.gradient)

    def reduce(self) -> None:
        dist.all_reduce(self.gradient)


if __name__ == "__main__":
    how, size, port = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    ray.init()
    trainers = [
        Trainer.options(name=f"trainer-{rank}").remote(how, rank, size, port)
        for rank in range(size)
    ]
    ray.get([trainer.train_step.remote() for trainer in trainers])
    waiting = [trainer.hang.remote() for trainer in trainers]
    print("ready", flush=True)
    ray.wait(waiting, num_returns=size)
    ray.get(waiting)
