"""Why Ray's own way to nsys (`nsight` in a runtime_env) failed, as it stands in what a program printed."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable

# Whoever fails says so at the end.
_LAST = 2**18
_NODE = re.compile(r"\[Node ([0-9A-Za-z.:-]{1,60})\]")
# Behind the first of them stands what nsys said, on one line, as Python writes bytes.
_SAID = re.compile(
    r"nsight profile failed to run with the following\s+error message:\s*(\S.*)"
    r"|(Unsupported nsight config: [^.\n]*)"
)
_LONGEST = 2**16
_MISSING = "nsight is not installed"


@frozen
class Refusal:
    """Why in nsys's own words, without the pages of help behind them; `node` is "" where Ray does not say it."""

    node: str
    why: str


def refusal(output: Path) -> Refusal | None:
    """The last one that was printed, None if nothing is said of it."""
    try:
        with output.open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST))
            text = file.read(_LAST).decode("utf-8", "replace")
    except OSError:
        return None
    found = list(_SAID.finditer(text))
    if not found:
        return None
    nodes = _NODE.findall(text, 0, found[-1].start())
    said, unsupported = found[-1].groups()
    why = unsupported or _first_line(said)
    if why == _MISSING:
        why = "there is no nsys on Ray's path there"
    why = printable(why, 300).strip().rstrip(".") or "nsys does not say why"
    return Refusal(nodes[-1] if nodes else "", why)


def _first_line(said: str) -> str:
    if said.startswith(("b'", 'b"')):
        try:
            value = ast.literal_eval(said[:_LONGEST].rstrip())
            said = value.decode("utf-8", "replace")
        except (ValueError, SyntaxError, AttributeError, RecursionError, MemoryError):
            # It was cut, or other text follows it, which may be any expression.
            said = said[2:].replace("\\n", "\n")
    return next((line.strip() for line in said.splitlines() if line.strip()), "")
