"""A rank of four that form process groups, and don't succeed: `joining.py SCENARIO`, with torchrun's variables.

Rank 2 is at fault, except where the scenario says otherwise.
"""

import os
import sys
import time

import torch
import torch.distributed as dist

RANK = int(os.environ["RANK"])
ADDRESS = "127.0.0.1"
PORT = int(os.environ["MASTER_PORT"])
WORLD = 4
IS_WRONG = RANK == 2
# For documentation: no host of any network has it.
UNREACHABLE = "198.51.100.7"


def join(*, address: str = ADDRESS, port: int = PORT, rank: int = RANK, size: int = WORLD) -> None:
    dist.init_process_group(
        "gloo", init_method=f"tcp://{address}:{port}", rank=rank, world_size=size
    )


def read_settings() -> None:
    time.sleep(3600)


class Scenarios:
    """Each method is one scenario."""

    def other_port(self) -> None:
        join(port=PORT + IS_WRONG)

    def other_port_of_first(self) -> None:
        """Rank 0 serves the store at another port than the others expect."""
        join(port=PORT + (RANK == 0))

    def other_address(self) -> None:
        join(address=UNREACHABLE if IS_WRONG else ADDRESS)

    def other_size(self) -> None:
        join(size=WORLD + IS_WRONG)

    def further_rank(self) -> None:
        """All wait for rank 4, which was never started."""
        join(size=WORLD + 1)

    def same_rank(self) -> None:
        join(rank=1 if IS_WRONG else RANK)

    def own_store(self) -> None:
        store = dist.TCPStore(ADDRESS, PORT + IS_WRONG, WORLD, RANK == 0)
        dist.init_process_group("gloo", store=store, rank=RANK, world_size=WORLD)

    def late_first(self) -> None:
        """Rank 0, which serves the store, doesn't come."""
        if RANK == 0:
            read_settings()
        join()

    def other_backend(self) -> None:
        """The others wait for rank 2, which needs no other rank."""
        if IS_WRONG:
            # Importing it registers the backend.
            from torch.testing._internal.distributed.fake_pg import FakeStore

            dist.init_process_group("fake", rank=RANK, world_size=WORLD, store=FakeStore())
            read_settings()
        join()

    def only_some(self) -> None:
        join()
        if IS_WRONG:
            dist.all_reduce(torch.ones(1))
        dist.new_group([0, 1, 2, 3])


if __name__ == "__main__":
    torch.set_num_threads(1)
    print("ready", flush=True)
    getattr(Scenarios(), sys.argv[1])()
    dist.all_reduce(torch.ones(1))
