"""Reports of a real nsys: the numbers of its own tables, and errors for truncated files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from eagleray.profile.reports.report_file import ReportFile, examine

from tests.asked import eagleray
from tests.profile.reports.recorded import record, stats
from tests.remote.injected.real_nsys import real_nsys

pytestmark = pytest.mark.nsys


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return record(tmp_path_factory.mktemp("recorded"), steps=50, sleep_us=200)


@pytest.fixture(autouse=True)
def nsys(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EAGLERAY_NSYS", real_nsys())


async def test_numbers_equal_the_numbers_of_nsys_stats(report: Path) -> None:
    shown = (await eagleray("report", str(report), "--json", "--top", "1000")).json
    assert report.with_suffix(".sqlite").exists()
    nvtx, osrt = stats(report.with_suffix(".sqlite"), "nvtxsum", "osrtsum")
    tables = {table["id"]: table for table in shown["tables"]}
    ours = {
        row[0]: (row[2], *row[4:])  # count, total, average, p50, min, max
        for row in tables["nvtx_names"]["rows"]
    }
    for row in nvtx:
        count, total, _, p50, least, most = ours.pop(row["Range"])
        assert count == int(row["Instances"])
        assert total == int(row["Total Time (ns)"])
        assert p50 == int(float(row["Med (ns)"]))
        assert (least, most) == (int(row["Min (ns)"]), int(row["Max (ns)"]))
    assert ours == {}
    (steps,) = [row for row in tables["nvtx"]["rows"] if row[0] == "step *"]
    assert steps[2:4] == [50, 10]
    assert {row["Range"] for row in nvtx} >= {"whole", "step 3", "model:forward"}
    calls = {row[0]: (row[1], row[2]) for row in tables["osrt"]["rows"]}
    assert calls == {
        row["Name"]: (int(row["Num Calls"]), int(row["Total Time (ns)"])) for row in osrt
    }
    assert shown["host"] and shown["started_utc"] and shown["nsys_version"].startswith("2022.4")
    assert [warning["code"] for warning in shown["warnings"]] == ["no-kernels"]


async def test_truncated_newer_and_damaged_reports_are_told_apart(
    report: Path, tmp_path: Path
) -> None:
    content = report.read_bytes()
    assert examine(report) == ReportFile(True, True, "2022.4.2.1")
    cut, newer, damaged = (tmp_path / f"{name}.nsys-rep" for name in ("cut", "newer", "damaged"))
    cut.write_bytes(content[: len(content) // 2])
    first = b"Report 1."
    assert first in content[:60]
    newer.write_bytes(content.replace(first, b"Report 2026@1@2@90-256136895201v0.", 1))
    middle = len(content) // 2
    damaged.write_bytes(content[:middle] + content[middle + 999 :])
    for file, message in (
        (cut, "its end is missing"),
        (newer, "was made by nsys 2026.1.2.90; this machine's is 2022.4.2.1"),
        (damaged, "can't read"),
    ):
        done = await eagleray("report", str(file))
        assert done.code == 1
        assert message in done.err
    assert sorted(tmp_path.iterdir()) == [cut, damaged, newer]


async def test_recording_without_ranges_names_the_nvtx_package(tmp_path: Path) -> None:
    """As nsys records them when the nvtx package does not fit: ranges were traced, and there are none."""
    report = record(tmp_path, steps=3, sleep_us=100, trace="osrt")
    note = report.with_name(report.name + ".json")
    note.write_text(json.dumps({"options": ["--trace=nvtx,osrt"]}))
    done = await eagleray("report", str(report), "--json")
    assert [warning["code"] for warning in done.json["warnings"]] == ["no-nvtx"]
