"""The folders of runs: what is stored, what is removed, and output without end."""

from __future__ import annotations

import asyncio
import errno
import json
import os
import shutil
import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.protocol.runs import Breakpoint, LineBreakpoint
from eagleray.runs import model
from eagleray.runs import records as module
from eagleray.runs.adapter_gateway import AdapterRunGateway
from eagleray.runs.model import (
    BreakpointStatus,
    ProcessIdentity,
    RunPlan,
    RunState,
    RunWorkerStatus,
)
from eagleray.runs.output import Output, follow
from eagleray.runs.records import RunRecords
from eagleray.runs.run_status import outdated
from eagleray.runs.runs import Runs
from eagleray.tools.code_copies import debugger_copy, deliver, read_package, zip_package
from eagleray.tools.processes import born

PLAN = RunPlan(
    kind="program",
    argv=("python", "a b.py", "x=1"),
    cwd="/work",
    name="a b.py",
    env={"A": "1,2"},
    breakpoints=(Breakpoint("/work/a b.py", [LineBreakpoint(3, "x > 1")]),),
    workers=("*Policy*",),
    ranks=(0, 1),
)
WORKER = RunWorkerStatus("w1", 5, "worker", "policy", "paused", ("/work/a b.py",), "0", "/a.py", 3)


def ended(started: float) -> RunState:
    return RunState("exited", started, ended=started + 1, code=0)


def test_stored_plan_and_state_are_read_back(tmp_path: Path) -> None:
    records = RunRecords(tmp_path)
    state = RunState(
        "paused",
        1.5,
        supervisor=ProcessIdentity(7, 1.25),
        workers=(WORKER,),
        lines=(BreakpointStatus("/a.py", 3, "moved", 4, 1),),
    )
    record = records.create(PLAN, state)
    assert (record.plan(), record.state()) == (PLAN, state)
    assert model.plan_of_json(model.plan_to_json(PLAN)) == PLAN


@pytest.mark.parametrize(
    ("earlier", "phase"),
    [("stopped_at", "paused"), ("stopped", "cancelled"), ("ended", "exited"), ("failed", "failed")],
)
def test_state_of_an_earlier_version_is_read_in_current_words(
    tmp_path: Path, earlier: str, phase: str
) -> None:
    record = RunRecords(tmp_path).create(PLAN, RunState("running", 1.5, workers=(WORKER,)))
    file = record.folder / "state.json"
    written = json.loads(file.read_text())
    written["phase"], written["workers"][0]["state"] = earlier, "stopped"
    written["code"] = 0
    file.write_text(json.dumps(written))
    assert (record.state().phase, record.state().workers) == (phase, (WORKER,))


@pytest.mark.parametrize(
    ("argv", "name", "arguments"),
    [
        (("python", "train.py", "--steps", "3"), "train.py", "--steps 3"),
        (("python", "/w/train.py"), "train.py", ""),
        (("python", "-m", "verl.main", "a=1 2"), "verl.main", "'a=1 2'"),
        (("sbatch", "-N", "2", "batch.sub", "x"), "batch.sub", "x"),
        (("python", "train.py", "--token", "x9secret"), "train.py", "--token …"),
        (("python", "-c", "pass"), "other", ""),
    ],
)
def test_arguments_belong_to_the_program(argv: tuple[str, ...], name: str, arguments: str) -> None:
    assert (
        model.arguments_text(RunPlan(kind="program", argv=argv, cwd="/w", name=name)) == arguments
    )


def test_old_runs_are_removed_but_no_live_run(tmp_path: Path) -> None:
    records = RunRecords(tmp_path)
    ours = ProcessIdentity(os.getpid(), born(os.getpid()))
    lives = records.create(PLAN, RunState("running", 0.0, host=host_name(), supervisor=ours))
    over = [records.create(PLAN, ended(at)) for at in range(1, 6)]
    gone = [item.record.id for item in outdated(records.listed(), limit=3)]
    assert gone == [item.id for item in reversed(over[:3])]
    assert lives.id not in gone


def test_other_folders_are_left_alone(tmp_path: Path) -> None:
    records = RunRecords(tmp_path)
    record = records.create(PLAN, ended(1.0))
    (tmp_path / "strange").mkdir()
    (tmp_path / "newer").mkdir()
    (tmp_path / "newer" / "plan.json").write_text('{"kind": "teleport"}')
    assert [item.record.id for item in records.listed()] == [record.id]
    with pytest.raises(EaglerayError) as raised:
        records.find("zz")
    assert raised.value.code == "unknown-run"


@pytest.mark.parametrize("torn", ["", "\0" * 40, '{"phase": "runn'])
@pytest.mark.parametrize("file", ["plan.json", "state.json"])
def test_damaged_runs_are_removed_after_a_week(tmp_path: Path, torn: str, file: str) -> None:
    records = RunRecords(tmp_path)
    whole, broken, newer = (records.create(PLAN, ended(1.0)) for _ in range(3))
    (broken.folder / file).write_text(torn)
    (newer.folder / "plan.json").write_text('{"kind": "teleport"}')
    (tmp_path / "strange").mkdir()
    assert records.damaged(3600) == []
    for folder in tmp_path.iterdir():
        os.utime(folder, (1, 1))
    assert records.damaged(3600) == [broken]
    held = broken.lock()
    assert held is not None and not records.forget(broken, is_over=False)
    os.close(held)
    assert records.forget(broken, is_over=False) and not broken.folder.exists()
    assert [item.record for item in records.listed()] == [whole] and newer.folder.exists()


def test_full_disk_does_not_end_the_output() -> None:
    output = Output(Path("/dev/full"))
    output.write(b"is lost")
    output.close()


async def test_run_without_supervisor_has_no_output(tmp_path: Path) -> None:
    over = iter((False, True))
    assert [item async for item in follow(tmp_path / "output.log", lambda: next(over))] == []


async def test_endless_output_is_trimmed_to_its_end(tmp_path: Path) -> None:
    output = Output(tmp_path / "output.log", most=2**20)
    for number in range(40):
        output.write(f"{number:08}".encode() * 8192)
        output.trim()
    output.write(b"the end")
    output.close()
    read = b"".join([piece async for piece in follow(tmp_path / "output.log", lambda: True)])
    assert read.endswith(b"the end")
    assert b"00000000" not in read
    assert (tmp_path / "output.log").stat().st_blocks * 512 < 2 * 2**20


async def test_output_is_followed_to_its_last_byte(tmp_path: Path) -> None:
    output = Output(tmp_path / "output.log")
    output.write(b"one ")
    received, over = [], asyncio.Event()
    async for piece in follow(tmp_path / "output.log", over.is_set):
        received.append(piece)
        if len(received) == 1:
            output.write(b"two")
            over.set()
    assert b"".join(received) == b"one two"
    output.close()


def test_package_is_delivered_once_and_whole(tmp_path: Path) -> None:
    ours = read_package()
    folder = deliver(ours, tmp_path)
    assert deliver(ours, tmp_path) == folder
    assert [path.name for path in tmp_path.iterdir()] == [ours.name]
    site = folder / ours.name / "site" / "sitecustomize.py"
    assert site.read_bytes() == ours.files["site/sitecustomize.py"]
    changed = evolve(ours, files={**ours.files, "site/sitecustomize.py": b"other"})
    assert zip_package(changed)[0] != zip_package(ours)[0]


def test_debugpy_copy_is_alone_in_its_folder(tmp_path: Path) -> None:
    folder = debugger_copy(tmp_path)
    assert debugger_copy(tmp_path) == folder
    assert [path.name for path in Path(folder).iterdir()] == ["debugpy"]
    use = "import sys; sys.path.append(sys.argv[1]); import debugpy; print(debugpy.__file__)"
    command = [sys.executable, "-I", "-S", "-c", use, folder]
    received = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert received.startswith(folder)


def test_zip_is_reproducible_with_the_site_at_its_root() -> None:
    name, archive = zip_package(read_package())
    assert (name, archive) == zip_package(read_package())
    names = zipfile.ZipFile(BytesIO(archive)).namelist()
    assert "sitecustomize.py" in names
    assert f"{read_package().name}/site/sitecustomize.py" in names


def test_run_that_another_window_removes_is_not_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    records = RunRecords(tmp_path)
    record = records.create(PLAN, ended(1.0))

    def removed(file: Path) -> object:
        shutil.rmtree(record.folder)
        raise FileNotFoundError(file)

    monkeypatch.setattr(module, "_read", removed)
    assert records.damaged(0.0) == []


def test_run_that_can_not_be_recorded_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("eagleray.runs.records.replace_text", full)
    runs = Runs(RunRecords(tmp_path), AdapterRunGateway(None))
    with pytest.raises(EaglerayError, match="No space left on device"):
        asyncio.run(
            runs.start(evolve(PLAN, kind="command", argv=("true",), cwd="/"), confirmed=False)
        )
    assert list(tmp_path.iterdir()) == []
