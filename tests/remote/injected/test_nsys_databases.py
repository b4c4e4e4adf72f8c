"""Databases that a node exports from its reports: who needs them, and what happens if one can't be exported."""

from __future__ import annotations

import gzip
import hashlib
from pathlib import Path
from typing import Any

import pytest
from eagleray.remote.injected.nsys import databases
from eagleray.remote.injected.nsys.databases import is_needed, pack
from eagleray.remote.injected.nsys.program import NsysError

from tests.remote.injected.nsys_watcher import Watched, watched


@pytest.mark.parametrize(
    ("version", "reader", "expected"),
    [
        ("2031.1.2.3", "", True),
        ("2031.1.2.3", "2022.4.2.1", True),
        ("2031.10.1", "2031.9.4", True),
        # Another build of the same version, one that is as new, and a node that does not say.
        ("2031.1.2.3", "2031.1.2.1", False),
        ("2031.1.2", "2031.1.3", False),
        ("", "2031.1.2", False),
        ("", "", True),
    ],
)
def test_database_is_needed_for_older_readers(version: str, reader: str, expected: bool) -> None:
    assert is_needed(version, reader) == expected


def recorded(one: Watched) -> dict[str, Any]:
    """Returns the files beside the report of one recording, when the watcher has done all that it does."""
    one.begin()
    one.proxy.until("recording")
    one.proxy.say(op="stop_recording")
    one.proxy.until("writing")
    assert one.proxy.until("armed")["problem"] == ""
    assert one.written(".nsys-rep.json")["problem"] == ""
    return one.written(".sqlite-gz.json")


def test_database_is_exported_with_the_lowest_priority_and_described(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="always", reader="2022.4.2.1") as one:
        said = recorded(one)
        report, packed = one.written(".nsys-rep.json"), one.reports / f"{one.stem}.sqlite-gz"
        assert list(one.private.iterdir()) == [one.private / "socket"]
    assert gzip.decompress(packed.read_bytes()) == b"tables, made with niceness 19"
    assert (said["report"], said["report_sha256"]) == (f"{one.stem}.nsys-rep", report["sha256"])
    assert (said["unpacked"], said["size"]) == (29, packed.stat().st_size)
    assert said["sha256"] == hashlib.sha256(packed.read_bytes()).hexdigest()
    assert (said["host"], said["problem"]) == (report["host"], "")


@pytest.mark.parametrize("reader", [None, "2031.1.2"])
def test_database_is_not_exported_for_a_reader_of_the_report(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str | None
) -> None:
    with watched(tmp_path, monkeypatch, when="always", reader=reader) as one:
        ended_by_itself(one)
        assert one.written(".nsys-rep.json")["problem"] == ""
    assert not list(one.reports.glob("*sqlite*"))


def test_worker_has_not_ended_before_its_database_is_exported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with watched(tmp_path, monkeypatch, when="always", reader="") as one:
        ended_by_itself(one)
        assert one.written(".sqlite-gz.json")["size"] > 0


def ended_by_itself(one: Watched) -> None:
    one.begin()
    one.proxy.until("recording")
    # As nsys does it when its worker has ended.
    (one.reports / f"{one.stem}.nsys-rep").write_bytes(b"a whole report")
    one.end_worker()
    one.proxy.until("ended")


def test_database_is_left_out_with_a_reason_on_a_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usage = databases.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(
        databases.shutil, "disk_usage", lambda path: usage._replace(free=8 * 14 - 1)
    )
    with watched(tmp_path, monkeypatch, when="always", reader="") as one:
        said = recorded(one)
    assert said["problem"] == f"there is too little room in {one.private} for what nsys makes of it"
    assert said["size"] == said["unpacked"] == 0
    assert not (one.reports / f"{one.stem}.sqlite-gz").exists()


def test_database_that_takes_too_long_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "made").write_bytes(b"tables")
    with pytest.raises(NsysError, match="could not be packed in time"):
        pack(str(tmp_path / "made"), str(tmp_path / "packed"), 0.0)
    monkeypatch.setattr(databases, "MAKE_S", 0.0)
    with watched(tmp_path, monkeypatch, when="always", reader="") as one:
        assert "did not answer within" in recorded(one)["problem"]
    assert not list(one.reports.glob("*.part"))
