"""The summary of one database: its parts, summed up in several threads."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from attrs import frozen

from eagleray.features.reports import (
    calls,
    copies,
    gpu,
    kernels,
    range_times,
    ranges,
    recording,
    report_warnings,
)
from eagleray.features.reports.busy import END, Gap
from eagleray.features.reports.database import Database, opened
from eagleray.features.reports.device import Gpu
from eagleray.features.reports.gpu import Gpus
from eagleray.features.reports.kernel_tables import KERNELS
from eagleray.features.reports.kernels import GRAPH
from eagleray.features.reports.limits import Limits
from eagleray.features.reports.recording import About
from eagleray.features.reports.report_warnings import ReportWarning, Seen
from eagleray.features.reports.slices import Slices
from eagleray.features.reports.tables import Table, made

Say = Callable[[str, int], None]

_NEEDED = {
    KERNELS: ("start", "end", "deviceId"),
    copies.COPIES: ("start", "end", "bytes", "copyKind"),
    range_times.EVENTS: ("start", "end", "eventType"),
    calls.OSRT: ("start", "end", "nameId"),
    calls.CUDA: ("start", "end", "nameId"),
}


@frozen
class Summary:
    """All that is shown of a report; tables without rows are left out."""

    about: About
    gpus: tuple[Gpu, ...]
    tables: tuple[Table, ...]
    warnings: tuple[ReportWarning, ...]


def read(
    path: Path, trace: str, limits: Limits, say: Say = lambda text, percentage: None
) -> Summary:
    """Blocks, with all cores; raises an error of the catalogue, also when `limits` are reached."""
    with Slices(opened(path, limits)) as slices:
        try:
            return _read(slices, trace, say)
        except BaseException:
            # The other threads would read on to their end.
            limits.cancel()
            raise


def _read(slices: Slices, trace: str, say: Say) -> Summary:
    """What is begun first is there first; only what takes kernels one by one needs Python, and this thread."""
    database = slices.database
    say("Reading the kernels", 10)
    kernel_sums = kernels.begun(slices)
    copy_sums = copies.begun(slices)
    cuda_calls = calls.begun(slices, calls.CUDA)
    osrt_calls = calls.begun(slices, calls.OSRT)
    events = range_times.begun(slices)
    seen_kernels = kernels.read(database, kernel_sums)
    gpus = gpu.read(slices, seen_kernels.span, seen_kernels.nccl)
    if not gpus.is_clean:
        seen_kernels = kernels.read(database, kernels.begun(slices, checked=True))
    say("Reading the NVTX ranges", 50)
    nvtx, naming = ranges.read(slices, events)
    gaps = _gaps(database, naming, gpus)
    say("Reading the calls", 80)
    copied = copies.read(database, *copy_sums)
    cuda = calls.read(database, cuda_calls, "cuda_api")
    osrt = calls.read(database, osrt_calls, "osrt")
    threads = calls.threads(database, osrt.threads, cuda.threads, nvtx.threads)
    about = recording.read(database, trace)
    tables = [
        kernels.table(seen_kernels),
        nvtx.table,
        gaps,
        copied,
        cuda.table,
        osrt.table,
        threads,
    ]
    seen = Seen(
        kernels=sum(one.kernels for one in gpus.gpus),
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
    kept = tuple(table for table in tables if table.rows)
    return Summary(about, gpus.gpus, kept, tuple(report_warnings.warnings(about, seen)))


def _gaps(database: Database, naming: ranges.Naming, gpus: Gpus) -> Table:
    after = gpu.after(database, gpus.gaps)
    processes = [after[gap.after][0] if gap.after in after else None for gap in gpus.gaps]
    around = ranges.around(database, naming, gpus.gaps, processes)
    names = database.strings({name for _, name in after.values() if isinstance(name, int)})
    rows = [
        (gap.device, gap.begin, gap.duration, name, _next(gap, after, names))
        for gap, name in zip(gpus.gaps, around, strict=True)
    ]
    return made("gaps", rows)


def _next(
    gap: Gap, after: Mapping[int, tuple[int | None, object]], names: Mapping[int, str]
) -> str:
    if gap.after == END:
        return ""
    _, name = after.get(gap.after, (None, None))
    return names.get(name, GRAPH) if isinstance(name, int) else GRAPH
