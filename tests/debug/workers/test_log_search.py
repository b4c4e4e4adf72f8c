"""Search in the logs of several workers."""

from __future__ import annotations

import asyncio

import psutil
import pytest
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers import log_search
from eagleray.debug.workers.live_workers import fetch_live_workers
from eagleray.debug.workers.log_search import LOGS_AT_ONCE, MATCHES, choose, matcher, search
from eagleray.debug.workers.logs import Logs
from eagleray.debug.workers.model import LiveWorker

from tests.debug.workers.fakes import FakeDashboard, until
from tests.debug.workers.rows import CLUSTER, live_worker, worker_row

IDS = [f"{i:02x}" * 28 for i in range(10)]


async def site(count: int) -> tuple[FakeDashboard, Logs, list[LiveWorker]]:
    dashboard = FakeDashboard()
    dashboard.workers = [worker_row(worker_id, pid=i) for i, worker_id in enumerate(IDS[:count])]
    for worker_id in IDS[:count]:
        dashboard.files[f"worker-{worker_id}-01-1.out"] = "start\nloss=nan at step 3\nend\n"
        dashboard.files[f"worker-{worker_id}-01-1.err"] = "Traceback\n"
    return dashboard, Logs(lambda cluster: dashboard), await fetch_live_workers(dashboard)


def ignore(done: int, total: int, name: str) -> None:
    pass


@pytest.mark.parametrize(
    ("pattern", "regex", "match_case", "line", "fit"),
    [
        ("nan", False, False, "loss=NaN", True),
        ("nan", False, True, "loss=NaN", False),
        ("a.c", False, False, "abc", False),
        ("a.c", True, False, "ABC", True),
        ("a.c", True, True, "ABC", False),
        ("^loss", True, False, "the loss", False),
        ("straße", False, False, "STRASSE", True),
    ],
)
async def test_matcher_matches_lines(
    pattern: str, regex: bool, match_case: bool, line: str, fit: bool
) -> None:
    text = f"first\n{line}\nlast"
    assert await matcher(pattern, regex, match_case).lines(text, 9) == ([1] if fit else [])


@pytest.mark.parametrize("regex", [False, True])
async def test_matcher_returns_at_most_the_requested_lines(regex: bool) -> None:
    assert await matcher("x", regex, True).lines("x\n" * 100, 3) == [0, 1, 2]


async def test_expression_without_end_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(log_search, "TIME_LIMIT_S", 0.5)
    with pytest.raises(EaglerayError) as error:
        await matcher("(a+)+$", True, True).lines("a" * 64 + "b", 9)
    assert error.value.code == "slow-pattern"


async def test_cancelled_expression_leaves_no_process() -> None:
    searching = asyncio.create_task(matcher("(a+)+$", True, True).lines("a" * 64 + "b", 9))
    me = psutil.Process()

    def running() -> list[psutil.Process]:
        # Other tests leave children that have ended and were not waited for.
        living = [child for child in me.children() if child.status() != psutil.STATUS_ZOMBIE]
        return [child for child in living if "regex_child.py" in " ".join(child.cmdline())]

    await until(lambda: bool(running()))
    searching.cancel()
    await asyncio.gather(searching, return_exceptions=True)
    assert running() == []


@pytest.mark.parametrize("pattern", ["(", "[", "*", "a{99999999999}", "(?P<x", ""])
def test_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(EaglerayError) as error:
        matcher(pattern, True, True)
    assert error.value.code == "bad-pattern"


async def test_matches_come_with_worker_stream_and_line() -> None:
    _, logs, workers = await site(2)
    heard: list[tuple[int, int]] = []
    found = await search(
        logs,
        CLUSTER,
        workers,
        matcher("loss|trace", True, False),
        lambda d, t, n: heard.append((d, t)),
    )
    assert [(m.worker_id, m.stream, m.line_number, m.text) for m in found.matches] == [
        (worker_id, stream, number, text)
        for worker_id in IDS[:2]
        for stream, number, text in (("out", 2, "loss=nan at step 3"), ("err", 1, "Traceback"))
    ]
    assert (found.truncated, found.unread, heard) == (False, (), [(1, 2), (2, 2)])


async def test_log_that_cannot_be_read_is_named_and_the_others_are_searched() -> None:
    dashboard, logs, workers = await site(2)
    del dashboard.files[f"worker-{IDS[0]}-01-1.out"]
    found = await search(logs, CLUSTER, workers, matcher("loss", False, False), ignore)
    assert [match.worker_id for match in found.matches] == [IDS[1]]
    (unread,) = found.unread
    assert "(pid 0)" in unread and "no log file" in unread


async def test_too_many_matches_are_cut() -> None:
    dashboard, logs, workers = await site(1)
    dashboard.files[f"worker-{IDS[0]}-01-1.out"] = "x\n" * (MATCHES + 5)
    found = await search(logs, CLUSTER, workers, matcher("x", False, False), ignore)
    assert (len(found.matches), found.truncated) == (MATCHES, True)


async def test_secrets_are_not_matched() -> None:
    dashboard, logs, workers = await site(1)
    dashboard.files[f"worker-{IDS[0]}-01-1.out"] = "WANDB_API_KEY=hunter22\n"
    found = await search(logs, CLUSTER, workers, matcher("hunter", False, False), ignore)
    assert found.matches == ()


async def test_few_logs_are_read_at_a_time_and_cancelling_ends_them_all() -> None:
    dashboard, logs, workers = await site(10)
    dashboard.gates["log_file"] = asyncio.Event()
    searching = asyncio.create_task(
        search(logs, CLUSTER, workers, matcher("x", False, False), ignore)
    )
    await until(lambda: dashboard.now == LOGS_AT_ONCE)
    searching.cancel()
    await asyncio.gather(searching, return_exceptions=True)
    await until(lambda: dashboard.now == 0)
    assert dashboard.most <= LOGS_AT_ONCE
    assert dashboard.asked.count("log_file") == LOGS_AT_ONCE


def test_workers_of_a_group_or_all_that_ever_started() -> None:
    workers = [live_worker("a"), live_worker(""), live_worker("b")]
    assert [w.worker_id for w in choose(workers, [])] == ["a", "b"]
    assert [w.worker_id for w in choose(workers, ["b", "zz"])] == ["b"]
