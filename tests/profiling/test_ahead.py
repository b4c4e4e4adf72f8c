"""Reports that come are exported before somebody opens them: one after another, gently, and not where room is short."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path
from unittest.mock import Mock

import pytest
from eagleray.app import Settings
from eagleray.features.profiling import handlers
from eagleray.features.profiling.profiling import ProfiledRun
from eagleray.features.reports import ahead as ahead_of
from eagleray.features.reports import exporting
from eagleray.features.reports.ahead import Ahead
from eagleray.features.reports.reports import Reports
from eagleray.features.runs.model import Profiled
from eagleray.tools.nsys_errors import damaged_report

from tests.profiling import fake_nsys
from tests.profiling.databases import Call, Recording, write


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an nsys that waits to be let go on."""
    folder = tmp_path / "tool"
    folder.mkdir()
    database = write(folder / "some.sqlite", Recording(osrt=[Call(0, 1, "read")]))
    fake_nsys.install(folder, "waits", database)
    monkeypatch.setenv("EAGLERAY_NSYS", str(folder / "nsys"))
    return folder


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "policy.nsys-rep"
    file.write_bytes(b"a report")
    return file


def begun(reports: Reports, report: Path) -> Ahead:
    """The report has just come."""
    ahead = Ahead(reports.ahead)
    ahead.told([])
    ahead.told([str(report)])
    return ahead


async def test_who_opens_it_meanwhile_waits_for_the_same_nsys(
    own_home: Path, tool: Path, report: Path
) -> None:
    reports, waits = Reports(lambda: own_home), asyncio.Event()
    ahead = begun(reports, report)
    pipe = await fake_nsys.waiting(tool)
    opening = asyncio.create_task(reports.read(str(report), lambda text, now: waits.set()))
    await waits.wait()
    (call,) = fake_nsys.calls(tool)
    assert os.getpriority(os.PRIO_PROCESS, int(call.split()[0])) == 19
    pipe.close()
    assert (await opening).database == report.with_suffix(".sqlite")
    await ahead.done()
    assert len(fake_nsys.calls(tool)) == 1


async def test_closed_it_ends_nsys_and_leaves_nothing(
    own_home: Path, tool: Path, report: Path
) -> None:
    ahead = begun(Reports(lambda: own_home), report)
    with await fake_nsys.waiting(tool):
        await ahead.close()
    (call,) = fake_nsys.calls(tool)
    assert not Path(f"/proc/{call.split()[0]}").exists()
    assert list(report.parent.iterdir()) == [report]


async def test_who_waits_makes_it_when_the_other_gives_up(
    own_home: Path, tool: Path, report: Path
) -> None:
    reports, waits = Reports(lambda: own_home), asyncio.Event()
    ahead = begun(reports, report)
    with await fake_nsys.waiting(tool):
        opening = asyncio.create_task(reports.read(str(report), lambda text, now: waits.set()))
        await waits.wait()
        await ahead.close()
    (await fake_nsys.waiting(tool)).close()
    assert (await opening).database.exists()
    assert len(fake_nsys.calls(tool)) == 2


async def test_where_room_is_short_it_is_left_to_who_opens_it(
    own_home: Path, tool: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exporting, "SPARE", 2**62)
    await Reports(lambda: own_home).ahead(str(report))
    assert fake_nsys.calls(tool) == []


@pytest.mark.parametrize("trusted", [True, False])
async def test_the_sidecar_tells_which_reports_are_here(tmp_path: Path, trusted: bool) -> None:
    """nsys reads none of them by itself in a workspace that isn't trusted."""
    seen = Profiled(str(tmp_path), files=("a.nsys-rep", "b.nsys-rep"))
    runs = [ProfiledRun("r1", tmp_path, tmp_path, "", False, True, seen)]
    runs += [ProfiledRun("r2", tmp_path, tmp_path, "", False, True, None)]
    parts, server = Mock(), Mock()
    parts.profiling.listed.return_value = runs
    parts.settings = Settings.read({"trusted": trusted}, {})
    handlers.register(server, parts)
    ((changed,), _) = parts.runs.on_change.call_args
    ((_, published_after_changes), _) = server.in_background.call_args
    published = asyncio.Event()
    server.notify.side_effect = lambda *_: published.set()
    changed()
    publishing = asyncio.ensure_future(published_after_changes())
    await published.wait()
    publishing.cancel()
    told = [call.args for call in parts.ahead.told.call_args_list]
    assert told == ([(["a.nsys-rep", "b.nsys-rep"],)] if trusted else [])


async def test_only_what_comes_is_made_one_after_another_and_not_too_much(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(ahead_of, "MOST", 3)
    made: list[str] = []
    at_once = 0

    async def make(report: str) -> None:
        nonlocal at_once
        at_once += 1
        assert at_once == 1
        await asyncio.sleep(0)
        made.append(report)
        at_once -= 1
        if report == "b":
            raise damaged_report(report, "")

    ahead = Ahead(make)
    ahead.told(["old"])
    ahead.told(["old", "b", "a"])
    ahead.told(["old", "b", "a"])
    await ahead.done()
    assert made == ["a", "b"]
    ahead.told(["a", "b", *"cdefg"])
    await ahead.done()
    assert made == ["a", "b", "c", "d", "e"]
    await ahead.close()
