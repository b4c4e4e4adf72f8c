"""Warnings about a report: why it may lack what the user expects."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from eagleray.features.reports.model import ReportMetadata, ReportWarning

# The newest major version of the schema that was tested.
KNOWN_SCHEMA = 3


@frozen
class EventCounts:
    """The number of events of each kind in a report; `nvtx_events` also counts those that are not ranges.

    `missing` are the tables that lack a column.
    """

    kernels: int = 0
    unread_kernels: int = 0
    ranges: int = 0
    nvtx_events: int = 0
    unfinished: int = 0
    cuda_calls: int = 0
    osrt_calls: int = 0
    copies: int = 0
    missing: tuple[str, ...] = ()


def find_warnings(about: ReportMetadata, counts: EventCounts) -> Iterator[ReportWarning]:
    traced = {name.strip() for name in about.trace.split(",")}
    is_empty = not (counts.kernels or counts.cuda_calls or counts.osrt_calls or counts.copies)
    # A domain of NVTX without any range means an nvtx package that does not fit this nsys.
    if is_empty and not counts.nvtx_events:
        yield ReportWarning(
            "empty-capture",
            "The report holds no event: the capture range was empty.",
            "Check that the program reached the recorded steps, or record by time or on demand.",
        )
        return
    if not counts.ranges and (counts.nvtx_events or "nvtx" in traced):
        yield ReportWarning(
            "no-nvtx",
            "There are no NVTX rows although NVTX was traced: most likely the nvtx package does not fit this nsys.",
            "Use a newer nsys with a new nvtx package, or nvtx 0.2.10 with nsys 2022;"
            " a program that makes no range records none either.",
        )
    if not counts.kernels and (not about.trace or "cuda" in traced):
        yield ReportWarning(
            "no-kernels",
            "No kernel was recorded, so nothing is known of the GPUs.",
            "Trace cuda on a node with a GPU, in the process that uses it."
            if about.gpus or counts.cuda_calls
            else "The recorded machine shows no GPU to nsys.",
        )
    if counts.unfinished:
        yield ReportWarning(
            "unfinished-ranges",
            f"{counts.unfinished} NVTX ranges have no end: the recording was cut off, or the program never closes them.",
            "Their times are those until the last event.",
        )
    if counts.unread_kernels:
        yield ReportWarning(
            "unread-kernels",
            f"The numbers of {counts.unread_kernels} kernels make no sense and were left out.",
            "Export the report anew.",
        )
    yield from _schema_warnings(about, counts)
    for message in about.messages:
        yield ReportWarning("nsys-says", f"nsys says: {message}", "")


def _schema_warnings(about: ReportMetadata, counts: EventCounts) -> Iterator[ReportWarning]:
    major = about.schema_version.split(".")[0]
    newer = major.isdecimal() and len(major) < 9 and int(major) > KNOWN_SCHEMA
    if newer:
        yield ReportWarning(
            "newer-schema",
            f"The schema {about.schema_version} is newer than those that Eagleray knows ({KNOWN_SCHEMA}.x).",
            "Some tables may be missing here; Nsight Systems shows them all.",
        )
    for table in counts.missing:
        yield ReportWarning(
            "unknown-columns",
            f"The table {table} has other columns than those that are known, and was left out.",
            "Update Eagleray, or look at it in Nsight Systems.",
        )
