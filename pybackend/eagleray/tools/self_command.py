"""How a process of ours is started by somebody else, such as a terminal of the editor."""

from __future__ import annotations

import sys
from pathlib import Path

ENTRY = Path(__file__).resolve().parents[2] / "eagleray_start.py"


def own_command(*words: str) -> list[str]:
    """`eagleray_start.py WORDS` by our own Python, isolated as we are ourselves."""
    site = ["-S"] if sys.flags.no_site else []
    return [sys.executable, "-I", *site, str(ENTRY), *words]
