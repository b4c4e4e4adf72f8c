"""A rank that hangs in a collective of gloo is inspected, and continues when its partner arrives (torch_ranks)."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.debug.source_mapping.source_mapping import SourceMapping
from eagleray.observe.look_inside import inspections
from eagleray.observe.look_inside.inspections import Inspections

from tests.dap_client import DapClient, RequestFailed
from tests.observe.hangs.ranks import two_ranks
from tests.remote.inspecting.test_virtual_stop import frame_named, shown

pytestmark = pytest.mark.torch_ranks

PROGRAM = """
import os, sys, torch
import torch.distributed as dist
def fit(rank):
    dist.init_process_group("gloo")
    gradient = torch.arange(4.0)
    large = torch.arange(100)
    model = torch.nn.Linear(3, 2)
    tall = torch.zeros(10_000, 1)
    # As on a GPU, its numbers aren't in the memory of the CPU.
    distant = torch.empty(3, device="meta")
    print("ready", flush=True)
    if rank == 1:
        sys.stdin.readline()
    dist.all_reduce(gradient)
    print("reduced to", gradient.tolist(), flush=True)
    # Without this one of three ranks ends with SIGABRT, looked into or not (torch 2.13).
    dist.destroy_process_group()
fit(int(os.environ["RANK"]))
"""


async def test_rank_in_all_reduce_shows_its_tensors_and_continues_with_its_partner(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def story(client: DapClient) -> None:
        names = [frame["name"] for frame in client.stack(1)]
        assert "all_reduce" in names
        frame = frame_named(client, "fit")
        variables = client.variables(frame["id"])
        assert variables["gradient"].startswith("Tensor([0, 1, 2, 3], shape=(4,)")
        assert variables["large"].startswith("Tensor(min=0, max=99, mean=49.5, shape=(100,)")
        assert client.evaluate("gradient.sum().item()", frame["id"]) == "6.0"
        assert client.evaluate("model.weight.shape[0]", frame["id"]) == "2"
        assert client.evaluate("model.weight.shape", frame["id"]) == "(2, 3)"
        assert client.evaluate("len(gradient)", frame["id"]) == "4"
        assert client.evaluate("gradient.dtype", frame["id"]) == "torch.float32"
        assert client.evaluate("distant.shape", frame["id"]) == "(3,)"
        assert "shape=(3,)" in variables["distant"]
        with pytest.raises(RequestFailed, match="a tensor of meta may wait for it"):
            client.evaluate("distant.sum()", frame["id"])
        for expression in ("gradient.sum(0, out=gradient)", "tall + tall.T"):
            with pytest.raises(RequestFailed, match=r"may change them|much memory"):
                client.evaluate(expression, frame["id"])
        for expression in ("dist.barrier()", "model(gradient)", "gradient.add_(1)"):
            with pytest.raises(RequestFailed, match="may change the program or wait"):
                client.evaluate(expression, frame["id"])

    monkeypatch.setattr(inspections, "run_folder", lambda: tmp_path)
    mapping = SourceMapping(None, tmp_path)  # type: ignore[arg-type]
    opened = Inspections(mapping, lambda _: None)  # type: ignore[arg-type,return-value]
    with two_ranks("-c", PROGRAM) as (waiting, partner):
        await shown(opened, waiting.pid, story)
        output, _ = partner.communicate("\n", timeout=60)
        assert output == "reduced to [0.0, 2.0, 4.0, 6.0]\n"
        assert waiting.stdout is not None
        assert waiting.stdout.readline() == output
        assert waiting.wait(timeout=60) == 0
    await opened.close()
