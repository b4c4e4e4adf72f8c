"""Breakpoints as a person types them: `FILE:LINE`, or `FILE:LINE:CONDITION`."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from eagleray.common.run_errors import bad_breakpoint
from eagleray.features.runs.plan import Breakpoint, Line

_TEXT = re.compile(r"(?P<path>.+?):(?P<line>[1-9][0-9]{0,6})(?::(?P<condition>.+))?")


def breakpoints(texts: Iterable[str], cwd: Path) -> tuple[Breakpoint, ...]:
    """The breakpoints of each file together; a path that is not absolute is one of `cwd`."""
    of_file: dict[str, list[Line]] = {}
    for text in texts:
        found = _TEXT.fullmatch(text)
        if found is None:
            raise bad_breakpoint(text)
        path = str((cwd / Path(found["path"]).expanduser()).absolute())
        line = Line(int(found["line"]), (found["condition"] or "").strip())
        of_file.setdefault(path, []).append(line)
    return tuple(Breakpoint(path, tuple(lines)) for path, lines in of_file.items())
