"""Values whose memory the program has freed are shown without their numbers, and the program keeps running (torch_ranks)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from eagleray.remote.inspecting.inspected_process import Inspected

from tests.observe.hangs.ranks import TORCH_PYTHON, two_ranks
from tests.remote.inspecting.test_processes import ends, python

pytestmark = pytest.mark.torch_ranks

# Each value kills the process when it is read in place: by SIGSEGV, `truncated` by SIGBUS.
PROGRAM = """
import ctypes, mmap, os, sys, tempfile, torch, numpy as np
from multiprocessing import shared_memory

def truncated_map():
    with tempfile.TemporaryFile() as file:
        file.write(bytes(8192))
        file.flush()
        made = mmap.mmap(file.fileno(), 8192)
        os.ftruncate(file.fileno(), 0)
    return made

def step():
    freed = torch.ones(1000)
    part = freed[10:20]
    freed.untyped_storage().resize_(0)
    shrunk = torch.ones(1000)
    shrunk.untyped_storage().resize_(40)
    memory = shared_memory.SharedMemory(create=True, size=8000)
    shared = np.ndarray((1000,), dtype="f8", buffer=memory.buf)
    shared_part, shared_tensor = shared[3:7], torch.from_numpy(shared)
    memory.close()
    memory.unlink()
    truncated = np.frombuffer(truncated_map(), dtype="u1")
    pointer = ctypes.c_char_p()
    ctypes.memmove(ctypes.byref(pointer), (0x12345).to_bytes(8, "little"), 8)
    error = ValueError()
    error.args = (error,)
    sys.setrecursionlimit(10**6)
    alive = torch.arange(12.0).reshape(3, 4)
    print("ready", flush=True)
    sys.stdin.readline()
    print("went on", alive.sum().item(), flush=True)

step()
"""

# Rank 0 has kept a weight that `fully_shard` has gathered for the forward pass, and then freed.
SHARDED = """
import sys, torch
import torch.distributed as dist
from torch.distributed.fsdp import fully_shard

def fit():
    dist.init_process_group("gloo")
    mesh = dist.device_mesh.init_device_mesh("cpu", (2,))
    layer, head = torch.nn.Linear(512, 512), torch.nn.Linear(512, 4)
    weights = []
    layer.register_forward_hook(lambda module, *_: weights.append(module.weight))
    for each in (layer, head):
        fully_shard(each, mesh=mesh)
    loss = head(layer(torch.ones(2, 512))).sum()
    loss.backward()
    weight = weights[0]
    assert weight.untyped_storage().nbytes() == 0
    print("ready", flush=True)
    sys.stdin.readline()
    dist.barrier()
    print("went on", flush=True)
    dist.destroy_process_group()

fit()
"""


@contextmanager
def frame_of(pid: int, function: str) -> Iterator[tuple[Inspected, int]]:
    inspected = Inspected(pid)
    try:
        thread = next(each for each in inspected.ask("threads")["threads"] if each["is_main"])
        names = [frame["function"] for frame in thread["stack"]]
        yield inspected, names.index(function)
    finally:
        inspected.close()


def test_dead_values_are_listed_and_calculated_with_without_a_signal() -> None:
    with python(PROGRAM, str(TORCH_PYTHON)) as process:
        with frame_of(process.pid, "step") as (inspected, frame):
            listed = {
                each["name"]: each["value"]
                for each in inspected.ask("variables", frame=frame)["variables"]
            }
            assert listed["freed"] == "Tensor(shape=(1000,), dtype=torch.float32, device=cpu)"
            assert listed["part"] == "Tensor(shape=(10,), dtype=torch.float32, device=cpu)"
            assert listed["shared"] == "ndarray(shape=(1000,), dtype=float64)"
            assert listed["truncated"] == "ndarray(shape=(8192,), dtype=uint8)"
            assert listed["alive"].startswith("Tensor([[0, 1, 2, 3], [4, 5, 6, 7], ")
            assert len(listed["error"]) < 100
            for name in ("freed", "part", "shrunk", "shared", "shared_part", "truncated"):
                for form in (
                    "{}.sum()",
                    "{}.tolist()",
                    "{} + 1",
                    "{} == {}",
                    "{}[{} > 0]",
                    "{}[3:]",
                ):
                    expression = form.replace("{}", name)
                    answer = inspected.ask("evaluate", frame=frame, expression=expression)
                    assert "freed" in answer.get("error", "") or form == "{}[3:]", answer
            for expression in ("shared_tensor.max()", "pointer.value", "error.args"):
                assert inspected.ask("evaluate", frame=frame, expression=expression)
            # The rest of a storage that was made smaller exists.
            first = inspected.ask("evaluate", frame=frame, expression="shrunk[9].item()")
            assert first["value"] == "1.0"
        assert ends(process) == (0, "went on 66.0\n", "")


def test_rank_with_a_weight_that_fsdp_has_freed_reaches_its_next_collective() -> None:
    with two_ranks("-c", SHARDED) as (rank, partner):
        with frame_of(rank.pid, "fit") as (inspected, frame):
            listed = inspected.ask("variables", frame=frame)["variables"]
            weight = next(each["value"] for each in listed if each["name"] == "weight")
            assert weight == "Parameter(shape=(512, 512), dtype=torch.float32, device=cpu)"
            answer = inspected.ask("evaluate", frame=frame, expression="weight.mean()")
            assert "has freed this memory" in answer["error"]
        assert rank.stdin is not None and rank.stdout is not None
        rank.stdin.write("\n")
        rank.stdin.flush()
        assert partner.communicate("\n", timeout=60)[0] == "went on\n"
        assert rank.stdout.readline() == "went on\n"
        assert rank.wait(timeout=60) == 0
