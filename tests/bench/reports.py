"""Reports of nsys: how soon a large one is there, first and again, and how that compares to `nsys stats`."""

from __future__ import annotations

import asyncio
import os
import subprocess
import tempfile
import time
from pathlib import Path

from eagleray.features.profiling.reading.kept import KeptSummaries
from eagleray.features.profiling.reading.reports import Report, Reports

from tests.bench.rows import Row, at_most, at_most_times
from tests.in_cluster_run.real_nsys import PROGRAM
from tests.profiling.databases import write
from tests.profiling.large import Steps
from tests.profiling.recorded import record

# Two million kernels on two GPUs, a thousand steps.
LARGE = Steps(count=1000, kernels=1000, gpus=2)
# Some hundred thousand real ranges and calls.
REAL_STEPS = 150_000
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
            at_most("report of 2 M kernels, first look (s)", first, 3.0),
            at_most("report of 2 M kernels, opened again (s)", again, 0.3),
        ]
        if not PROGRAM.exists():
            print("not measured: nsys stats, since there is no nsys", flush=True)
            return rows
        os.environ["EAGLERAY_NSYS"] = str(PROGRAM)
        theirs = [_stats(large, KERNELS) for _ in range(min(samples, 2))]
        rows.append(at_most_times("report of 2 M kernels, as nsys stats (s)", first, theirs, 1 / 3))
        return [*rows, _real(folder, samples)]


def _real(folder: Path, samples: int) -> Row:
    """From the .nsys-rep on, with the export that both need."""
    report = record(folder, REAL_STEPS, 0)
    ours, theirs = [], []
    for _ in range(samples):
        report.with_suffix(".sqlite").unlink(missing_ok=True)
        ours.append(_first(report, folder))
        report.with_suffix(".sqlite").unlink(missing_ok=True)
        theirs.append(_stats(report, RANGES))
    return at_most_times("a recorded .nsys-rep, as nsys stats (s)", ours, theirs, 1 / 3)


def _first(file: Path, folder: Path) -> float:
    for kept in folder.glob(".*.eagleray-summary"):
        kept.unlink()
    return _read(file, folder)


def _again(file: Path, folder: Path) -> float:
    return _read(file, folder)


def _read(file: Path, folder: Path) -> float:
    """With nothing in memory, as when the editor was started anew."""
    begun = time.perf_counter()
    read: Report = asyncio.run(Reports(lambda: folder, KeptSummaries(folder)).read(str(file)))
    assert read.summary.tables
    return time.perf_counter() - begun


def _stats(file: Path, tables: str) -> float:
    begun = time.perf_counter()
    words = ["stats", "--report", tables, "--format", "csv", str(file)]
    subprocess.run([str(PROGRAM), *words], check=True, capture_output=True, timeout=900)
    return time.perf_counter() - begun
