"""Reports of nsys: how soon a large one is there, first and again, and how that compares to `nsys stats`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from eagleray.profile.reports import calls, gpu_activities, ranges
from eagleray.profile.reports.aggregates import ParallelReader
from eagleray.profile.reports.database import ReadLimits, open_database
from eagleray.profile.reports.model import LoadedReport
from eagleray.profile.reports.reports import Reports
from eagleray.profile.reports.summary_cache import SummaryCache

from tests.bench.rows import Row, at_most, at_most_times, printed
from tests.profile.reports.databases import write
from tests.profile.reports.large import Steps
from tests.profile.reports.recorded import record
from tests.remote.injected.real_nsys import PROGRAM

# Two million kernels on two GPUs, a thousand steps.
LARGE = Steps(count=1000, kernels=1000, gpus=2)
# Steps of a real recording, each of two ranges and a call: a small one and one as people have them.
REAL = {"300,000": 100_000, "3 M": 1_000_000}
KERNELS, RANGES = "gpukernsum,gpumemsizesum", "nvtxsum,osrtsum"


def reading(samples: int) -> list[Row]:
    """Nothing is kept between two first looks, and all of it between two later ones."""
    samples = min(samples, 5)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        large = write(folder / "large.sqlite", LARGE.recording())
        first = [_first(large, folder) for _ in range(samples)]
        again = [_again(large, folder) for _ in range(samples * 4)]
        rows = [
            at_most("report of 2 M kernels, all of it, first look (s)", first, 3.0),
            at_most("report of 2 M kernels, opened again (s)", again, 0.3),
        ]
        if not PROGRAM.exists():
            print("not measured: nsys stats, since there is no nsys", flush=True)
            return rows
        os.environ["EAGLERAY_NSYS"] = str(PROGRAM)
        theirs = [_stats(large, KERNELS) for _ in range(min(samples, 2))]
        same = [_timed(_kernels, large) for _ in range(samples)]
        return [
            *rows,
            _third(
                "report of 2 M kernels, its kernels and copies, as nsys stats (s)", same, theirs
            ),
            _third("report of 2 M kernels, all of it, as these of nsys stats (s)", first, theirs),
            *(row for name in REAL for row in _real(folder, name, samples)),
        ]


def _real(folder: Path, name: str, samples: int) -> list[Row]:
    """A recording: its database alone, and from the .nsys-rep on, with the export that both need."""
    # nsys leaves out calls that take less time than this.
    report = record(folder, REAL[name], 0, "nvtx,osrt", "--osrt-threshold=1")
    database = report.with_suffix(".sqlite")
    events = f"a recording of {name} ranges and calls"
    ours, theirs, exports = [], [], []
    for _ in range(samples):
        database.unlink(missing_ok=True)
        ours.append(_first(report, folder))
        database.unlink()
        theirs.append(_stats(report, RANGES))
        database.unlink()
        exports.append(_timed(_export, report))
    of_database = [_stats(database, RANGES) for _ in range(samples)]
    same = [_timed(_ranges, database) for _ in range(samples)]
    first = [_first(database, folder) for _ in range(samples)]
    return [
        _third(f"{events}, its ranges and calls, as nsys stats (s)", same, of_database),
        _third(f"{events}, all of it, as these of nsys stats (s)", first, of_database),
        _third(f"{events}, with its export, as nsys stats (s)", ours, theirs),
        printed(f"{events}, with its export, as nsys export alone (s)", ours, exports),
    ]


def _third(name: str, ours: Sequence[float], theirs: Sequence[float]) -> Row:
    return at_most_times(name, ours, theirs, 1 / 3)


def _kernels(file: Path) -> None:
    """The tables of KERNELS and no more."""
    with ParallelReader(open_database(file, ReadLimits())) as reader:
        found, copied = gpu_activities.begin_kernels(reader), gpu_activities.begin_copies(reader)
        assert gpu_activities.kernels_table(
            gpu_activities.read_kernels(reader.database, found)
        ).rows
        assert gpu_activities.read_copies(reader.database, *copied).rows


def _ranges(file: Path) -> None:
    """The tables of RANGES and no more."""
    with ParallelReader(open_database(file, ReadLimits())) as reader:
        osrt, events = calls.begin(reader, calls.OSRT), ranges.begin(reader)
        assert ranges.read(reader, events)[0].table.rows
        assert calls.read(reader.database, osrt, calls.OSRT, "osrt").table.rows


def _timed(does: Callable[[Path], None], file: Path) -> float:
    begun = time.perf_counter()
    does(file)
    return time.perf_counter() - begun


def _first(file: Path, folder: Path) -> float:
    for kept in folder.glob(".*.eagleray-summary"):
        kept.unlink()
    return _read(file, folder)


def _again(file: Path, folder: Path) -> float:
    return _read(file, folder)


def _read(file: Path, folder: Path) -> float:
    """With nothing in memory, as when the editor was started anew."""
    begun = time.perf_counter()
    read: LoadedReport = asyncio.run(Reports(lambda: folder, SummaryCache(folder)).read(str(file)))
    assert read.summary.tables
    return time.perf_counter() - begun


def _stats(file: Path, tables: str) -> float:
    return _timed(lambda it: _nsys("stats", "--report", tables, "--format", "csv", str(it)), file)


def _export(report: Path) -> None:
    _nsys("export", "--type", "sqlite", "-o", str(report.with_suffix(".sqlite")), str(report))


def _nsys(*words: str) -> None:
    subprocess.run([str(PROGRAM), *words], check=True, capture_output=True, timeout=900)
