"""Fixtures: a state of the test's own, and what the whole sidecar and the command see: a faked cluster, adapter and SLURM."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.fakes import adapter
from tests.fakes.adapter import FakeAdapter
from tests.fakes.dashboard import FakeDashboard
from tests.ray_cluster import temporary_home

# Answers as a fake `squeue` of this machine, in whatever format is asked for.
_SQUEUE = """#!{python}
import sys
format = sys.argv[sys.argv.index("-o") + 1]
mark = format.partition("%")[0]
head = ["JOBID", *["x"] * 10]
job = ["12", "RUNNING", "2", "1:20:00", "5:00", "1800000000", "OK", "batch", "None", "localhost", "a $(touch {owned}) \\x1b[31m"]
print("".join("".join(mark + field for field in row) + mark + "\\n" for row in (head, job)))
"""
_OF_RAY = ("RAY_ADDRESS", "RAY_API_SERVER_ADDRESS", "RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH")


@pytest.fixture
def own_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An EAGLERAY_HOME that is short enough for sockets; what was started in it ends with the test."""
    with temporary_home() as home:
        monkeypatch.setenv("EAGLERAY_HOME", str(home))
        monkeypatch.setenv("EAGLERAY_DISCOVERY", "off")
        for name in _OF_RAY:
            monkeypatch.delenv(name, raising=False)
        yield home


@pytest.fixture
async def dashboard(
    own_home: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[FakeDashboard]:
    """Three workers are paused there, on a machine that is not this one, at unknown lines."""
    dashboard = FakeDashboard()
    dashboard.recorded["traceback"] = dashboard.recorded["no_log_file"]
    for name in ("workers", "tasks", "actors", "nodes"):
        for row in dashboard.rows[name]:
            row.update({key: "10.9.9.9" for key in ("ip", "node_ip") if key in row})
    await dashboard.start()
    monkeypatch.setenv("RAY_API_SERVER_ADDRESS", dashboard.address)
    yield dashboard
    await dashboard.stop()


@pytest.fixture
async def fake_adapter(own_home: Path) -> AsyncIterator[FakeAdapter]:
    async with adapter.running() as running:
        yield running


@pytest.fixture
def squeue(own_home: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A SLURM of this machine with one job, whose name would create the returned file if it were executed."""
    folder, owned = own_home / "bin", own_home / "owned"
    folder.mkdir()
    script = folder / "squeue"
    script.write_text(_SQUEUE.format(python=sys.executable, owned=owned))
    script.chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")
    monkeypatch.setenv("EAGLERAY_DISCOVERY", "own")
    return owned
