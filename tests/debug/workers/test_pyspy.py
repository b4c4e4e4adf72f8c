"""The client of py-spy, on programs that stand in for it."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest
from eagleray.tools import pyspy
from eagleray.tools.pyspy import AT_ONCE, PySpy, find_program

from tests.debug.workers.fakes import until

OWN = os.getpid()
DUMP = '[{"thread_name": "MainThread", "frames": [{"name": "f", "filename": "a.py", "line": 3}]}]'


def program(folder: Path, script: str) -> PySpy:
    path = folder / "py-spy"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o700)
    return PySpy(str(path))


async def test_relative_paths_belong_to_the_process(tmp_path: Path) -> None:
    dump = await program(tmp_path, f"echo '{DUMP}'").dump(OWN)
    assert dump is not None
    (stack,) = dump.stacks
    assert stack.frames[0].path == str(Path.cwd() / "a.py")


async def test_what_fails_on_a_stopped_process_is_tried_without_stopping_it(tmp_path: Path) -> None:
    script = f"case \"$*\" in *--nonblocking*) echo '{DUMP}';; *) exit 1;; esac"
    assert await program(tmp_path, script).dump(OWN) is not None


@pytest.mark.parametrize("script", ["exit 1", "echo nonsense", "true"])
async def test_failing_py_spy_returns_nothing(tmp_path: Path, script: str) -> None:
    assert await program(tmp_path, script).dump(OWN) is None


async def test_without_py_spy_nothing_is_known(tmp_path: Path) -> None:
    assert await PySpy(str(tmp_path / "missing")).dump(OWN) is None
    assert await PySpy("").dump(OWN) is None


async def test_py_spy_runs_only_for_processes_of_this_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspy, "is_own", lambda pid: False)
    mark = tmp_path / "ran"
    assert await program(tmp_path, f"touch {mark}").dump(OWN) is None
    assert not mark.exists()


async def test_never_more_than_two_at_once_and_none_after_a_cancel(tmp_path: Path) -> None:
    spy = program(tmp_path, f"echo $$ >> {tmp_path}/pids; exec tail -f /dev/null")
    pids = tmp_path / "pids"

    def started() -> list[int]:
        return [int(word) for word in pids.read_text().split()] if pids.exists() else []

    dumps = [asyncio.create_task(spy.dump(OWN)) for _ in range(6)]
    await until(lambda: len(started()) >= AT_ONCE)
    for dump in dumps:
        dump.cancel()
    await asyncio.gather(*dumps, return_exceptions=True)
    assert len(started()) == AT_ONCE
    # One that was just starting is ended as soon as it has started.
    await until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in started()))


async def test_hanging_py_spy_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pyspy, "TIME_LIMIT_S", 0.2)
    assert await program(tmp_path, "exec tail -f /dev/null").dump(OWN) is None


def test_py_spy_is_found_beside_python_and_its_libraries_only(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.executable", str(tmp_path / "python"))
    monkeypatch.setattr("sys.path", [str(tmp_path / "libs")])
    (tmp_path / "path").mkdir()
    (tmp_path / "path" / "py-spy").touch(mode=0o700)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    # The PATH may lead into a folder that came with another person's code.
    assert find_program() == ""
    for folder in ("libs/bin", "."):
        place = tmp_path / folder / "py-spy"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch(mode=0o700)
        assert Path(find_program()) == place
