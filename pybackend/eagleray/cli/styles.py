"""Colours of the terminal: on a terminal only, and as NO_COLOR and FORCE_COLOR say."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from enum import Enum


class Style(Enum):
    """The coloured kinds of text, with their SGR codes."""

    HEADING = "1"
    ATTENTION = "33"
    ACTIVE = "36"
    GOOD = "32"
    BAD = "31"
    FAINT = "2"


STATES: Mapping[str, Style] = {
    "paused": Style.ATTENTION,
    "held": Style.ATTENTION,
    "debugging": Style.ACTIVE,
    "running": Style.GOOD,
    "connected": Style.GOOD,
    "ready": Style.GOOD,
    "unhealthy": Style.BAD,
    "failed": Style.BAD,
    "unknown": Style.BAD,
    "unreachable": Style.BAD,
    "unauthorized": Style.BAD,
    "failing": Style.BAD,
    "not-ray": Style.BAD,
    "gone": Style.BAD,
    "cancelled": Style.FAINT,
    "exited": Style.FAINT,
    "idle": Style.FAINT,
}


def is_colored(is_terminal: bool, environ: Mapping[str, str]) -> bool:
    """Whether output is coloured.

    1. Never with a NO_COLOR that isn't empty (https://no-color.org).
    2. Always with a FORCE_COLOR that isn't empty or 0 (https://force-color.org).
    3. On a terminal that isn't dumb.
    """
    if environ.get("NO_COLOR"):
        return False
    if environ.get("FORCE_COLOR", "0") not in ("", "0"):
        return True
    return is_terminal and environ.get("TERM", "") != "dumb"


def styled(text: str, style: Style) -> str:
    """`text` in the style, if standard output is coloured."""
    if not text or not is_colored(sys.stdout.isatty(), os.environ):
        return text
    return f"\x1b[{style.value}m{text}\x1b[0m"
