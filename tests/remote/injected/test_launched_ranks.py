"""Ranks of a real torchrun stop by their numbers and where they fail; its launcher is left alone (torch_ranks)."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.remote.injected.runs import Run, RunDebugging, breakpoints, line_of
from tests.remote.injected.test_plain_programs import Programs, driver_proxy, said
from tests.shared_clusters import TORCH_PYTHON

pytestmark = pytest.mark.torch_ranks

PROGRAM = """\
import os
rank = int(os.environ["RANK"])
print("rank", rank, flush=True)  # stop: begins
if rank == 1:
    raise ValueError(rank)  # stop: fails
"""
WAITS = """\
import torch, torch.distributed as dist
dist.init_process_group("gloo")
dist.breakpoint(rank=1)
total = torch.ones(1)
dist.all_reduce(total)
print(total.item(), flush=True)
"""


@pytest.fixture
def start() -> Iterator[Programs]:
    programs = Programs(TORCH_PYTHON)
    yield programs
    programs.end()


def test_chosen_rank_of_torchrun_stops_and_its_launcher_does_not(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "train.py"
    file.write_text(PROGRAM)
    run = Run(
        tmp_path,
        breakpoints=breakpoints(file, "begins"),
        ranks=[1],
        post_mortem=True,
        main="train.py",
        wait_s=100,
    )
    torchrun = Path(TORCH_PYTHON).with_name("torchrun")
    program = start(run, torchrun, "--nproc-per-node", "2", file)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        assert (proxy.hello["name"], proxy.hello["rank"]) == ("train.py", "1")
        for name in ("begins", "fails"):
            assert debugging.stop()[1] == line_of(file, name)
            debugging.go_on()
        # A stop of the launcher, which ends with ChildFailedError, would wait for a debugger.
        code, out, err = said(program)
    assert (code, sorted(out.splitlines())) == (1, ["rank 0", "rank 1"])
    assert "ChildFailedError" in err


def test_breakpoint_of_torch_stops_in_the_debugger_of_the_run(
    start: Programs, tmp_path: Path
) -> None:
    file = tmp_path / "waits.py"
    file.write_text(WAITS)
    lines = [{"path": "/elsewhere/x.py", "lines": [{"line": 9}]}]
    run = Run(tmp_path, breakpoints=lines, ranks=[1], input=False, wait_s=100)
    torchrun = Path(TORCH_PYTHON).with_name("torchrun")
    program = start(run, torchrun, "--nproc-per-node", "2", file)
    with driver_proxy(run) as proxy:
        debugging = RunDebugging(proxy, run)
        # The other rank waits in the same function of torch.
        assert debugging.stop()[0] == "breakpoint"
        frames = debugging.client.stack(debugging.thread)
        assert frames[1]["line"] == 3
        debugging.go_on()
        code, out, err = said(program)
    assert (code, out.count("2.0")) == (0, 2), err
