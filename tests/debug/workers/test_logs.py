"""Logs of workers: found, read to their end, followed."""

from __future__ import annotations

import asyncio

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers.logs import Logs, find_log
from eagleray.debug.workers.model import LogEnd

from tests.debug.workers.fakes import FakeDashboard, until
from tests.debug.workers.rows import CLUSTER, job_row, worker_row

WORKER = "ab" * 28
OUT = f"worker-{WORKER}-01000000-100.out"


def site() -> tuple[FakeDashboard, Logs]:
    dashboard = FakeDashboard()
    dashboard.workers = [worker_row(WORKER)]
    return dashboard, Logs(lambda cluster: dashboard)


async def test_end_of_a_log_is_clean() -> None:
    dashboard, logs = site()
    dashboard.files = {OUT: ":job_id:01000000\nfirst\n\x1b[31msecond\x1b[0m\nAPI_KEY=hunter22\n"}
    end = await logs.tail(CLUSTER, WORKER, "out", 2)
    assert (end.title, end.truncated) == (OUT, True)
    assert end.text.startswith("second\nAPI_KEY=") and "hunter22" not in end.text
    assert not (await logs.tail(CLUSTER, WORKER, "out", 3)).truncated


async def test_submitted_driver_has_one_log_on_its_node() -> None:
    dashboard, _ = site()
    driver = worker_row("01000000" + "f" * 48, kind="driver", pid=9)
    dashboard.job_rows = [
        job_row(driver_pid=9),
        job_row(kind="submission", submission_id="raysubmit_x1", driver_node_id="n7"),
    ]
    file = await find_log(dashboard, driver, "err")
    assert (file.node_id, file.filename) == ("n7", "job-driver-raysubmit_x1.log")


@pytest.mark.parametrize(
    ("worker_id", "kind"),
    [
        ("01000000" + "f" * 48, "driver"),
        (WORKER, "worker"),
        ("*", "worker"),
        ("../../etc", "worker"),
        ("", "worker"),
    ],
)
async def test_driver_of_a_terminal_has_no_log(worker_id: str, kind: str) -> None:
    dashboard, _ = site()
    dashboard.job_rows = [job_row(driver_pid=9)]
    dashboard.files = {"worker-x.out": "not of this worker"}
    with pytest.raises(EaglerayError) as error:
        await find_log(dashboard, worker_row(worker_id, kind=kind, pid=9), "out")
    assert error.value.code == "no-log"


async def test_job_that_names_another_file_is_not_believed() -> None:
    dashboard, _ = site()
    dashboard.job_rows = [job_row(driver_pid=9, submission_id="../../../etc/passwd")]
    with pytest.raises(EaglerayError) as error:
        await find_log(dashboard, worker_row("01000000", kind="driver", pid=9), "out")
    assert error.value.code == "no-log"


async def test_unknown_worker_has_no_log() -> None:
    _, logs = site()
    with pytest.raises(EaglerayError) as error:
        await logs.tail(CLUSTER, "cd" * 28, "out", 10)
    assert error.value.code == "no-such-worker"


async def test_followed_log_comes_in_whole_lines_and_is_closed() -> None:
    dashboard, logs = site()
    dashboard.files = {OUT: ""}
    queue = dashboard.streams[OUT] = asyncio.Queue()
    for chunk in ("one\ntw", "o \x1b[3", "1mred\nAPI_KEY=hun", "ter22\nlast", None):
        queue.put_nowait(chunk)
    parts = [part.text async for part in logs.follow(CLUSTER, WORKER, "out")]
    assert parts[:2] == ["one\n", "two red\n"] and parts[-1] == "last"
    assert "hun" not in "".join(parts)
    assert dashboard.closed_streams == [OUT]


async def test_follower_that_is_cancelled_closes_its_stream() -> None:
    dashboard, logs = site()
    dashboard.files = {OUT: ""}
    queue = dashboard.streams[OUT] = asyncio.Queue()
    seen: list[LogEnd] = []

    async def follow() -> None:
        lines = logs.follow(CLUSTER, WORKER, "out")
        try:
            async for part in lines:
                seen.append(part)
        finally:
            await lines.aclose()

    follower = asyncio.create_task(follow())
    queue.put_nowait("one\n")
    await until(lambda: bool(seen))
    follower.cancel()
    await asyncio.gather(follower, return_exceptions=True)
    assert dashboard.closed_streams == [OUT]
