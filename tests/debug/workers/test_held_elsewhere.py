"""Workers that Eagleray holds on another login node with the same home."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import time
from dataclasses import replace
from pathlib import Path

import pytest
from eagleray.adapter import held_elsewhere_file
from eagleray.adapter.held_elsewhere_file import HeldRecord
from eagleray.adapter_client.held_elsewhere import BELIEVED_S, held_elsewhere
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import host_name
from eagleray.debug.attaching.attacher import WorkerAttacher

from tests.debug.attaching.fakes import Row
from tests.debug.workers.fakes import until
from tests.debug.workers.rows import SESSION, stop, worker_row, worker_state
from tests.debug.workers.test_paused_workers import Setting


async def recorded(folder: Path, host: str = "login2") -> asyncio.Task[None]:
    states = [replace(worker_state(), stop=stop(exception="ValueError: secret"))]
    running = asyncio.create_task(HeldRecord(folder, host, "1.0", lambda: states).run())
    await until(lambda: any(folder.glob("*.json")))
    return running


async def test_record_is_there_while_something_is_held(tmp_path: Path) -> None:
    folder = tmp_path / "held"
    running = await recorded(folder)
    [state] = held_elsewhere(folder)
    assert (state.session, state.host, state.socket) == (SESSION, "login2", "")
    [path] = folder.iterdir()
    assert path.stat().st_mode & 0o077 == 0
    assert "secret" not in path.read_text()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    assert list(folder.iterdir()) == []
    assert held_elsewhere(folder) == []


async def test_record_is_removed_after_a_release(tmp_path: Path) -> None:
    states = [worker_state()]
    record = HeldRecord(tmp_path, "login2", "1.0", lambda: states)
    running = asyncio.create_task(record.run())
    await until(lambda: any(tmp_path.glob("*.json")))
    states.clear()
    record.changed()
    await until(lambda: not any(tmp_path.glob("*.json")))
    running.cancel()


async def test_record_ends_when_it_is_cancelled_at_a_change(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As at the end of the adapter, which lets go of its workers first."""
    monkeypatch.setattr(held_elsewhere_file, "_REST_S", 0)
    record = HeldRecord(tmp_path, "login2", "1.0", lambda: [worker_state()])
    running = asyncio.create_task(record.run())
    await until(lambda: any(tmp_path.glob("*.json")))
    # By then it waits for the next change.
    await asyncio.sleep(0.2)
    record.changed()
    running.cancel()
    done, _ = await asyncio.wait({running}, timeout=30)
    assert done and list(tmp_path.iterdir()) == []


async def test_record_of_a_killed_adapter_of_this_machine_is_removed(tmp_path: Path) -> None:
    with subprocess.Popen(["true"]) as ended:
        pass
    pid = ended.pid
    kept = {f"login2-1.0-{os.getppid()}.json", f"login3-1.0-{pid}.json", "login2-2.0-1.json"}
    kept |= {f"login2-1.0.1-{pid}.json", f"login2-1.0-{os.getppid()}.{os.getppid()}.new"}
    stale = {f"login2-1.0-{pid}.json", f"login2-1.0-{'9' * 30}.json", f"login2-1.0-{pid}.{pid}.new"}
    for name in kept | stale:
        (tmp_path / name).touch()
    running = asyncio.create_task(HeldRecord(tmp_path, "login2", "1.0", list).run())
    await until(lambda: {path.name for path in tmp_path.iterdir()} == kept)
    running.cancel()


async def test_our_own_record_and_a_stale_one_are_not_believed(tmp_path: Path) -> None:
    for folder, host in ((tmp_path / "ours", host_name()), (tmp_path / "theirs", "login2")):
        running = await recorded(folder, host)
        now = time.time()
        assert len(held_elsewhere(folder, now)) == (host != host_name())
        assert held_elsewhere(folder, now + BELIEVED_S) == []
        assert held_elsewhere(folder, now - 3600) == []
        running.cancel()


async def test_what_an_adapter_of_another_protocol_holds_is_shown_with_its_version(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(held_elsewhere_file, "PROTOCOL", 99)
    running = await recorded(tmp_path, host_name())
    [state] = held_elsewhere(tmp_path)
    assert (state.session, state.host) == (SESSION, "this machine (version 1.0)")
    running.cancel()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{",
        '{"host": "x", "written": "soon", "workers": []}',
        '{"host": "x", "written": 1}',
    ],
)
def test_invalid_record_is_ignored(tmp_path: Path, text: str) -> None:
    (tmp_path / "x.json").write_text(text)
    assert held_elsewhere(tmp_path) == []


def test_record_of_another_version(tmp_path: Path) -> None:
    worker = {**worker_state().__dict__, "grown": 1, "stop": None}
    record = {"host": "login2", "written": time.time(), "workers": [worker], "grown": 2}
    (tmp_path / "x.json").write_text(json.dumps(record))
    assert [state.host for state in held_elsewhere(tmp_path)] == ["login2"]


async def test_row_names_the_other_machine() -> None:
    on = Setting()
    there = [
        replace(worker_state(), host="login2"),
        replace(worker_state(), session="of a cluster that nobody watches here", host="login2"),
    ]
    on.workers = type(on.workers)(
        on.watch, on.adapters, on.spy, on.clock, on.files, elsewhere=lambda: there
    )
    await on.workers.refresh()
    assert [(row.state, row.held_on) for row in on.rows()] == [("held", "login2")]
    # Ray lists it as paused again: the record is older.
    on.watch.show([worker_row()])
    await on.workers.refresh()
    assert [(row.state, row.held_on) for row in on.rows()] == [("paused", "")]
    await on.workers.close()


async def test_worker_held_elsewhere_is_refused_here() -> None:
    async def find(cluster: str, worker: str) -> Row:
        return Row("w1", held_on="login2", state="held")

    attaching = WorkerAttacher(None, find, None)
    with pytest.raises(EaglerayError, match="Eagleray on login2 holds") as error:
        await attaching.attach("c", "w1", [], lambda _: None)
    assert error.value.code == "worker-elsewhere"
