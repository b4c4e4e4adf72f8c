"""A state and a run folder of its own for each test, with a path that is short enough for sockets."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.ray_cluster import end_processes


@pytest.fixture(autouse=True)
def own_home(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    monkeypatch.setenv("EAGLERAY_HOME", str(home))
    yield home
    end_processes("EAGLERAY_HOME", str(home))
    shutil.rmtree(home, ignore_errors=True)
