"""The beginning and the end of a .nsys-rep: the nsys that wrote it, and whether it is complete."""

from __future__ import annotations

import re
from pathlib import Path

from attrs import frozen

from eagleray.remote.injected.outside_files import opened

_BEGIN = b"NVIDIA Tegra Profiler Report "
_END = b"[END]"
# The version is part of the first line in reports made since 2024.
_VERSION_AT_BEGIN = re.compile(rb"(\d{4})@(\d{1,3})@(\d{1,3})(?:@(\d{1,9}))?")
# Before, it is in the last section, within a kilobyte of the end (2020.3 to 2022.2).
_VERSION_AT_END = re.compile(rb"(?<![\d.])20\d\d(?:\.\d{1,9}){2,3}(?=-[0-9a-z]{6})")
_MOST = 16 * 2**10


@frozen
class ReportFile:
    """`version` is "" if the file doesn't say it, as an incomplete one of nsys before 2024."""

    is_report: bool
    is_complete: bool
    version: str


def examine(report: Path) -> ReportFile:
    """Blocks.  Raises OSError."""
    with opened(report) as file:
        begin = file.read(_MOST)
        size = file.seek(0, 2)
        file.seek(max(0, size - _MOST))
        end = file.read(_MOST)
    # Space that was reserved for a download and not yet written.
    is_blank = not begin.strip(b"\0")
    is_complete = end.endswith(_END)
    version = ""
    if match := _VERSION_AT_BEGIN.match(begin.removeprefix(_BEGIN)):
        version = ".".join(part.decode() for part in match.groups() if part)
    elif is_complete and (versions := _VERSION_AT_END.findall(end)):
        version = versions[-1].decode()
    return ReportFile(begin.startswith(_BEGIN) or is_blank, is_complete, version)
