"""Why a report may not say what one expects of it."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import frozen

from eagleray.features.reports.recording import About

# The schemas that were read are 3.x.
KNOWN_SCHEMA = 3


@frozen
class ReportWarning:
    """A code for programs, one sentence, what can be done about it."""

    code: str
    message: str
    next_step: str


@frozen
class Seen:
    """How many of each there are in a report; `nvtx_events` counts also what is no range."""

    kernels: int = 0
    unread_kernels: int = 0
    ranges: int = 0
    nvtx_events: int = 0
    unfinished: int = 0
    cuda_calls: int = 0
    osrt_calls: int = 0
    copies: int = 0
    missing: tuple[str, ...] = ()


def warnings(about: About, seen: Seen) -> Iterator[ReportWarning]:
    asked = {word.strip() for word in about.trace.split(",")}
    is_empty = not (seen.kernels or seen.cuda_calls or seen.osrt_calls or seen.copies)
    # A domain of NVTX without any range in it tells of an nvtx package that does not fit.
    if is_empty and not seen.nvtx_events:
        yield ReportWarning(
            "empty-capture",
            "The report holds no event: the capture range was empty.",
            "Check that the program reached the recorded steps, or record by time or on demand.",
        )
        return
    if not seen.ranges and (seen.nvtx_events or "nvtx" in asked):
        yield ReportWarning(
            "no-nvtx",
            "There are no NVTX rows although NVTX was traced: most likely the nvtx package does not fit this nsys.",
            "Use a newer nsys with a new nvtx package, or nvtx 0.2.10 with nsys 2022;"
            " a program that makes no range records none either.",
        )
    if not seen.kernels and (not about.trace or "cuda" in asked):
        yield ReportWarning(
            "no-kernels",
            "No kernel was recorded, so nothing is known of the GPUs.",
            "Trace cuda on a node with a GPU, in the process that uses it."
            if about.gpus or seen.cuda_calls
            else "The recorded machine shows no GPU to nsys.",
        )
    if seen.unfinished:
        yield ReportWarning(
            "unfinished-ranges",
            f"{seen.unfinished} NVTX ranges have no end: the recording was cut off, or the program never closes them.",
            "Their times are those until the last event.",
        )
    if seen.unread_kernels:
        yield ReportWarning(
            "unread-kernels",
            f"The numbers of {seen.unread_kernels} kernels make no sense and were left out.",
            "Export the report anew.",
        )
    yield from _of_schema(about, seen)
    for message in about.messages:
        yield ReportWarning("nsys-says", f"nsys says: {message}", "")


def _of_schema(about: About, seen: Seen) -> Iterator[ReportWarning]:
    major = about.schema_version.split(".")[0]
    newer = major.isdecimal() and len(major) < 9 and int(major) > KNOWN_SCHEMA
    if newer:
        yield ReportWarning(
            "newer-schema",
            f"The schema {about.schema_version} is newer than those that Eagleray knows ({KNOWN_SCHEMA}.x).",
            "Some tables may be missing here; Nsight Systems shows them all.",
        )
    for table in seen.missing:
        yield ReportWarning(
            "unknown-columns",
            f"The table {table} has other columns than those that are known, and was left out.",
            "Update Eagleray, or look at it in Nsight Systems.",
        )
