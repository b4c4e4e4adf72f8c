"""Fixtures of all Python tests."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Fixtures that the tests of several folders use.
pytest_plugins = [
    "tests.fakes.surroundings",
    "tests.shared_clusters",
    "tests.repeated_errors",
    "tests.engine.fixtures",
    "tests.abandoned_sockets",
]

# A run that is told to end also ends the processes of its tests, and names the test.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# A slow machine doesn't break a law.
settings.register_profile("unhurried", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("unhurried")

SLOW = {"real_ray", "lab", "lab_ray", "old_ray", "nsys", "packaging", "nvim_dap", "torch_ranks"}


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `-m` and one of these marks, files that do not name it stay unread: all would cost seconds."""
    mark = config.option.markexpr
    if mark not in SLOW or collection_path.suffix != ".py" or _names(collection_path, mark):
        return None
    return True


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A mark that came from elsewhere than its file would keep its tests out of their suite."""
    marked = {(item.path, mark.name) for item in items for mark in item.iter_markers()}
    for path, mark in sorted(marked):
        if mark in SLOW and not _names(path, mark):
            raise pytest.UsageError(f"{path} must say the mark {mark} by itself")


def _names(path: Path, mark: str) -> bool:
    """Whether the file has the mark in its text; tests of the lab get theirs from their fixtures."""
    in_lab = path.parent.name == "lab" and mark in {"lab", "lab_ray"}
    return in_lab or f"pytest.mark.{mark}" in path.read_text()
