"""The command line with which another process, such as a terminal of the editor, starts Eagleray."""

from __future__ import annotations

import sys
from pathlib import Path

ENTRY = Path(__file__).resolve().parents[2] / "eagleray_start.py"


def self_command(*arguments: str) -> list[str]:
    """Returns `eagleray_start.py WORDS` by our own Python, isolated as this process is."""
    site = ["-S"] if sys.flags.no_site else []
    return [sys.executable, "-I", *site, str(ENTRY), *arguments]
