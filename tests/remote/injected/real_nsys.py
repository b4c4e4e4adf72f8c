"""The nsys of tests: Debian's, in the developer's cache."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest

CACHE = Path(os.environ.get("EAGLERAY_DEV_CACHE") or Path.home() / ".cache" / "eagleray-dev")
FOLDER = CACHE / "nsys"
PROGRAM = FOLDER / "bin" / "nsys"


def real_nsys() -> str:
    """Its path; where it could not be had the test is left out, which says why."""
    if not PROGRAM.exists():
        why = FOLDER / "why-not.txt"
        reason = (
            why.read_text().strip() if why.exists() else f"no {PROGRAM}: run `npm test -- nsys`"
        )
        pytest.skip(f"no nsys can be had here: {reason}")
    return str(PROGRAM)


def calls_in(report: Path, function: str, beside: Path) -> int:
    """How often the report says that this function of the system was called."""
    database = beside / f"{report.name}.sqlite"
    words = ["export", "--type=sqlite", "--quiet=true", "--force-overwrite=true"]
    subprocess.run(
        [PROGRAM, *words, f"--output={database}", report],
        check=True,
        timeout=120,
        stdout=subprocess.DEVNULL,
    )
    with sqlite3.connect(database) as known:
        (count,) = known.execute(
            "SELECT COUNT(*) FROM OSRT_API JOIN StringIds ON nameId = id WHERE value = ?",
            (function,),
        ).fetchone()
    return int(count)
