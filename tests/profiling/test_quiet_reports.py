"""How often the places of a run's reports are looked at while nothing is recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.features.profiling.collector import Rounds

from tests.profiling.test_run_reports import Nsys, reports
from tests.virtual_time import run_virtually


def test_an_hour_without_a_report(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A look over ssh is a process on the login node; there were 1800 an hour."""
    looks: list[float] = []

    async def once(self: Rounds, *, at_once: bool) -> None:
        assert not at_once
        looks.append(asyncio.get_running_loop().time())

    monkeypatch.setattr(Rounds, "once", once)

    async def hour() -> None:
        task = asyncio.ensure_future(reports(tmp_path / "there", tmp_path / "here", Nsys()).run())
        await asyncio.sleep(3600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(hour())
    assert len(looks) <= 170
    assert sum(at - looks[0] < 20 for at in looks) >= 9
