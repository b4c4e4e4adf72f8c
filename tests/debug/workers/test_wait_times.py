"""The start of a worker's wait on this machine, by the time of the last line of its log."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from eagleray.debug.workers.wait_times import waited_s

WORKER = "2d621af91e992d31724608c3"
WAITING = "Ray debugger is listening on 10.0.0.1:4\nWaiting for debugger to attach (see https://docs)...\n"


def process(tmp_path: Path, name: str, text: str, written: float = 1000.0) -> Path:
    """A /proc in which process 7 writes its stderr to a log of this name."""
    log = tmp_path / name
    log.write_text(text)
    os.utime(log, (written, written))
    folder = tmp_path / "proc" / "7" / "fd"
    folder.mkdir(parents=True)
    (folder / "2").symlink_to(log)
    return tmp_path / "proc"


def test_wait_begins_when_ray_writes_that_it_waits(tmp_path: Path) -> None:
    proc = process(tmp_path, f"worker-{WORKER}-01000000-7.err", "x" * 9000 + "\n" + WAITING)
    assert waited_s(WORKER, 7, proc, now=1090.0) == 90.0
    # A clock that was set back.
    assert waited_s(WORKER, 7, proc, now=900.0) == 0.0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        (f"worker-{WORKER}-01000000-7.err", ""),
        (f"worker-{WORKER}-01000000-7.err", WAITING + "Debugger client is connected\n"),
        (f"worker-{WORKER}-01000000-7.err", WAITING + "another thread writes\n"),
        ("worker-ffffffff-01000000-7.err", WAITING),
        ("terminal", WAITING),
    ],
)
def test_wait_is_unknown_without_that_line(tmp_path: Path, name: str, text: str) -> None:
    assert waited_s(WORKER, 7, process(tmp_path, name, text), now=1090.0) is None


def test_wait_is_unknown_without_the_process(tmp_path: Path) -> None:
    assert waited_s(WORKER, 7, tmp_path) is None
    assert waited_s("", 7, process(tmp_path, "worker--7.err", WAITING)) is None
