"""Summarizes one database: its tables, read in parallel, and warnings about what the report may lack."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from attrs import frozen

from eagleray.common.l10n import counted, t
from eagleray.profile.reports import calls, gpu, ranges
from eagleray.profile.reports.aggregates import ParallelReader
from eagleray.profile.reports.database import (
    STRINGS,
    STRINGS_NEEDED,
    Database,
    ReadLimits,
    display_text,
    open_database,
    unknown_name,
)
from eagleray.profile.reports.gpu import END, Gap, GpuSummary
from eagleray.profile.reports.gpu_activities import (
    COPIES,
    COPIES_NEEDED,
    GRAPH,
    GRAPHS,
    KERNELS,
    NEEDED,
    NO_KERNEL,
    SETS,
    SETS_NEEDED,
    begin_copies,
    begin_kernels,
    kernels_table,
    read_copies,
    read_kernels,
)
from eagleray.profile.reports.metadata import read_metadata
from eagleray.profile.reports.model import (
    ReportMetadata,
    ReportTable,
    ReportWarning,
    Summary,
    make_table,
)
from eagleray.profile.reports.ranges import RangeNames

# Called with what is being done and a percentage.
OnProgress = Callable[[str, int], None]

_NEEDED = {
    STRINGS: STRINGS_NEEDED,
    KERNELS: NEEDED,
    GRAPHS: NEEDED,
    COPIES: COPIES_NEEDED,
    SETS: SETS_NEEDED,
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
    on_progress(t("Reading the kernels"), 10)
    kernel_groups = begin_kernels(reader)
    copy_groups = begin_copies(reader)
    cuda_groups = calls.begin(reader, calls.CUDA)
    osrt_groups = calls.begin(reader, calls.OSRT)
    range_groups = ranges.begin(reader)
    kernel_sums = read_kernels(database, kernel_groups)
    gpus = gpu.read(reader, kernel_sums.span, kernel_sums.nccl)
    if not gpus.is_clean:
        kernel_sums = read_kernels(database, begin_kernels(reader, checked=True))
    on_progress(t("Reading the NVTX ranges"), 50)
    nvtx, range_names = ranges.read(reader, range_groups)
    gaps = _gaps_table(database, range_names, gpus)
    on_progress(t("Reading the calls"), 80)
    copied = read_copies(database, *copy_groups)
    cuda = calls.read(database, cuda_groups, calls.CUDA, "cuda_api")
    osrt = calls.read(database, osrt_groups, calls.OSRT, "osrt")
    threads = calls.threads_table(database, osrt.threads, cuda.threads, nvtx.threads)
    about = read_metadata(database, trace)
    tables = [
        kernels_table(kernel_sums),
        nvtx.table,
        gaps,
        copied,
        cuda.table,
        osrt.table,
        threads,
        nvtx.names,
    ]
    counts = EventCounts(
        kernels=sum(usage.kernels for usage in gpus.gpus),
        unread_kernels=gpus.unread,
        unnamed_kernels=kernel_sums.unnamed,
        unnamed=len(database.unnamed),
        has_strings=database.has(STRINGS, *STRINGS_NEEDED),
        graphs=database.count(GRAPHS) if database.has(GRAPHS, *NEEDED) else 0,
        mixed_gpus=gpus.mixed,
        ranges=nvtx.count,
        nvtx_events=nvtx.events,
        nvtx_marks=nvtx.marks,
        unfinished=nvtx.unfinished,
        cuda_calls=cuda.table.total,
        osrt_calls=osrt.table.total,
        copies=copied.total,
        missing=tuple(
            table
            for table, columns in _NEEDED.items()
            if table in database.refused
            or (table in database.tables and not database.has(table, *columns))
        ),
        others=() if any(table.rows for table in tables) else _other_events(database),
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
    if gap.after == NO_KERNEL:
        return GRAPH
    _, name = after.get(gap.after, (None, None))
    return (names.get(name) if isinstance(name, int) else "") or unknown_name(name)


# The newest major version of the schema that was tested.
NEWEST_SCHEMA = 3
_MOST_NAMED = 8


@frozen
class EventCounts:
    """The number of events of each kind in a report; `nvtx_events` also counts those that are not ranges.

    `nvtx_marks` are those without a duration.  `graphs` are CUDA graphs that were recorded as one each, `mixed_gpus` the
    numbers that mean several GPUs, `unnamed` the numbers that StringIds has no text for.  `missing` are the tables that
    couldn't be read, `others` those that Eagleray doesn't show.
    """

    kernels: int = 0
    unread_kernels: int = 0
    unnamed_kernels: int = 0
    unnamed: int = 0
    has_strings: bool = True
    graphs: int = 0
    mixed_gpus: tuple[int, ...] = ()
    ranges: int = 0
    nvtx_events: int = 0
    nvtx_marks: int = 0
    unfinished: int = 0
    cuda_calls: int = 0
    osrt_calls: int = 0
    copies: int = 0
    missing: tuple[str, ...] = ()
    others: tuple[str, ...] = ()


# Tables with times that describe the recording, not the program.
_ABOUT = re.compile(r"TARGET_INFO_|ANALYSIS_|META_DATA|DIAGNOSTIC_|ENUM_|.*OVERHEAD$|PROCESSES$")


def _other_events(database: Database) -> tuple[str, ...]:
    """The tables of events that Eagleray doesn't show, such as GPU_METRICS."""
    return tuple(
        sorted(
            display_text(table)
            for table, columns in database.tables.items()
            if table not in _NEEDED
            and not _ABOUT.match(table)
            and columns & {"start", "timestamp"}
            and database.count(table)
        )
    )


def _nvtx_fix() -> str:
    return t("Install a newer nsys, or nvtx 0.2.10 for nsys 2022.")


def find_warnings(about: ReportMetadata, counts: EventCounts) -> Iterator[ReportWarning]:
    traced = {name.strip() for name in about.trace.split(",")}
    shown = counts.kernels or counts.cuda_calls or counts.osrt_calls or counts.copies
    is_empty = not (shown or counts.nvtx_events or counts.unread_kernels or counts.missing)
    # A domain of NVTX without any range means an nvtx package that does not fit this nsys.
    if is_empty and counts.others:
        yield ReportWarning(
            "only-other-events",
            t(
                "The report holds only events that Eagleray doesn't show: {tables}.",
                tables=", ".join(counts.others[:_MOST_NAMED]),
            ),
            t("Nsight Systems shows them."),
        )
        return
    if is_empty:
        yield ReportWarning(
            "empty-capture",
            t("The report holds no event: the capture range was empty."),
            f"{t('Check that the program reached the recorded steps.')}"
            f" {t('You can also record by time or on demand.')}",
        )
        return
    if counts.ranges or ranges.EVENTS in counts.missing:
        pass
    elif counts.nvtx_marks:
        yield ReportWarning(
            "no-nvtx",
            t("The program has NVTX marks, but no NVTX range."),
            t("A range is a named part of a program, like a step."),
        )
    elif counts.nvtx_events:
        yield ReportWarning(
            "no-nvtx",
            t("No NVTX range was recorded, although the program uses NVTX."),
            f"{t('Its nvtx package does not fit this nsys.')} {_nvtx_fix()}",
        )
    elif "nvtx" in traced:
        yield ReportWarning(
            "no-nvtx",
            t("No NVTX range was recorded."),
            f"{t('If your program names none, ignore this warning.')}"
            f" {t('Otherwise, its nvtx package does not fit this nsys.')} {_nvtx_fix()}",
        )
    has_unread = counts.unread_kernels or {KERNELS, GRAPHS} & {*counts.missing}
    if not (counts.kernels or has_unread) and (not about.trace or "cuda" in traced):
        yield ReportWarning(
            "no-kernels",
            t("No GPU kernel was recorded."),
            f"{t('Trace cuda on a node with a GPU.')} {t('Record the process that uses it.')}"
            if about.gpus or counts.cuda_calls
            else t("The report lists no GPU either."),
        )
    if counts.graphs:
        yield ReportWarning(
            "graphs-as-one",
            f"{counted(counts.graphs, '{n} run of a CUDA graph was recorded as one.', '{n} runs of CUDA graphs were recorded as one each.')}"
            f" {t('The kernels, copies and NCCL in them are unknown.')}",
            t("Record with --cuda-graph-trace=node to see them."),
        )
    for number in counts.mixed_gpus:
        yield ReportWarning(
            "mixed-gpus",
            t(
                "GPU {number} is another one in each process; their kernels are added up.",
                number=number,
            ),
            t("Record each process on its own."),
        )
    if counts.unfinished:
        yield ReportWarning(
            "unfinished-ranges",
            f"{counted(counts.unfinished, '{n} NVTX range has no end.', '{n} NVTX ranges have no end.')}"
            f" {t('The recording was cut off, or the program never closes them.')}",
            t("Their times are those until the last event."),
        )
    if counts.unread_kernels:
        yield ReportWarning(
            "unread-kernels",
            counted(
                counts.unread_kernels,
                "{n} kernel has invalid numbers and was left out.",
                "{n} kernels have invalid numbers and were left out.",
            ),
            t("Export the report again."),
        )
    if counts.unnamed or counts.unnamed_kernels:
        yield _no_names(counts)
    yield from _schema_warnings(about, counts)
    for message in about.messages:
        yield ReportWarning("nsys-says", t("nsys says: {message}", message=message), "")


def _no_names(counts: EventCounts) -> ReportWarning:
    if not counts.has_strings:
        reason = t("Names are unknown: the report has no readable table {table}.", table=STRINGS)
    elif counts.unnamed:
        reason = counted(
            counts.unnamed,
            "The table {table} lacks {n} name that the report uses.",
            "The table {table} lacks {n} names that the report uses.",
            table=STRINGS,
        )
    else:
        reason = t("The table {table} lacks names of kernels.", table=KERNELS)
    nccl = t("How long kernels of NCCL ran is unknown.") if counts.unnamed_kernels else ""
    return ReportWarning("no-names", f"{reason} {nccl}".rstrip(), t("Export the report again."))


def _schema_warnings(about: ReportMetadata, counts: EventCounts) -> Iterator[ReportWarning]:
    major = about.schema_version.split(".")[0]
    newer = major.isdecimal() and len(major) < 9 and int(major) > NEWEST_SCHEMA
    if newer:
        yield ReportWarning(
            "newer-schema",
            t(
                "Schema {version} is newer than those that Eagleray knows ({newest}.x).",
                version=about.schema_version,
                newest=NEWEST_SCHEMA,
            ),
            t("Some tables may be missing here; Nsight Systems shows them all."),
        )
    for table in counts.missing:
        yield ReportWarning(
            "unknown-columns",
            t("The table {table} has an unknown form and was left out.", table=table),
            t("Update Eagleray, or open the report in Nsight Systems."),
        )
