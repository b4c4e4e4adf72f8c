"""The log of a long-lived process: short, private, and never waited for."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from eagleray.common import bounded_log
from eagleray.common.bounded_log import LIMIT

from tests.adapter.harness import LIMIT as PATIENCE_S
from tests.adapter.harness import ROOT

PROGRAM = """
import logging, os, sys
from pathlib import Path
from eagleray.common.bounded_log import logging_to

with logging_to(Path(sys.argv[1])):
    for number in range(int(sys.argv[2])):
        logging.getLogger("test").info("line %d %s", number, "x" * 1000)
    print("not waited for", flush=True)
if sys.argv[3:]:
    print("the end", file=sys.stderr, flush=True)
# The thread that still writes must not be waited for either.
os._exit(0)
"""


def log(path: Path, count: int, *more: str, stderr: int, stdout: int = subprocess.PIPE) -> str:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(path), str(count), *more],
        stdout=stdout,
        stderr=stderr,
        env={**os.environ, "PYTHONPATH": str(ROOT / "pybackend")},
        timeout=PATIENCE_S,
        check=True,
        text=True,
    )
    return done.stdout or ""


def test_log_is_bounded_while_the_process_runs(tmp_path: Path) -> None:
    path = tmp_path / "adapter-here.log"
    fd = bounded_log.open_log(path)
    log(path, 2500, "end", stderr=fd, stdout=fd)
    os.close(fd)
    aside = tmp_path / "adapter-here.old.log"
    assert {one.name for one in tmp_path.iterdir()} == {path.name, aside.name}
    assert all(one.stat().st_size <= LIMIT + 2000 for one in (path, aside))
    assert path.stat().st_mode & 0o077 == 0
    # Errors outside of the log follow it into the new file.
    assert "line 2499 " in path.read_text() and path.read_text().endswith("the end\n")


def test_other_file_stays_unchanged(tmp_path: Path) -> None:
    path = tmp_path / "adapter-here.log"
    with (tmp_path / "elsewhere").open("wb") as elsewhere:
        log(path, 3000, stderr=elsewhere.fileno())
    assert [one.name for one in tmp_path.iterdir()] == ["elsewhere"]
    assert (tmp_path / "elsewhere").stat().st_size > 2 * LIMIT


def test_log_that_cannot_be_written_blocks_nothing(tmp_path: Path) -> None:
    reading, writing = os.pipe()
    assert "not waited for" in log(tmp_path / "x.log", 20_000, stderr=writing)
    os.close(reading)
    os.close(writing)
