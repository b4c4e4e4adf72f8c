"""Fixtures that several tests of the command share: a SLURM of this machine."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

# Answers as a fake `squeue` of this machine, in whatever format is asked for.
SQUEUE = """#!{python}
import sys
format = sys.argv[sys.argv.index("-o") + 1]
mark = format.partition("%")[0]
head = ["JOBID", *["x"] * 10]
job = ["12", "RUNNING", "2", "1:20:00", "5:00", "1800000000", "OK", "batch", "None", "localhost", "a $(touch {owned}) \\x1b[31m"]
print("".join("".join(mark + field for field in row) + mark + "\\n" for row in (head, job)))
"""


@pytest.fixture
def squeue(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file that must not come to be."""
    folder, owned = own_home / "bin", own_home / "owned"
    folder.mkdir()
    script = folder / "squeue"
    script.write_text(SQUEUE.format(python=sys.executable, owned=owned))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("EAGLERAY_DISCOVERY", "own")
    return owned
