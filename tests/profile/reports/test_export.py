"""The export of a report that several callers open at the same time."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.profile.reports.model import LoadedReport
from eagleray.profile.reports.reports import Reports

from tests.profile.reports import fake_nsys
from tests.profile.reports.databases import Call, Recording, write


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an nsys that waits until a test lets it continue."""
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


async def waiting_reader(reports: Reports, report: Path) -> asyncio.Task[LoadedReport]:
    """A second reader, which has heard that the report is being exported."""
    waits = asyncio.Event()
    reading = asyncio.create_task(reports.read(str(report), lambda text, percent: waits.set()))
    await waits.wait()
    return reading


async def test_second_reader_waits_for_the_same_export(
    own_home: Path, tool: Path, report: Path
) -> None:
    reports = Reports(lambda: own_home)
    first = asyncio.create_task(reports.read(str(report)))
    pipe = await fake_nsys.waiting(tool)
    second = await waiting_reader(reports, report)
    pipe.close()
    assert (await second).database == (await first).database == report.with_suffix(".sqlite")
    assert len(fake_nsys.calls(tool)) == 1


async def test_cancelled_export_ends_nsys_and_leaves_no_files(
    own_home: Path, tool: Path, report: Path
) -> None:
    reading = asyncio.create_task(Reports(lambda: own_home).read(str(report)))
    with await fake_nsys.waiting(tool):
        reading.cancel()
        await asyncio.gather(reading, return_exceptions=True)
    (call,) = fake_nsys.calls(tool)
    assert not Path(f"/proc/{call.split()[0]}").exists()
    assert list(report.parent.iterdir()) == [report]


async def test_second_reader_exports_when_the_first_is_cancelled(
    own_home: Path, tool: Path, report: Path
) -> None:
    reports = Reports(lambda: own_home)
    first = asyncio.create_task(reports.read(str(report)))
    with await fake_nsys.waiting(tool):
        second = await waiting_reader(reports, report)
        first.cancel()
        await asyncio.gather(first, return_exceptions=True)
    (await fake_nsys.waiting(tool)).close()
    assert (await second).database.exists()
    assert len(fake_nsys.calls(tool)) == 2
