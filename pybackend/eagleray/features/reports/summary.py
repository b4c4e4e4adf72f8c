"""Summarizes one database: starts all sums in parallel, then reads kernels, ranges, copies and calls."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from eagleray.features.reports import calls, copies, gpu, kernels, ranges
from eagleray.features.reports.aggregates import ParallelReader
from eagleray.features.reports.database import Database, ReadLimits, open_database
from eagleray.features.reports.gpu import END, Gap, GpuSummary
from eagleray.features.reports.kernels import GRAPH, KERNELS
from eagleray.features.reports.metadata import read_metadata
from eagleray.features.reports.model import ReportTable, Summary, make_table
from eagleray.features.reports.ranges import RangeNames
from eagleray.features.reports.report_warnings import EventCounts, find_warnings

# Called with what is being done and a percentage.
OnProgress = Callable[[str, int], None]

_NEEDED = {
    KERNELS: kernels.NEEDED,
    copies.COPIES: ("start", "end", "bytes", "copyKind"),
    ranges.EVENTS: ranges.NEEDED,
    calls.OSRT: calls.NEEDED,
    calls.CUDA: calls.NEEDED,
}


def ignore_progress(text: str, percentage: int) -> None:
    """An `OnProgress` that shows nothing."""


def read(
    path: Path, trace: str, limits: ReadLimits, on_progress: OnProgress = ignore_progress
) -> Summary:
    """Blocks, with all cores; raises an error of the catalogue, also when `limits` are reached."""
    with ParallelReader(open_database(path, limits)) as reader:
        try:
            return _read(reader, trace, on_progress)
        except BaseException:
            # Otherwise the other threads would read to the end.
            limits.cancel()
            raise


def _read(reader: ParallelReader, trace: str, on_progress: OnProgress) -> Summary:
    """Sums that begin first are ready first; only reading kernels one by one needs Python, and this thread."""
    database = reader.database
    on_progress("Reading the kernels", 10)
    kernel_groups = kernels.begin(reader)
    copy_groups = copies.begin(reader)
    cuda_groups = calls.begin(reader, calls.CUDA)
    osrt_groups = calls.begin(reader, calls.OSRT)
    range_groups = ranges.begin(reader)
    kernel_sums = kernels.read(database, kernel_groups)
    gpus = gpu.read(reader, kernel_sums.span, kernel_sums.nccl)
    if not gpus.is_clean:
        kernel_sums = kernels.read(database, kernels.begin(reader, checked=True))
    on_progress("Reading the NVTX ranges", 50)
    nvtx, range_names = ranges.read(reader, range_groups)
    gaps = _gaps_table(database, range_names, gpus)
    on_progress("Reading the calls", 80)
    copied = copies.read(database, *copy_groups)
    cuda = calls.read(database, cuda_groups, "cuda_api")
    osrt = calls.read(database, osrt_groups, "osrt")
    threads = calls.threads_table(database, osrt.threads, cuda.threads, nvtx.threads)
    about = read_metadata(database, trace)
    tables = [
        kernels.kernels_table(kernel_sums),
        nvtx.table,
        gaps,
        copied,
        cuda.table,
        osrt.table,
        threads,
    ]
    counts = EventCounts(
        kernels=sum(usage.kernels for usage in gpus.gpus),
        unread_kernels=gpus.unread,
        ranges=nvtx.count,
        nvtx_events=nvtx.events,
        unfinished=nvtx.unfinished,
        cuda_calls=cuda.table.total,
        osrt_calls=osrt.table.total,
        copies=copied.total,
        missing=tuple(
            table
            for table, columns in _NEEDED.items()
            if table in database.tables and not database.has(table, *columns)
        ),
    )
    shown = tuple(table for table in tables if table.rows)
    return Summary(about, gpus.gpus, shown, tuple(find_warnings(about, counts)))


def _gaps_table(database: Database, range_names: RangeNames, gpus: GpuSummary) -> ReportTable:
    after = gpu.kernels_after(database, gpus.gaps)
    processes = [after[gap.after][0] if gap.after in after else None for gap in gpus.gaps]
    around = ranges.range_around(database, range_names, gpus.gaps, processes)
    names = database.strings({name for _, name in after.values() if isinstance(name, int)})
    rows = [
        (gap.device, gap.begin, gap.duration, name, _next_kernel(gap, after, names))
        for gap, name in zip(gpus.gaps, around, strict=True)
    ]
    return make_table("gaps", rows)


def _next_kernel(
    gap: Gap, after: Mapping[int, tuple[int | None, object]], names: Mapping[int, str]
) -> str:
    if gap.after == END:
        return ""
    _, name = after.get(gap.after, (None, None))
    return names.get(name, GRAPH) if isinstance(name, int) else GRAPH
