"""The last lines of a run that failed, and the one among them that says why."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.redact import redact_text
from eagleray.features.runs.records import Listed
from eagleray.features.runs.terminal_text import decode

_BYTES = 2**14
_LINES = 12
_LONGEST = 300
_ESCAPE = re.compile(r"\x1b(?:\[[0-?]*[@-~]|\([0B]|[78DEM])")
# As Python ends a traceback; Ray puts the name and process of a worker before the lines of that.
_EXCEPTION = re.compile(
    r"^(?:\([^)]*\) )?(?P<said>[A-Za-z_][\w.]*(?:Error|Exception|Exit|Interrupt|Failure)\b(?:\([^)]*\))?(?::.*)?)$"
)


@frozen
class Tail:
    """`reason` is one line, `lines` are the last ones; both "" where there is nothing to say."""

    reason: str = ""
    lines: str = ""


def tail_of(one: Listed) -> Tail:
    """Of a run that failed; read once, since nothing is printed any more."""
    if one.state.phase != "failed":
        return Tail()
    try:
        size = one.record.output.stat().st_size
    except OSError:
        return Tail()
    return _tail(one.record.output, size)


def tail_in(text: str) -> Tail:
    """The last line that ends a traceback says why; without one, the last line of all."""
    plain = _ESCAPE.sub("", text).replace("\r", "\n")
    lines = [line.rstrip() for line in redact_text(plain).split("\n") if line.strip()]
    said = [found["said"] for line in lines if (found := _EXCEPTION.match(line))]
    reason = said[-1] if said else "".join(lines[-1:]).strip()
    last = [printable(line, _LONGEST) for line in lines[-_LINES:]]
    return Tail(printable(reason, _LONGEST), "\n".join(last))


@functools.lru_cache(maxsize=128)
def _tail(path: Path, size: int) -> Tail:
    """`size` is only part of the key: an output that was started over has another one."""
    try:
        with path.open("rb", buffering=0) as file:
            file.seek(max(0, size - _BYTES))
            return tail_in(decode(file.read(_BYTES), is_end=True)[0])
    except OSError:
        return Tail()
