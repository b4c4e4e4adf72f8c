"""The row of a worker in Ray's own table, into which its debug proxy goes."""

from __future__ import annotations

import sys
from types import SimpleNamespace
from typing import Any

import pytest
from eagleray.remote.injected import ray_worker


class FakeTable:
    """Ray's table of workers, in which the row of this worker comes at the question of this number."""

    def __init__(self, row_comes_at: float) -> None:
        self.row_comes_at = row_comes_at
        self.questions = 0
        self.ports: list[int] = []

    def get_worker_info(self, worker_id: object) -> bytes | None:
        self.questions += 1
        return b"row" if self.questions >= self.row_comes_at else None


def connect(table: FakeTable, monkeypatch: pytest.MonkeyPatch, state: Any) -> None:
    worker = SimpleNamespace(
        connected=True,
        core_worker=SimpleNamespace(get_worker_id=lambda: "ab"),
        set_debugger_port=table.ports.append,
    )
    modules = {
        "state": SimpleNamespace(state=state),
        "worker": SimpleNamespace(global_worker=worker),
    }
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, f"ray._private.{name}", module)
    monkeypatch.setattr(ray_worker, "ROW_POLL_INTERVAL_S", 0.001)


def of_new_ray(table: FakeTable) -> Any:
    return SimpleNamespace(_connect_and_get_accessor=lambda: table)


def of_old_ray(table: FakeTable) -> Any:
    state = SimpleNamespace(global_state_accessor=None)
    state._check_connected = lambda: setattr(state, "global_state_accessor", table)
    return state


@pytest.mark.parametrize("state_of", [of_new_ray, of_old_ray])
def test_proxy_is_registered_once_the_row_of_its_worker_is_there(
    monkeypatch: pytest.MonkeyPatch, state_of: Any
) -> None:
    table = FakeTable(row_comes_at=4)
    connect(table, monkeypatch, state_of(table))
    ray_worker.register_proxy(4711)
    assert (table.ports, table.questions) == ([4711], 4)


def test_proxy_of_an_unknown_worker_is_not_registered(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request would crash the GCS (ray#66331)."""
    table = FakeTable(row_comes_at=float("inf"))
    connect(table, monkeypatch, of_new_ray(table))
    monkeypatch.setattr(ray_worker, "ROW_TIMEOUT_S", 0.01)
    ray_worker.register_proxy(4711)
    assert table.ports == []
