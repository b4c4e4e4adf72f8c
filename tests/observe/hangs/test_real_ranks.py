"""Real ranks that hang on gloo: sampled, named and inspected, while they stay as they are."""

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import psutil
import pytest
from eagleray.observe.hangs import texts
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.hosts import HostPictures
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.remote.injected import flight_record_server
from eagleray.remote.inspecting.flight_record_socket import served_record
from eagleray.remote.inspecting.inspected_process import INSIDE, inspect
from eagleray.remote.sampling.pyspy_dumps import BY_SIGNAL, Tools, dump
from eagleray.tools.pyspy import find_program

from scripts.ray_cluster import free_ports
from tests.observe.hangs.ranks import (
    PROGRAM,
    SCENARIOS,
    TORCH_PYTHON,
    hanging,
    refused_py_spy,
    states,
)
from tests.observe.hangs.test_slurm_pictures import FakeSite
from tests.ray_cluster import wait_for
from tests.remote.injected.runs import Run

pytestmark = pytest.mark.torch_ranks

CUT_OFF = PROGRAM.with_name("cut_off.py")
COMMAND = Path(sys.executable).parent / "eagleray"


def test_command_names_the_mismatch_from_one_pid_and_without_ptrace(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with hanging("mismatch", tmp_path, Run(tmp_path, breakpoints=[]).env()) as pids:
        command = [COMMAND, "stacks", "--json", "--seconds", "0.5", "--exit-code", "--pids"]
        done = subprocess.run([*command, str(pids[0])], capture_output=True, check=False)
        before = [states(pid) for pid in pids]
        monkeypatch.setattr(local, "find_program", lambda: refused_py_spy(tmp_path))
        by_signal = asyncio.run(local.take(pids[:1], SamplingPlan(pause_s=0.5)))
        assert [states(pid) for pid in pids] == before
    printed = json.loads(done.stdout)
    verdict = printed["verdict"]
    assert (done.returncode, verdict["kind"], verdict["culprits"]) == (
        3,
        SCENARIOS["mismatch"].kind,
        SCENARIOS["mismatch"].culprits,
    )
    assert sorted(each["ranks"] for each in printed["classes"]) == ["0,2", "1,3"]
    # A run shows them in its first picture, which borrows none of its threads.
    calls = {0: "all_reduce", 1: "all_gather", 2: "all_reduce", 3: "all_gather"}
    assert {row["rank"]: row["collectives"] for row in printed["ranks"]} == {
        rank: [{"group": "default_pg", "started": 4, "ended": 3, "call": call}]
        for rank, call in calls.items()
    }
    assert "as collective 4 of default_pg" in verdict["sentence"]
    assert printed["inside"] == []
    assert printed["coverage"]["seen"] == 4
    assert printed["coverage"].pop("samples") == 3
    assert not any(value for name, value in printed["coverage"].items() if name != "seen")

    assert (by_signal.verdict.kind, by_signal.verdict.culprits) == (
        SCENARIOS["mismatch"].kind,
        SCENARIOS["mismatch"].culprits,
    )
    assert sorted(by_signal.coverage.main_only) == [0, 1, 2, 3]
    assert [(row.started, row.ended) for each in by_signal.ranks for row in each.collectives] == [
        (4, 3)
    ] * 4
    assert any("further threads of ranks 0-3" in line for line in texts.lines(by_signal))


def test_rank_that_raised_tells_its_exception_from_its_cleanup(tmp_path: Path) -> None:
    with hanging("cleanup", tmp_path) as pids:
        before = [states(pid) for pid in pids]
        taken = asyncio.run(local.take(pids, SamplingPlan(pause_s=0.5, native=True)))
        reading, expected = taken.verdict, SCENARIOS["cleanup"]
        assert (reading.kind, reading.culprits) == (expected.kind, expected.culprits)
        # The end of a process group has no frame of Python.
        assert reading.sentence.endswith(
            " Rank 0 is in c10d::ProcessGroupGloo::~ProcessGroupGloo of libtorch_cpu.so."
        )
        assert [each.rank for each in taken.native] == [0, 2]
        assert any("recv" in frame.function.lower() for frame in taken.native[1].frames)
        assert not any(each.resumed or each.reason for each in taken.native)
        found = inspect(pids[0], ("self.gradient.numel()",), Tools(find_program()))
        assert found.how == INSIDE
        assert found.exception == "ValueError('shape of microbatch 3 does not fit')"
        assert float(found.values[0].value) == 1000
        assert [states(pid) for pid in pids] == before


def test_pid_of_torchrun_shows_its_ranks_and_their_data_loaders(tmp_path: Path) -> None:
    [port] = free_ports(1)
    with subprocess.Popen(
        [
            *(TORCH_PYTHON, "-m", "torch.distributed.run"),
            *("--nproc-per-node=4", f"--master-port={port}"),
            *("--log-dir", tmp_path, "--redirects=3", PROGRAM, "data_loader"),
        ],
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stderr=subprocess.DEVNULL,
    ) as torchrun:
        try:
            wait_for("ranks", lambda: len(ready(tmp_path)) == 4)
            # It is forked after that line, and listed only if it is there when the picture begins.
            wait_for("the data loader", lambda: grandchildren(torchrun.pid))
            taken = asyncio.run(local.take([torchrun.pid], SamplingPlan(pause_s=0.5)))
        finally:
            # It ends its ranks.
            torchrun.terminate()
    expected = SCENARIOS["data_loader"]
    assert (taken.verdict.kind, taken.verdict.culprits) == (expected.kind, expected.culprits)
    roles = Counter(row.role for row in taken.ranks)
    assert (roles["launcher"], roles["rank"], roles["data loader"]) == (1, 4, 1)
    assert {row.pid for row in taken.ranks if row.role == "launcher"} == {torchrun.pid}


def grandchildren(pid: int) -> list[psutil.Process]:
    return [each for child in psutil.Process(pid).children() for each in child.children()]


def ready(folder: Path) -> list[Path]:
    """The outputs of ranks that are about to hang."""
    return [path for path in folder.rglob("stdout.log") if "ready" in path.read_text()]


def test_counters_of_ranks_on_a_host_whose_network_is_cut_prove_the_transport(
    tmp_path: Path,
) -> None:
    # Other checkouts may run the same test on this machine at the same time.
    mark = f"of-{os.getpid()}"
    network = ["unshare", "--net"]
    command = [*network, sys.executable, CUT_OFF, TORCH_PYTHON, PROGRAM, mark]
    with subprocess.Popen(
        command,
        env={**os.environ, **Run(tmp_path, breakpoints=[]).env(EAGLERAY_RECORD_SERVER="on")},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as ranks:
        assert ranks.stdout and ranks.stdout.readline() == b"cut\n"
        site: Any = FakeSite("", "")
        pictures = HostPictures(site)
        served, taken = (
            asyncio.run(pictures.take(["host"], f"cut_off {mark}", plan))
            for plan in (SamplingPlan(pause_s=0.5), SamplingPlan(pause_s=0.5, inside=True))
        )
        assert ranks.stdin
        ranks.stdin.close()
    for picture in (served, taken):
        assert (picture.verdict.kind, picture.verdict.culprits) == ("transport", "")
        assert "started collective 4 (all_reduce) of default_pg" in picture.verdict.sentence
    # PyTorch has told them, and no thread of the ranks.
    assert served.inside == ()
    assert [(each.rank, each.reason) for each in taken.inside] == [(0, ""), (1, "")]


def test_rank_outside_the_group_is_named_and_once_it_has_joined_the_extra_broadcast(
    tmp_path: Path,
) -> None:
    with hanging("initialization", tmp_path) as pids:
        alone = asyncio.run(local.take(pids[:1], SamplingPlan(pause_s=0.5))).verdict
        os.kill(pids[2], signal.SIGUSR1)
        wait_for("the broadcast", lambda: is_in(pids[0], "broadcast"))
        wait_for("the reduction", lambda: all(is_in(pid, "all_reduce") for pid in pids[1:]))
        taken = asyncio.run(local.take(pids[:1], SamplingPlan(pause_s=0.5, inside=True))).verdict
    for verdict, scenario in ((alone, "initialization"), (taken, "extra_broadcast")):
        expected = SCENARIOS[scenario]
        assert (verdict.kind, verdict.culprits) == (expected.kind, expected.culprits)
    assert SCENARIOS["initialization"].words in alone.sentence
    assert "Rank 0 calls broadcast (trainer.py:" in taken.sentence
    assert "as collective 1 of default_pg, ranks 1-3 all_reduce" in taken.sentence


def test_rank_that_finished_is_named_by_its_exit_code_where_the_other_waits_in_a_collective() -> (
    None
):
    # On a network that works, gloo ends the other ranks at once; NCCL doesn't.
    mark = f"of-{os.getpid()}"
    command = ["unshare", "--net", sys.executable, CUT_OFF, TORCH_PYTHON, PROGRAM, mark, "1"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL
    ) as parent:
        assert parent.stdout and parent.stdout.readline() == b"cut\n"
        waits, finished = sorted(child.pid for child in psutil.Process(parent.pid).children())
        wait_for("the end of rank 1", lambda: states(finished) == "Z")
        wait_for("the reduction", lambda: is_in(waits, "all_reduce"))
        taken = asyncio.run(local.take([waits], SamplingPlan(pause_s=0.5)))
        assert parent.stdin
        parent.stdin.close()
    assert (taken.verdict.kind, taken.verdict.culprits) == ("rank-dead", "1")
    assert re.fullmatch(
        r"Rank 1 has finished with exit code 0\. "
        r"It takes no part in all_reduce \(trainer\.py:\d+\), where the others wait\.",
        taken.verdict.sentence,
    )
    assert [(each.rank, each.exit_code) for each in taken.exits] == [(1, 0)]


# Rank 3 finishes and rank 2 fails once they may; the others don't let torchrun end them.
FINISHING = """
import os, pathlib, signal, sys, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
code = {"3": 0, "2": 1}.get(os.environ["RANK"])
while code is None or not pathlib.Path(sys.argv[1], f"may_end_with_{code}").exists():
    time.sleep(0.05)
sys.exit(code)
"""


def test_rank_that_torchrun_lets_finish_is_told_from_one_for_which_it_ends_the_others(
    tmp_path: Path,
) -> None:
    program = tmp_path / "finishing.py"
    program.write_text(FINISHING)
    [port] = free_ports(1)
    words = ["-m", "torch.distributed.run", "--nproc-per-node=4", f"--master-port={port}"]
    with subprocess.Popen(
        [str(TORCH_PYTHON), *words, str(program), str(tmp_path)], stderr=subprocess.DEVNULL
    ) as torchrun:
        parent = psutil.Process(torchrun.pid)
        try:
            wait_for("the ranks", lambda: len(parent.children()) == 4)
            (tmp_path / "may_end_with_0").touch()
            wait_for("the end of rank 3", lambda: len(parent.children()) == 3)
            finished = asyncio.run(local.take([torchrun.pid], SamplingPlan(pause_s=0.1)))
            (tmp_path / "may_end_with_1").touch()
            wait_for("the end of rank 2", lambda: len(parent.children()) == 2)
            failed = asyncio.run(local.take([torchrun.pid], SamplingPlan(pause_s=0.1)))
        finally:
            for child in parent.children():
                child.kill()
            torchrun.kill()
    assert (finished.verdict.kind, finished.verdict.culprits) == ("rank-dead", "3")
    assert finished.verdict.sentence == "Rank 3 has finished with exit code 0."
    assert (failed.verdict.kind, failed.verdict.culprits) == ("rank-dead", "2-3")
    assert failed.verdict.sentence == "Ranks 2-3 have ended. No exit code is available."


def is_in(pid: int, call: str) -> bool:
    frames = [
        frame for thread in dump(pid, Tools(find_program())).threads for frame in thread.frames
    ]
    return any(frame.function == call for frame in frames)


def test_rank_that_keeps_the_gil_is_not_asked_but_writes_its_stack_and_its_record(
    tmp_path: Path,
) -> None:
    served = Run(tmp_path, breakpoints=[]).env(EAGLERAY_RECORD_SERVER="on")
    with hanging("gil", tmp_path, served) as pids:
        threads = [psutil.Process(pid).num_threads() for pid in pids]
        first = asyncio.run(local.take(pids, SamplingPlan(pause_s=0.5)))
        assert [psutil.Process(pid).num_threads() for pid in pids] == threads
        taken = asyncio.run(local.take(pids, SamplingPlan(pause_s=0.5, inside=True)))
        refused = Tools(py_spy=refused_py_spy(tmp_path))
        written = dump(pids[1], refused)
        [main] = written.threads
    # Already without a thread of theirs.
    assert "Rank 1 has not started collective 4 (all_reduce)" in first.verdict.sentence
    assert [
        (row.rank, *((each.group, each.started, each.ended) for each in row.collectives))
        for row in sorted(first.ranks, key=lambda row: row.rank)
    ] == [(rank, ("default_pg", 3 if rank == 1 else 4, 3)) for rank in range(4)]
    assert first.inside == ()
    assert taken.verdict.culprits == SCENARIOS["gil"].culprits
    # The loop of the regular expression, or what it calls.
    held = re.compile(r"Rank 1 holds the GIL in sre_ucs1_(match|count) of libpython")
    assert held.search(taken.verdict.sentence)
    assert [each.rank for each in taken.native] == [1]
    assert "Rank 1 has not started collective 4 (all_reduce)" in taken.verdict.sentence
    reasons = {each.rank: each.reason for each in taken.inside}
    assert reasons == {0: "", 1: "gil-held", 2: "", 3: ""}
    assert (written.how, main.is_main, main.active) == (BY_SIGNAL, True, True)
    assert "parse_answer" in [frame.function for frame in main.frames]
    # The ranks were killed.
    assert sockets(pids)
    flight_record_server.remove_abandoned(flight_record_server.folder())
    assert not sockets(pids)


def sockets(pids: Iterable[int]) -> list[Path]:
    """Returns the sockets on which ranks serve their records."""
    return [path for pid in pids for path in Path(flight_record_server.folder()).glob(f"{pid}-*")]


FORKING = """
import os, sys, torch.distributed as dist
dist.init_process_group("gloo", rank=0, world_size=1, init_method="tcp://127.0.0.1:" + sys.argv[1])
child = os.fork()
if child == 0:
    # As multiprocessing ends; anything else hangs in gloo, also without a server (torch 2.13).
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
sys.stdout.write("forked\\n"); sys.stdout.flush()
sys.stdin.readline()
dist.destroy_process_group()
"""


@pytest.mark.parametrize("server", ["", "on"])
def test_rank_that_serves_its_record_forks_and_ends_as_without(tmp_path: Path, server: str) -> None:
    served = Run(tmp_path, breakpoints=[]).env(EAGLERAY_RECORD_SERVER=server)
    [port] = free_ports(1)
    with subprocess.Popen(
        [TORCH_PYTHON, "-c", FORKING, str(port)],
        env={**os.environ, **served},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as rank:
        assert rank.stdin and rank.stdout
        assert rank.stdout.readline() == "forked\n"
        record = served_record(rank.pid)
        rank.stdin.close()
    assert (rank.returncode, record is not None) == (0, True)
    assert sockets([rank.pid]) == []
