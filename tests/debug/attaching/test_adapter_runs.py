"""The client of the adapter's runs: the adapter that gets a request, and the events."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from eagleray.adapter_client.client import AdapterClient
from eagleray.common.errors import EaglerayError
from eagleray.protocol.records import read
from eagleray.protocol.runs import (
    AdapterRunState,
    Breakpoint,
    LineBreakpoint,
    RunRegister,
    RunWorkerAt,
)

from tests.fakes.adapter import FakeAdapter, running

RUN = {
    "run": "r1",
    "grown": 1,
    "workers": [
        {
            "worker_id": "w1",
            "session": "s",
            "pid": 7,
            "kind": "worker",
            "name": "r0 Policy",
            "rank": "0",
            "state": "stopped",
            "files": ["/a.py"],
            "python": "3.12",
            "grown": "later",
        }
    ],
    "lines": [{"path": "/a.py", "line": 3, "state": "moved", "moved_to": 4, "workers": ["w1"]}],
}
LINES = [Breakpoint("/a.py", [LineBreakpoint(3, condition="x")])]


@pytest.fixture
async def newer() -> AsyncIterator[FakeAdapter]:
    """An adapter of our version, which supports runs."""
    async with running() as adapter:
        yield adapter


@pytest.fixture
async def client() -> AsyncIterator[AdapterClient]:
    client = AdapterClient()
    yield client
    await client.close()


async def test_states_of_runs_are_read(newer: FakeAdapter, client: AdapterClient) -> None:
    newer.runs = [RUN]
    [run] = await client.runs.states()
    assert (run.run, run.workers[0].name, run.workers[0].problem) == ("r1", "r0 Policy", "")
    assert (run.lines[0].state, run.lines[0].moved_to) == ("moved", 4)


async def test_requests_about_a_run_go_to_the_adapter_that_has_it(
    newer: FakeAdapter, client: AdapterClient
) -> None:
    async with running("0.0.9") as older:
        older.runs = [RUN]
        await client.runs.set_breakpoints("r1", LINES)
        await client.runs.add_worker(RunWorkerAt("r1", "10.0.0.1", 7))
        await client.runs.pause("r1", "w1")
        await client.runs.end("r1")
        assert [op for op, _ in older.asked] == [
            "run_breakpoints",
            "run_worker",
            "run_pause",
            "run_end",
        ]
        said = older.asked[0][1]["breakpoints"]
        assert [read(Breakpoint, file) for file in said] == LINES
    assert newer.asked == []


async def test_run_is_registered_with_our_version(
    newer: FakeAdapter, client: AdapterClient
) -> None:
    await client.runs.register(RunRegister("r1", "s3cret", breakpoints=LINES))
    [(op, said)] = newer.asked
    assert (op, said["run"], said["secret"]) == ("run_register", "r1", "s3cret")


async def test_request_about_an_unregistered_run_is_refused(
    newer: FakeAdapter, client: AdapterClient
) -> None:
    with pytest.raises(EaglerayError) as error:
        await client.runs.add_worker(RunWorkerAt("r1", "10.0.0.1", 7))
    assert error.value.code == "unregistered-run"
    await client.runs.end("r1")
    assert newer.asked == []


async def test_listeners_get_changes_and_log_points_until_the_adapter_ends(
    client: AdapterClient,
) -> None:
    told: asyncio.Queue[Any] = asyncio.Queue()
    ends = [
        client.runs.listen(told.put_nowait),
        client.runs.listen_output(lambda *said: told.put_nowait(said)),
    ]
    async with running("0.0.9") as adapter:
        await client.sessions.workers()
        adapter.say({"event": "runs", "runs": [RUN]})
        runs: list[AdapterRunState] = await asyncio.wait_for(told.get(), 60)
        assert [run.run for run in runs] == ["r1"] == [run.run for run in client.runs.last_states()]
        adapter.say({"event": "run_output", "run": "r1", "worker_id": "w1", "text": "loss 1"})
        assert await asyncio.wait_for(told.get(), 60) == ("r1", "w1", "loss 1")
    assert await asyncio.wait_for(told.get(), 60) == []
    for end in ends:
        end()
