"""Reports whose names are not UTF-8 or not text: collected under a plain name, or listed with the reason."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import collector
from eagleray.profile.recordings.databases import parse_database
from eagleray.profile.recordings.file_names import display_name, is_accepted, raw_name
from eagleray.profile.recordings.scanner import Scanner, parse_worker
from eagleray.profile.recordings.sources import LocalFolder, Source
from eagleray.profile.recordings.store import ReportStore
from eagleray.ray.dashboard import Dashboard
from eagleray.ray.errors import dashboard_failed
from eagleray.runs.model import WorkerProfile
from hypothesis import given
from hypothesis import strategies as st

from tests.profile.recordings.gathered import all_missing, cluster, gathered, listed, node
from tests.profile.recordings.reports import RUN, described, put, status
from tests.profile.recordings.test_collector import Nsys, reports, until
from tests.profile.recordings.test_remote_reports import Login, remote_folder

ODD = [
    b"caf\xe9.7.nsys-rep",
    "größe 2:3.nsys-rep".encode(),
    b".hidden.nsys-rep",
    b"-o.nsys-rep",
    b"a\nb\x1b[2J.nsys-rep",
    b"back\\slash.nsys-rep",
    b"100%E9.nsys-rep",
]
STATUS = "p.n1.7.worker.json"


def put_odd(folder: Path) -> None:
    for name in ODD:
        put(folder, os.fsdecode(name), name)


def here(folder: Path) -> dict[str, bytes]:
    """The content of what was gathered, by the name in the list."""
    return {
        str(row["source"]): (folder / file).read_bytes() for file, row in listed(folder).items()
    }


@given(st.binary(min_size=1, max_size=255))
def test_display_name_restores_the_bytes_of_any_name(name: bytes) -> None:
    text = display_name(os.fsdecode(name))
    assert text.isprintable() and raw_name(text) == name
    assert is_accepted(text) == (
        name not in (b".", b"..") and b"/" not in name and b"\0" not in name
    )


@given(st.text(alphabet=st.characters(), min_size=1))
def test_every_text_has_a_display_name(name: str) -> None:
    assert display_name(name).isprintable()


def test_plain_names_are_unchanged() -> None:
    assert display_name("größe_2:3.nsys-rep") == "größe_2:3.nsys-rep"
    assert display_name(os.fsdecode(b"caf\xe9")) == "caf%E9"


async def test_unusual_names_in_a_folder_are_collected_once(tmp_path: Path) -> None:
    there, folder = tmp_path / "there", tmp_path / "here"
    put_odd(there)
    for _ in range(2):
        made, failures = await gathered(folder, LocalFolder(there))
        assert (failures, len(made.entries)) == ([], len(ODD))
    assert here(folder) == {display_name(os.fsdecode(name)): name for name in ODD}
    assert all(file.name.isascii() for file in folder.iterdir())


@pytest.mark.parametrize("real", [False, True])
async def test_unusual_names_in_a_remote_folder_are_collected(tmp_path: Path, real: bool) -> None:
    put_odd(tmp_path / RUN)
    _, failures = await gathered(tmp_path / "here", remote_folder(Login(real), tmp_path / RUN))
    assert failures == []
    assert here(tmp_path / "here") == {display_name(os.fsdecode(name)): name for name in ODD}


async def test_name_that_ray_cannot_send_is_listed_with_the_reason(tmp_path: Path) -> None:
    async with cluster("n1") as (fake, dashboard):
        odd = f"eagleray/{RUN}/caf\udce9"
        fake.files["n1"] |= {f"{odd}.nsys-rep": b"x", f"{odd}.nsys-rep.json": described(b"x")}
        fake.files["n1"][f"eagleray/{RUN}/\udce9.worker.json"] = status("armed")
        made = ReportStore(RUN, tmp_path)
        with made.locked():
            scan_result = await Scanner().scan([node(dashboard, "n1")])
            await made.download(scan_result.reports, scan_result.left_out)
    assert (scan_result.failures, len(made.entries)) == ((), 1)
    (row,) = all_missing(tmp_path)
    assert row["source"] == "caf%E9.nsys-rep" and "isn't UTF-8" in row["why"]


class LikeRay(Dashboard):
    """Ray's agent puts names into protobuf, which takes no surrogates; `agent` says whether it lives."""

    agent = True

    async def log_files(self, node_id: str, pattern: str) -> list[str]:
        names = await super().log_files(node_id, pattern)
        if not self.agent or any(not name.isascii() for name in names):
            raise dashboard_failed(self.address, 500, "'utf-8' codec can't encode character")
        return names


@pytest.mark.parametrize(
    ("odd", "code"),
    [
        ("caf\udce9.nsys-rep", ""),
        ("caf\udce9.txt", ""),
        ("caf\udce9.nsys-rep.json", "gathering-failed"),
    ],
)
async def test_name_that_ray_cannot_list_does_not_hide_the_others(
    tmp_path: Path, odd: str, code: str
) -> None:
    async with cluster("n1") as (fake, _):
        fake.files["n1"][f"eagleray/{RUN}/{STATUS}"] = status("armed")
        fake.files["n1"][f"eagleray/{RUN}/{odd}"] = b"x"
        dashboard = LikeRay(fake.address)
        made, failures = await gathered(tmp_path, node(dashboard, "n1"))
        assert [failure.code for failure in failures] == ([code] if code else [])
        assert len(made.entries) == (0 if code else 1)
        dashboard.agent = False
        scan_result = await Scanner().scan([node(dashboard, "n1")])
        assert [failure.code for failure in scan_result.failures] == ["dashboard-failed"]
        await dashboard.close()


def test_names_in_worker_files_become_display_names() -> None:
    worker, _ = parse_worker(
        STATUS, status("armed", reports=["\ud800x.nsys-rep", "caf\udce9.nsys-rep"])
    )
    assert isinstance(worker, WorkerProfile)
    assert worker.whole == ("%ED%A0%80x.nsys-rep", "caf%E9.nsys-rep")
    description = described(b"x", report="caf\udce9.nsys-rep", report_sha256="0", unpacked=1)
    packed = parse_database("caf%E9.sqlite-gz.json", description, LocalFolder(Path("/")))
    assert packed is not None and packed.report[1] == "caf%E9.nsys-rep"


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(collector, "POLL_INTERVAL_S", 0.01)


async def test_collecting_continues_after_a_name_that_is_not_text(tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.mkdir()
    (there / STATUS).write_bytes(status("armed", reports=["\ud800x.nsys-rep"]))
    made = reports(there, tmp_path / "here", Nsys())
    running = asyncio.create_task(made.run())
    await until(lambda: made.state.workers != () or running.done())
    put(there, "p.nsys-rep", b"one")
    await until(lambda: made.state.gathered == 1 or running.done())
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await made.close()


class Broken(LocalFolder):
    """A place in which our own code fails, until it `is_mended`."""

    is_fixed = False

    async def names(self) -> list[str]:
        if not self.is_fixed:
            raise RuntimeError("a fault of ours")
        return await super().names()


async def test_internal_error_is_a_failed_poll_and_hides_no_other_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    put(tmp_path / "good", "p.nsys-rep", b"one")
    put(tmp_path / "there", "q.nsys-rep", b"two")
    broken = Broken(tmp_path / "there")
    made = reports(tmp_path / "there", tmp_path / "here", Nsys())
    sources: list[Source] = [broken, LocalFolder(tmp_path / "good")]

    async def now(*_: object, **__: object) -> list[Source]:
        return sources

    monkeypatch.setattr(made._sources, "current", now)
    await made.finish()
    assert (made.state.phase, made.state.gathered) == ("failed", 1)
    assert "RuntimeError: a fault of ours" in made.state.sentence
    assert str(tmp_path / "there") in made.state.sentence
    assert "Traceback" in caplog.text
    broken.is_fixed = True
    await made.finish()
    assert (made.state.phase, made.state.gathered, made.state.sentence) == ("gathered", 2, "")
    await made.close()


async def test_report_that_causes_an_internal_error_does_not_stop_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from eagleray.profile.recordings import store

    good = store.download_report

    async def fetch(source: Source, entry: Any, folder: Path, name: str, on_progress: Any) -> None:
        if name.startswith("bad"):
            raise ValueError("a fault of ours")
        await good(source, entry, folder, name, on_progress)

    monkeypatch.setattr(store, "download_report", fetch)
    for name in ("bad", "good"):
        put(tmp_path / "there", f"{name}.nsys-rep", name.encode())
    made = reports(tmp_path / "there", tmp_path / "here", Nsys())
    await made.finish()
    assert (made.state.phase, made.state.gathered) == ("failed", 1)
    (row,) = json.loads((tmp_path / "here" / "manifest.json").read_text())["missing"]
    assert row["source"] == "bad.nsys-rep" and "ValueError" in row["why"]
    await made.close()


async def test_failed_poll_is_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(tmp_path / "there", "p.nsys-rep", b"one")
    good, faults = (
        collector.ReportCollector._scan_and_download,
        [OSError("first"), KeyError("second")],
    )

    async def scan_and_download(
        report_collector: collector.ReportCollector, is_urgent: bool
    ) -> list[EaglerayError]:
        if faults:
            raise faults.pop(0)
        return await good(report_collector, is_urgent)

    monkeypatch.setattr(collector.ReportCollector, "_scan_and_download", scan_and_download)
    made = reports(tmp_path / "there", tmp_path / "here", Nsys())
    running = asyncio.create_task(made.run())
    await until(lambda: (made.state.gathered, made.state.phase) == (1, "idle") or running.done())
    assert not running.done()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    await made.close()
