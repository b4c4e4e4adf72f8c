"""Reading reports: exported once, cached, cancelled; tables sorted and searched."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path
from unittest.mock import patch

import pytest
from eagleray.common import l10n
from eagleray.common.errors import EaglerayError
from eagleray.profile.reports import summary, summary_cache
from eagleray.profile.reports.model import MOST_ROWS, ReportTable, make_table
from eagleray.profile.reports.report_file import ReportFile, examine
from eagleray.profile.reports.reports import Reports
from eagleray.profile.reports.summary_cache import SummaryCache
from eagleray.tools import nsys

from tests.profile.reports import fake_nsys
from tests.profile.reports.databases import Call, Kernel, Range, Recording, write

SOME = Recording(
    kernels=[Kernel(0, 10), Kernel(40, 60, "softmax")],
    ranges=[Range(0, 70, "rank 1"), Range(70, 75, "rank 2")],
    osrt=[Call(0, 1, "read")],
)


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an nsys that exports SOME."""
    folder = tmp_path / "tool"
    folder.mkdir()
    fake_nsys.install(folder, "exports", write(folder / "some.sqlite", SOME))
    monkeypatch.setenv("EAGLERAY_NSYS", str(folder / "nsys"))
    return folder


@pytest.fixture
def report(tmp_path: Path) -> Path:
    (tmp_path / "here").mkdir()
    file = tmp_path / "here" / "policy.node-7.1.nsys-rep"
    file.write_bytes(fake_nsys.report_bytes())
    return file


def reports(tmp_path: Path, smallest: int = 0) -> Reports:
    own = tmp_path / "own"
    own.mkdir(mode=0o700, exist_ok=True)
    return Reports(lambda: own, SummaryCache(own / "summaries", smallest))


async def test_report_is_exported_beside_it_once(tmp_path: Path, tool: Path, report: Path) -> None:
    progress: list[tuple[str, int]] = []
    read = await reports(tmp_path).read(str(report), lambda text, now: progress.append((text, now)))
    assert read.database == report.with_suffix(".sqlite")
    assert [gpu.kernels for gpu in read.summary.gpus] == [2]
    assert ("Exporting with nsys", 100) in progress
    assert ("Reading the NVTX ranges", 50) in progress
    await reports(tmp_path).read(str(report))
    assert len(fake_nsys.calls(tool)) == 1
    os.utime(report, ns=(2**62, 2**62))
    await reports(tmp_path).read(str(report))
    assert len(fake_nsys.calls(tool)) == 2


async def test_summary_is_read_again_in_another_language(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    database = write(tmp_path / "empty.sqlite", Recording())
    catalogue = {"The report holds no event: the capture range was empty.": "Keine Ereignisse."}
    (tmp_path / "de.json").write_text(json.dumps(catalogue), "utf-8")
    said = []
    for language in ("", "de", "de", ""):
        monkeypatch.setattr(l10n, "_chosen", l10n._Language())
        l10n.use(language, tmp_path)
        (warning, *_) = (await reports(tmp_path).read(str(database))).summary.warnings
        said.append(warning.message)
    assert said == [*catalogue, *catalogue.values(), *catalogue.values(), *catalogue]


async def test_foreign_file_of_that_name_is_not_replaced(
    tmp_path: Path, tool: Path, report: Path
) -> None:
    report.with_suffix(".sqlite").write_text("something of the person")
    for _ in range(2):
        read = await reports(tmp_path).read(str(report))
        assert read.database.parent == tmp_path / "own" / "exports"
    assert report.with_suffix(".sqlite").read_text() == "something of the person"
    assert len(fake_nsys.calls(tool)) == 1


async def test_readonly_folder_uses_the_state_folder(
    tmp_path: Path, tool: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # root may write everywhere, so that a mode alone would not refuse it.
    can = os.access
    monkeypatch.setattr(os, "access", lambda path, mode: path != report.parent and can(path, mode))
    read = await reports(tmp_path).read(str(report))
    assert read.database.parent == tmp_path / "own" / "exports"
    assert list(report.parent.iterdir()) == [report]


async def test_missing_nsys_error_names_where_to_export(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("EAGLERAY_NSYS", raising=False)
    monkeypatch.setattr(nsys, "find", lambda: None)
    with pytest.raises(EaglerayError, match=r"Only nsys 2025\.1\.2\.3 or newer can") as error:
        await reports(tmp_path).read(str(report))
    assert error.value.code == "nsys-missing"
    assert "`nsys export --type sqlite` makes" in error.value.next_step


async def test_configured_nsys_that_is_not_a_program_is_an_error(
    tmp_path: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EAGLERAY_NSYS", "/nowhere/nsys")
    with pytest.raises(EaglerayError, match=r"because /nowhere/nsys is not a program"):
        await reports(tmp_path).read(str(report))


def recorded_by(report: Path, version: object) -> None:
    """As the list says beside what was gathered."""
    rows = [{"file": "other"}, {"file": report.name, "nsys_version": version}]
    manifest = {"run": "r", "reports": rows}
    (report.parent / "manifest.json").write_text(json.dumps(manifest))


async def test_older_nsys_error_names_both_versions(
    tmp_path: Path, tool: Path, report: Path
) -> None:
    fake_nsys.install(tool, "fails")
    report.write_bytes(fake_nsys.report_bytes("2031.1.2.90"))
    with pytest.raises(
        EaglerayError, match=r"by nsys 2031\.1\.2\.90; this machine's is 2025\.1\.2"
    ) as error:
        await reports(tmp_path).read(str(report))
    assert error.value.code == "nsys-older"


async def test_note_names_the_version_that_the_file_does_not(
    tmp_path: Path, tool: Path, report: Path
) -> None:
    fake_nsys.install(tool, "fails")
    report.write_bytes(fake_nsys.report_bytes("").replace(b"-0a1b2c3d", b""))
    recorded_by(report, "2031.1.2")
    with pytest.raises(EaglerayError) as error:
        await reports(tmp_path).read(str(report))
    assert error.value.code == "nsys-older"
    for version in ("2025.1.2.9", "2025.1.1", "one \x1b[2J", 7, ""):
        recorded_by(report, version)
        with pytest.raises(EaglerayError) as error:
            await reports(tmp_path).read(str(report))
        assert error.value.code == "export-failed"


@pytest.mark.parametrize("version", ["2022.2.1.31", "2025.6.1.190", "2031.1.2.90"])
@pytest.mark.parametrize("has_nsys", [True, False])
async def test_incomplete_report_is_not_called_newer(
    tmp_path: Path,
    tool: Path,
    report: Path,
    monkeypatch: pytest.MonkeyPatch,
    version: str,
    has_nsys: bool,
) -> None:
    fake_nsys.install(tool, "fails")
    if not has_nsys:
        monkeypatch.setattr(nsys, "find", lambda: None)
    for content in (fake_nsys.report_bytes(version)[:-5], bytes(5000)):
        report.write_bytes(content)
        with pytest.raises(EaglerayError, match="its end is missing") as error:
            await reports(tmp_path).read(str(report))
        assert error.value.code == "incomplete-report"
    report.write_bytes(b"<!DOCTYPE html><title>Sign in</title>")
    with pytest.raises(EaglerayError, match="is not an nsys report"):
        await reports(tmp_path).read(str(report))


@pytest.mark.parametrize("version", ["2020.3.4.32", "2022.2.1.31", "2024.4.1.61", "2025.6.1.190"])
def test_version_is_read_from_reports_of_every_generation(tmp_path: Path, version: str) -> None:
    (tmp_path / "r.nsys-rep").write_bytes(fake_nsys.report_bytes(version))
    assert examine(tmp_path / "r.nsys-rep") == ReportFile(True, True, version)


@pytest.mark.parametrize(
    ("ending", "reason"),
    [
        ("fails", "Exportation error: Section Table Reference magic number mismatch"),
        ("writes nothing", "exit code 0"),
    ],
)
async def test_failed_export_leaves_no_files(
    tmp_path: Path, tool: Path, report: Path, ending: str, reason: str
) -> None:
    fake_nsys.install(tool, ending)
    with pytest.raises(EaglerayError) as error:
        await reports(tmp_path).read(str(report))
    assert error.value.code == "export-failed"
    assert error.value.output == reason
    assert reason not in str(error.value)
    assert "2025.1.2.3" in error.value.message
    assert list(report.parent.iterdir()) == [report]


async def test_cancelled_reading_ends_nsys_and_leaves_no_files(
    tmp_path: Path, tool: Path, report: Path
) -> None:
    fake_nsys.install(tool, "hangs")
    started = asyncio.Event()

    def say(_: str, percentage: int) -> None:
        if percentage == 100:
            started.set()

    reading = asyncio.create_task(reports(tmp_path).read(str(report), say))
    await started.wait()
    reading.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reading
    (call,) = fake_nsys.calls(tool)
    assert not Path(f"/proc/{call.split()[0]}").exists()
    assert list(report.parent.iterdir()) == [report]


async def test_silent_nsys_is_stopped(
    tmp_path: Path, tool: Path, report: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_nsys.install(tool, "hangs")
    monkeypatch.setattr(nsys, "EXPORT_LIMIT_S", 0.5)
    with pytest.raises(EaglerayError) as error:
        await reports(tmp_path).read(str(report))
    assert error.value.code == "export-slow"


def test_nsys_is_searched_in_order(tmp_path: Path) -> None:
    def place(*parts: str) -> Path:
        (tmp_path / Path(*parts)).parent.mkdir(parents=True, exist_ok=True)
        return fake_nsys.install((tmp_path / Path(*parts)).parent, "exports")

    root = str(tmp_path)
    assert nsys.find({"PATH": ""}, root) is None
    sdk = place("opt/nvidia/hpc_sdk/Linux_x86_64/24.5/profilers/Nsight_Systems/bin/nsys")
    assert nsys.find({"PATH": ""}, root) == nsys.NsysTool(str(sdk))
    old = place("opt/nvidia/nsight-systems/2024.10.1/bin/nsys")
    new = place("opt/nvidia/nsight-systems/2024.9.1/bin/nsys")
    assert nsys.find({"PATH": ""}, root) == nsys.NsysTool(str(old))
    cuda = place("usr/local/cuda/bin/nsys")
    assert nsys.find({"PATH": "relative:"}, root) == nsys.NsysTool(str(cuda))
    on_path = place("some/bin/nsys")
    assert nsys.find({"PATH": f"relative:{on_path.parent}"}, root) == nsys.NsysTool(str(on_path))
    named = {"EAGLERAY_NSYS": str(new), "PATH": str(on_path.parent)}
    assert nsys.find(named, root) == nsys.NsysTool(str(new))
    assert nsys.find({**named, "EAGLERAY_NSYS": "/nowhere"}, root) is None


async def test_cached_summary_is_used_until_its_file_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = write(tmp_path / "r.sqlite", SOME)
    read: list[Path] = []
    plain = summary.read

    def counted(path: Path, *others: object) -> summary.Summary:
        read.append(path)
        return plain(path, *others)  # type: ignore[arg-type]

    monkeypatch.setattr(summary, "read", counted)
    first = await reports(tmp_path).read(str(file))
    again = await reports(tmp_path).read(str(file))
    assert again == first
    assert len(read) == 1
    cached = tmp_path / ".r.sqlite.eagleray-summary"
    for broken in ("", "[]", '{"format": 1}', "\0", "[" * 100_000):
        cached.write_text(broken)
        assert await reports(tmp_path).read(str(file)) == first
    content = json.loads(cached.read_text())
    gpu, table = content["summary"]["gpus"][0], content["summary"]["tables"][0]
    for wrong in (
        {**content, "summary": {**content["summary"], "gpus": [{**gpu, "busy_ns": "<script>"}]}},
        {**content, "summary": {**content["summary"], "tables": [{**table, "rows": [["short"]]}]}},
        {**content, "summary": {**content["summary"], "gpus": [{**gpu, "curve": [float("nan")]}]}},
    ):
        cached.write_text(json.dumps(wrong))
        assert await reports(tmp_path).read(str(file)) == first
    assert len(read) == 9
    cached.write_text(cached.read_text().replace("softmax", "\\u001b[2Jsoftmax"))
    table = await reports(tmp_path).table(str(file), "kernels")
    assert [row[0] for row in table.rows] == [" [2Jsoftmax", "gemm"]
    assert len(read) == 9
    file.unlink()
    write(file, Recording(osrt=[Call(0, 1, "read")]))
    assert (await reports(tmp_path).read(str(file))).summary.gpus == ()


async def test_pipe_in_place_of_a_cached_summary_keeps_nothing_waiting(tmp_path: Path) -> None:
    file = write(tmp_path / "r.sqlite", SOME)
    first = await reports(tmp_path).read(str(file))
    cached = tmp_path / ".r.sqlite.eagleray-summary"
    cached.unlink()
    os.mkfifo(cached)
    assert summary_cache._read(cached) is None
    # As if it had been made between a check and the opening.
    with patch.object(Path, "is_file", return_value=True):
        assert summary_cache._read(cached) is None
    assert await reports(tmp_path).read(str(file)) == first


async def test_small_files_are_not_cached(tmp_path: Path) -> None:
    file = write(tmp_path / "r.sqlite", SOME)
    await reports(tmp_path, smallest=2**20).read(str(file))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["own", "r.sqlite"]


async def test_summary_is_cached_in_the_state_folder_if_the_folder_is_readonly(
    tmp_path: Path,
) -> None:
    file = write(tmp_path / "r.sqlite", SOME)
    # A folder in its place: root may write everywhere else.
    (tmp_path / ".r.sqlite.eagleray-summary").mkdir()
    first = await reports(tmp_path).read(str(file))
    assert len(list((tmp_path / "own" / "summaries").iterdir())) == 1
    assert await reports(tmp_path).read(str(file)) == first


async def test_note_beside_the_report_names_the_traces(tmp_path: Path) -> None:
    file = write(tmp_path / "r.sqlite", Recording(osrt=[Call(0, 1, "read")]))
    note = tmp_path / "r.sqlite.json"
    for options, trace in (
        (["--trace=cuda,nvtx", "-s", "none"], "cuda,nvtx"),
        (["-t", "osrt"], "osrt"),
        (["-t"], ""),
        ("no list", ""),
    ):
        note.write_text(json.dumps({"options": options}))
        assert (await reports(tmp_path).read(str(file))).summary.about.trace == trace
    note.write_text("{")
    assert (await reports(tmp_path).read(str(file))).summary.about.trace == ""


async def test_table_is_sorted_and_searched(tmp_path: Path) -> None:
    file = str(write(tmp_path / "r.sqlite", SOME))
    here = reports(tmp_path)
    usual = await here.table(file, "nvtx")
    assert [row[0] for row in usual.rows] == ["rank 1", "rank 2"]
    assert (usual.sorted_by, usual.descending) == ("total", True)
    by_name = await here.table(file, "nvtx", sort="range", descending=True)
    assert [row[0] for row in by_name.rows] == ["rank 2", "rank 1"]
    result = await here.table(file, "kernels", search="SOFT")
    assert [row[0] for row in result.rows] == ["softmax"]
    assert result.total == 1
    assert (await here.table(file, "memcpy")).rows == ()


def test_rows_without_a_value_come_last_in_both_orders() -> None:
    rows = [("a", 1, 1, 1, None, 1), ("b", 1, 1, 1, 5, 1), ("c", 1, 1, 1, 7, 1)]
    for descending, names in ((True, "cba"), (False, "bca")):
        table = ReportTable("memcpy", tuple(rows), 3).ordered("rate", descending)
        assert "".join(str(row[0]) for row in table.rows) == names


def test_rows_after_the_limit_are_dropped() -> None:
    rows = [(f"step {n}", "push/pop", 1, 1, n, n, n, n, n) for n in range(MOST_ROWS + 5)]
    table = make_table("nvtx", rows)
    assert (len(table.rows), table.total) == (MOST_ROWS, MOST_ROWS + 5)
    assert table.rows[0][4] == MOST_ROWS + 4
    assert "10000 of 10005" in table.note
