"""Databases that nodes made of their reports: beside the report, never in its way, bounded in size."""

from __future__ import annotations

import asyncio
import errno
import gzip
import hashlib
import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from eagleray.profile.recordings import collector, databases, download
from eagleray.profile.recordings.collector import FindCluster, ReportCollector
from eagleray.profile.recordings.manifest import ReportEntry
from eagleray.profile.recordings.run_sources import RunSources
from eagleray.profile.recordings.scanner import Scanner
from eagleray.profile.recordings.sources import LocalFolder, Source
from eagleray.profile.recordings.store import ReportStore
from eagleray.profile.reports.metadata import ReportNote, read_note
from eagleray.profile.reports.model import RecordedWorker
from eagleray.profile.reports.reports import Reports
from eagleray.protocol.route_spec import DIRECT
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import cluster_unreachable
from eagleray.runs.model import ProfileState

from tests.fakes.dashboard import FakeDashboard
from tests.profile.recordings.reports import RUN, described, put, status
from tests.profile.recordings.test_collector import Nsys, open_nothing
from tests.profile.reports.databases import Kernel, Recording, write

REPORT = b"what only a newer nsys reads"
SQLITE = b"SQLite format 3\0" + b"t" * 5000


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(databases, "FIRST_PAUSE_S", 0.0)
    monkeypatch.setattr(collector, "WAIT_POLL_INTERVAL_S", 0.01)


def packed(folder: Path, name: str, made: bytes, **more: object) -> None:
    """Returns what a node writes beside the report `name` when it has made a database of it."""
    content = gzip.compress(made)
    report = hashlib.sha256((folder / f"{name}.nsys-rep").read_bytes()).hexdigest()
    description = {
        "report": f"{name}.nsys-rep",
        "report_sha256": report,
        "unpacked": len(made),
        **more,
    }
    (folder / f"{name}.sqlite-gz").write_bytes(content)
    (folder / f"{name}.sqlite-gz.json").write_bytes(described(content, **description))


async def gathered(there: Path, here: Path, home: FindCluster = lambda: None) -> ProfileState:
    sources = RunSources(RUN, there, open_nothing, lambda cluster, ip: [DIRECT])
    made = ReportCollector(RUN, ReportStore(RUN, here), sources, home, Nsys(), quiet_limit_s=5)
    try:
        await asyncio.wait_for(made.collect(), 60)
    finally:
        await made.close()
    return made.state


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name[0] != ".")


async def test_report_is_read_without_a_local_nsys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    put(there, "p.nsys-rep", REPORT, nsys_version="2031.1.2")
    database = write(tmp_path / "made.sqlite", Recording(kernels=[Kernel(0, 10)]))
    packed(there, "p", database.read_bytes())
    # The clock of the node is ahead of ours.
    os.utime(there / "p.nsys-rep", ns=(2**61, 2**61))
    gathered_state = await gathered(there, here)
    assert (gathered_state.gathered, gathered_state.expected, gathered_state.sentence) == (1, 1, "")
    assert names(here) == ["manifest.json", "p.nsys-rep", "p.sqlite"]
    monkeypatch.setenv("EAGLERAY_NSYS", str(tmp_path / "nowhere"))
    read = await Reports(lambda: tmp_path).read(str(here / "p.nsys-rep"))
    assert read.database == here / "p.sqlite" and [gpu.kernels for gpu in read.summary.gpus] == [1]
    assert read.summary.about.trace == "nvtx"
    assert read_note(here / "p.nsys-rep") == ReportNote(
        "nvtx", "2031.1.2", RecordedWorker("", "Policy", "n1", 0)
    )
    (here / "p.sqlite").write_bytes(b"looked at")
    await gathered(there, here)
    assert (here / "p.sqlite").read_bytes() == b"looked at"


class Late(LocalFolder):
    """A folder in which a database is made while its names have been read and its worker's end has not."""

    async def names(self) -> list[str]:
        names = await super().names()
        if "p.sqlite-gz.json" not in names:
            packed(self._path, "p", SQLITE)
            (self._path / "p.worker.json").write_bytes(status("ended", reports=["p.nsys-rep"]))
        return names


async def test_database_made_during_the_last_scan_is_returned(tmp_path: Path) -> None:
    put(tmp_path, "p.nsys-rep", REPORT)
    (tmp_path / "p.worker.json").write_bytes(status("writing", reports=["p.nsys-rep"]))
    scan_result = await Scanner().scan([Late(tmp_path)])
    assert ([worker.state for worker in scan_result.workers], len(scan_result.databases)) == (
        ["ended"],
        1,
    )


async def test_databases_of_two_nodes_are_downloaded_through_the_head(tmp_path: Path) -> None:
    fake = FakeDashboard()
    await fake.start()
    row = next(row for row in fake.rows["nodes"] if row["state"] == "ALIVE")
    fake.rows["nodes"] = [{**row, "node_id": node} for node in ("n1", "n2")]
    for node in ("n1", "n2"):
        folder = tmp_path / node
        put(folder, "p.nsys-rep", REPORT + node.encode(), node_id=node, host=node)
        packed(folder, "p", SQLITE + node.encode(), node_id=node, host=node)
        (folder / "p.worker.json").write_bytes(status("ended", host=node))
        files = {f"eagleray/{RUN}/{path.name}": path.read_bytes() for path in folder.iterdir()}
        fake.files[node] = files
    dashboard = Dashboard(fake.address)
    try:
        await gathered(tmp_path / "there", tmp_path / "here", lambda: ("c", dashboard))
    finally:
        await dashboard.close()
        await fake.stop()
    for report in (tmp_path / "here").glob("*.nsys-rep"):
        node = report.read_bytes().removeprefix(REPORT)
        assert databases.database_beside(report).read_bytes() == SQLITE + node
    assert len(list((tmp_path / "here").glob("*.sqlite"))) == 2


async def test_reports_are_collected_between_databases(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    for number in range(5):
        put(there, f"p{number}.nsys-rep", REPORT)
        packed(there, f"p{number}", SQLITE)
    fetch, others = databases.download_report, []

    async def with_another(source: Source, entry: ReportEntry, *more: Any) -> None:
        # Meanwhile another report becomes whole.
        put(there, "q.nsys-rep", REPORT)
        others.append((here / "q.nsys-rep").exists())
        await fetch(source, entry, *more)

    monkeypatch.setattr(databases, "ROUND_LIMIT_S", 0.0)
    monkeypatch.setattr(databases, "download_report", with_another)
    gathered_state = await gathered(there, here)
    assert gathered_state.gathered == 6 and len(list(here.glob("*.sqlite"))) == 5
    assert others == [False] * 2 + [True] * 3


class Breaking(LocalFolder):
    """A node over a link that breaks so often within a database, and whose first answer says nothing of it."""

    def __init__(self, path: Path, breaks: int) -> None:
        super().__init__(path)
        self.breaks = breaks
        self.starts: list[int] = []
        self._is_busy = True

    def local_path(self, name: str) -> Path | None:
        return None

    async def small(self, name: str) -> bytes:
        if name.endswith(".sqlite-gz.json") and self._is_busy:
            self._is_busy = False
            return b""
        return await super().small(name)

    async def pieces(self, name: str, start: int) -> AsyncIterator[bytes]:
        async for piece in super().pieces(name, start):
            if name.endswith(".sqlite-gz"):
                self.starts.append(start)
                if self.breaks:
                    self.breaks -= 1
                    yield piece[:10]
                    raise cluster_unreachable("node-1", "the connection was reset")
            yield piece


async def looked(
    source: Source, made: databases.DatabaseDownloads, here: Path, scanner: Scanner
) -> tuple[int, list[str]]:
    """One poll of a collector: how many databases it then waits for, and why it leaves others out."""
    gathering = ReportStore(RUN, here)
    with gathering.locked():
        scan_result = await scanner.scan([source])
        await gathering.download(scan_result.reports)
        await made.download(scan_result.databases, gathering.entries)
        waited = made.missing(scan_result.databases, gathering.entries)
    return len(waited), [error.message for error in made.left_out]


async def test_interrupted_database_download_is_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(download, "_BATCH", 10)
    there, here = tmp_path / "there", tmp_path / "here"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", SQLITE)
    source, made, scanner = Breaking(there, 2), databases.DatabaseDownloads(here), Scanner()
    answers = [await looked(source, made, here, scanner) for _ in range(4)]
    assert answers == [(0, []), (1, []), (1, []), (0, [])]
    assert source.starts == [0, 10, 20]
    assert (here / "p.sqlite").read_bytes() == SQLITE and not list(here.glob("*gz*"))


async def test_database_that_keeps_failing_is_not_awaited_and_still_retried(
    tmp_path: Path,
) -> None:
    there, here = tmp_path / "there", tmp_path / "here"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", SQLITE)
    source, made, scanner = (
        Breaking(there, databases.TRIES),
        databases.DatabaseDownloads(here),
        Scanner(),
    )
    answers = [await looked(source, made, here, scanner) for _ in range(databases.TRIES + 1)]
    assert [waited for waited, _ in answers] == [0, 1, 1, 1, 0]
    assert "p.nsys-rep was downloaded without its database: " in answers[-1][1][0]
    assert "Nothing answers at node-1" in answers[-1][1][0]
    assert await looked(source, made, here, scanner) == (0, [])
    assert (here / "p.sqlite").read_bytes() == SQLITE


async def test_database_of_another_report_is_ignored(tmp_path: Path) -> None:
    there = tmp_path / "there"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", SQLITE, report_sha256="0" * 64)
    packed(there, "p", SQLITE, report="../p.nsys-rep")
    (there / "q.sqlite-gz.json").write_text("[" * 100_000)
    gathered_state = await gathered(there, tmp_path / "here")
    assert (gathered_state.gathered, gathered_state.sentence) == (1, "")
    assert names(tmp_path / "here") == ["manifest.json", "p.nsys-rep"]


@pytest.mark.parametrize(
    ("made", "description", "why"),
    [
        (b"\0" * 9000, {}, "it is longer than announced, or no database"),
        (SQLITE, {"unpacked": 4096}, "it is longer than announced, or no database"),
        (SQLITE, {"unpacked": 2**20}, "it is shorter than announced"),
        (SQLITE, {"unpacked": 2**40}, "it has 1099511.6 MB, as its node reports"),
        (SQLITE, {"unpacked": -2_000_000}, "it has -2.0 MB, as its node reports"),
        (SQLITE, {"size": 2**30}, "it has 1073.7 MB, as its node reports"),
        (SQLITE, {"sha256": "0" * 64}, "its size or its hash is wrong"),
        (SQLITE, {"problem": "nsys \x1b[2Jdied"}, "its node made none (nsys  [2Jdied)"),
    ],
)
async def test_false_description_costs_only_the_database(
    tmp_path: Path, made: bytes, description: dict[str, object], why: str
) -> None:
    there = tmp_path / "there"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", made, **description)
    gathered_state = await gathered(there, tmp_path / "here")
    assert (gathered_state.phase, gathered_state.gathered) == ("gathered", 1)
    assert gathered_state.sentence.startswith(
        f"p.nsys-rep was downloaded without its database: {why}. Open it "
    )
    assert names(tmp_path / "here") == ["manifest.json", "p.nsys-rep"]


async def test_truncated_database_is_not_unpacked(tmp_path: Path) -> None:
    there = tmp_path / "there"
    put(there, "p.nsys-rep", REPORT)
    for content in (gzip.compress(SQLITE)[:-9], b"PK\3\4 something else"):
        packed(there, "p", SQLITE)
        (there / "p.sqlite-gz").write_bytes(content)
        about = json.loads((there / "p.sqlite-gz.json").read_text())
        about |= json.loads(described(content))
        (there / "p.sqlite-gz.json").write_text(json.dumps(about))
        gathered_state = await gathered(there, tmp_path / "here")
        assert "it can't be unpacked" in gathered_state.sentence
        assert names(tmp_path / "here") == ["manifest.json", "p.nsys-rep"]


async def test_decompression_bomb_stops_at_the_declared_size(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A gigabyte in a megabyte: of it no more is unpacked than the next piece."""
    there = tmp_path / "there"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", SQLITE)
    bomb = gzip.compress(SQLITE) + gzip.compress(bytes(2**20)) * 1024
    (there / "p.sqlite-gz").write_bytes(bomb)
    about = json.loads((there / "p.sqlite-gz.json").read_text())
    about |= json.loads(described((there / "p.sqlite-gz").read_bytes()))
    (there / "p.sqlite-gz.json").write_text(json.dumps(about))
    read: list[int] = []
    plain = gzip.GzipFile.read

    def counted(file: gzip.GzipFile, size: int | None = -1) -> bytes:
        content = plain(file, size)
        read.append(len(content))
        return content

    monkeypatch.setattr(gzip.GzipFile, "read", counted)
    gathered_state = await gathered(there, tmp_path / "here")
    assert "it is longer than announced" in gathered_state.sentence
    assert 0 < sum(read) <= 2**20


async def test_full_disk_leaves_the_report_and_is_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    there = tmp_path / "there"
    put(there, "p.nsys-rep", REPORT)
    packed(there, "p", SQLITE)

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(databases, "_copy", full)
        gathered_state = await gathered(there, tmp_path / "here")
    assert (
        "its database: No space left on device." in gathered_state.sentence
        and gathered_state.phase == "gathered"
    )
    assert names(tmp_path / "here") == ["manifest.json", "p.nsys-rep"]
    with monkeypatch.context() as patched:
        usage = databases.shutil.disk_usage(tmp_path)._replace(free=databases.SPARE)
        patched.setattr(databases.shutil, "disk_usage", lambda path: usage)
        gathered_state = await gathered(there, tmp_path / "here2")
    assert "MB are free" in gathered_state.sentence and gathered_state.gathered == 1
    await gathered(there, tmp_path / "here")
    assert (tmp_path / "here" / "p.sqlite").read_bytes() == SQLITE
