"""Finds in a program's output why Ray's own start of nsys (`nsight` in a runtime_env) failed."""

from __future__ import annotations

import ast
import os
import re
from pathlib import Path

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.common.l10n import t

# The message is at the end of the output.
_LAST = 2**18
_NODE = re.compile(r"\[Node ([0-9A-Za-z.:-]{1,60})\]")
# The first is followed by the message of nsys, on one line, as Python prints bytes (Ray 2.60, `runtime_env/nsight.py`).
_MESSAGE = re.compile(
    r"nsight profile failed to run with the following\s+error message:\s*(\S.*)"
    r"|(Unsupported nsight config: [^.\n]*)"
)
_LONGEST = 2**16
_MISSING = "nsight is not installed"
# The reason where nsys is missing.
MISSING = "there is no nsys on Ray's path there"


@frozen
class NsightRefusal:
    """The message of nsys without its pages of help; `node` is "" if Ray does not print it."""

    node: str
    why: str


def nsight_refusal(output: Path) -> NsightRefusal | None:
    """The last refusal in the output, None if there is none."""
    try:
        with output.open("rb") as file:  # own file
            file.seek(max(0, os.fstat(file.fileno()).st_size - _LAST))
            text = file.read(_LAST).decode("utf-8", "replace")
    except OSError:
        return None
    matches = list(_MESSAGE.finditer(text))
    if not matches:
        return None
    nodes = _NODE.findall(text, 0, matches[-1].start())
    message, unsupported = matches[-1].groups()
    why = unsupported or _first_line(message)
    if why == _MISSING:
        why = MISSING
    why = printable(why, 300).strip().rstrip(".") or t("nsys doesn't say why")
    return NsightRefusal(nodes[-1] if nodes else "", why)


def _first_line(message: str) -> str:
    if message.startswith(("b'", 'b"')):
        try:
            value = ast.literal_eval(message[:_LONGEST].rstrip())
            message = value.decode("utf-8", "replace")
        except (ValueError, SyntaxError, AttributeError, RecursionError, MemoryError):
            # It was cut, or other text follows it, which may be any expression.
            message = message[2:].replace("\\n", "\n")
    return next((line.strip() for line in message.splitlines() if line.strip()), "")
