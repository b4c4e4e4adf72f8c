"""The list of workers: clusters of which one does not answer, and the path of a location."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from eagleray.app import App
from eagleray.cli.debug import workers
from eagleray.cli.table import LONGEST
from eagleray.debug.workers.model import LiveWorker, Location
from eagleray.ray.errors import cluster_unreachable

from tests.debug.workers.rows import live_worker

DOWN = "http://127.0.0.1:2"
UP = "http://127.0.0.1:1"
WORKER = live_worker(cluster=UP)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    async def fetch(cluster: Any) -> list[LiveWorker]:
        if cluster == DOWN:
            raise cluster_unreachable(DOWN)
        return [WORKER]

    monkeypatch.setattr(workers, "fetch_live_workers", fetch)
    return cast(App, SimpleNamespace(watch=SimpleNamespace(dashboard=str)))


async def test_cluster_that_fails_is_named_beside_the_workers_of_the_others(
    app: App, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await workers._live_workers(app, [DOWN, UP]) == ([WORKER], True)
    assert capsys.readouterr().err.startswith(f"{DOWN}: Nothing answers")


async def test_error_of_the_only_cluster_is_raised(app: App) -> None:
    with pytest.raises(Exception, match="Nothing answers"):
        await workers._live_workers(app, [DOWN])


def test_long_path_keeps_its_end(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)

    def shown(name: str) -> str:
        return workers.short_path(Location(str(tmp_path / name), 7, "f", ""))

    assert shown("verl/policy.py") == "verl/policy.py"
    assert shown(f"{'deep/' * 20}policy.py").startswith("…")
    assert shown(f"{'deep/' * 20}policy.py").endswith("deep/policy.py")
    assert len(f"{shown('x' * 200)}:123456") == LONGEST
