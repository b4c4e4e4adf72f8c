"""The poll interval of a run's sources while nothing is recorded."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest
from eagleray.profile.recordings.collector import ReportCollector

from tests.profile.recordings.test_collector import Nsys, reports
from tests.virtual_time import run_virtually


def test_sources_are_polled_rarely_while_nothing_is_recorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A poll over ssh is a process on the login node; there were 1800 an hour."""
    polls: list[float] = []

    async def poll(self: ReportCollector, *, is_urgent: bool) -> None:
        assert not is_urgent
        polls.append(asyncio.get_running_loop().time())

    monkeypatch.setattr(ReportCollector, "_poll", poll)

    async def hour() -> None:
        task = asyncio.ensure_future(reports(tmp_path / "there", tmp_path / "here", Nsys()).run())
        await asyncio.sleep(3600)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

    run_virtually(hour())
    assert len(polls) <= 170
    assert sum(at - polls[0] < 20 for at in polls) >= 9
