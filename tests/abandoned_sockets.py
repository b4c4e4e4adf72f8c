"""Removes the sockets of inspected processes that started during the test session and were killed by it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.remote.sampling import proc


@pytest.fixture(autouse=True, scope="session")
def abandoned_sockets() -> Iterator[None]:
    yield
    folder = Path(f"/tmp/eagleray-inspect-{os.geteuid()}")
    session = proc.stat(os.getpid())
    assert session is not None
    remove_abandoned(folder, session.started)


def remove_abandoned(folder: Path, since: int) -> None:
    """Removes files of ended processes that started at this time or later, in clock ticks since the system started."""
    for file in folder.iterdir() if folder.is_dir() else ():
        # The name is PID-START-VERSION, as `injection` writes it.
        pid, _, rest = file.name.partition("-")
        started = rest.partition("-")[0]
        if started.isdecimal() and int(started) >= since and not Path("/proc", pid).exists():
            file.unlink(missing_ok=True)
