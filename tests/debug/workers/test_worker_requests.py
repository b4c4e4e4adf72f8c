"""The panel's requests about workers and logs, from JSON to JSON."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest
from eagleray.clusters.cluster_watch import ClusterWatch
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers import handlers
from eagleray.debug.workers.paused_workers import PausedWorkers
from eagleray.wire.requests import RequestServer

from tests.debug.workers.fakes import FakeAdapters, FakeDashboard, FakeSpy, FakeWatch, until
from tests.debug.workers.rows import CLUSTER, actor_row, stop, task_row, worker_row, worker_state

WORKER = "ab" * 28
OUT = f"worker-{WORKER}-01-1.out"


class Editor:
    """The sidecar's requests on fakes, and what it told the editor."""

    def __init__(self) -> None:
        self.dashboard = FakeDashboard()
        self.watch = FakeWatch(self.dashboard)
        self.adapters = FakeAdapters()
        self.workers = PausedWorkers(self.watch, self.adapters, FakeSpy())
        self.requests = RequestServer()
        self.reports: list[tuple[str, int | None]] = []
        self.told: list[tuple[str, Any]] = []
        handlers.register(self.requests, self.workers, cast(ClusterWatch, self.watch))

    async def ask(self, method: str, **params: Any) -> Any:
        answer = await self.requests.call(f"eagleray/workers/{method}", params, self._report)
        return json.loads(json.dumps(answer))

    def last(self, method: str) -> Any:
        values = [value for told, value in self.told if told == f"eagleray/workers/{method}"]
        return values[-1] if values else None

    def tell(self, method: str, value: Any) -> None:
        self.told.append((method, value))

    def _report(self, message: str, percentage: int | None = None) -> None:
        self.reports.append((message, percentage))


@pytest.fixture
async def editor() -> AsyncIterator[Editor]:
    one = Editor()
    one.requests.start(one.tell)
    yield one
    await one.requests.stop()
    await one.workers.close()


async def test_rows_are_pushed_when_they_change(editor: Editor) -> None:
    editor.dashboard.tasks = [task_row(WORKER)]
    await until(lambda: editor.last("changed") is not None)
    assert editor.last("changed") == {
        "groups": [],
        "stops": {"paused": 0, "held": 0, "debugging": 0},
    }
    editor.watch.show([worker_row(WORKER)])
    editor.adapters.hold(worker_state("cd" * 28))
    await until(lambda: editor.last("changed")["stops"] == {"paused": 1, "held": 1, "debugging": 0})
    rows = [row for group in editor.last("changed")["groups"] for row in group["workers"]]
    held = next(row for row in rows if row["state"] == "held")
    assert held["location"]["line"] == 12 and held["kind"] == "breakpoint"


async def test_first_push_of_a_row_has_its_name_when_ray_answers_in_time(
    editor: Editor,
) -> None:
    editor.dashboard.tasks = [task_row(WORKER)]
    editor.watch.show([worker_row(WORKER)])
    await until(lambda: bool(editor.last("changed")["groups"]) if editor.told else False)
    first = next(value for _, value in editor.told if value["groups"])
    assert first["groups"][0]["title"] == "PolicyWorker.train"


async def test_step_of_a_debugged_worker_leaves_its_row_in_place(editor: Editor) -> None:
    stepping = worker_state(WORKER, editor=True)
    editor.adapters.hold(stepping)
    await until(lambda: bool(editor.last("changed") and editor.last("changed")["groups"]))
    editor.told.clear()
    running = worker_state(WORKER, editor=True, state="running", stop=None)
    editor.adapters.hold(running)
    await asyncio.sleep(0)
    editor.adapters.hold(worker_state(WORKER, editor=True, stop=stop(line=13)))
    await until(lambda: editor.last("changed") is not None)
    assert all(value["groups"] for _, value in editor.told)
    editor.adapters.hold(running)
    await until(lambda: not editor.last("changed")["groups"])


async def test_watch_and_refresh(editor: Editor) -> None:
    assert await editor.ask("watch", visible=True) == {}
    assert editor.watch.seen_visible == [True]
    editor.watch.show([worker_row(WORKER)])
    assert (await editor.ask("refresh"))["stops"]["paused"] == 1


async def test_all_workers_say_who_is_paused(editor: Editor) -> None:
    editor.dashboard.workers = [worker_row(WORKER), worker_row("cd" * 28, pid=7, paused_threads=0)]
    editor.watch.show([worker_row(WORKER)])
    workers = (await editor.ask("all", cluster=CLUSTER))["workers"]
    assert {row["worker_id"]: row["state"] for row in workers} == {
        WORKER: "paused",
        "cd" * 28: "idle",
    }


async def test_unknown_cluster_is_an_error_of_the_catalogue(editor: Editor) -> None:
    with pytest.raises(EaglerayError) as error:
        await editor.ask("all", cluster="http://nowhere:1")
    assert error.value.code == "unknown-cluster"


async def test_open_log(editor: Editor) -> None:
    editor.dashboard.workers = [worker_row(WORKER)]
    editor.dashboard.files = {OUT: "one\ntwo\n"}
    text = await editor.ask("openLog", cluster=CLUSTER, worker_id=WORKER, stream="out", lines=1)
    assert text == {"title": OUT, "text": "two\n", "truncated": True}


async def test_log_is_followed_until_it_is_stopped(editor: Editor) -> None:
    editor.dashboard.workers = [worker_row(WORKER)]
    editor.dashboard.files = {OUT: ""}
    queue = editor.dashboard.streams[OUT] = asyncio.Queue()
    await editor.ask("followLog", follow_id="f1", cluster=CLUSTER, worker_id=WORKER, stream="out")
    queue.put_nowait("one\n")
    await until(lambda: editor.last("logText") is not None)
    assert editor.last("logText")["text"] == "one\n"
    assert await editor.ask("stopFollowing", follow_id="f1") == {}
    assert editor.dashboard.closed_streams == [OUT]
    assert await editor.ask("stopFollowing", follow_id="f1") == {}


async def test_unfollowable_log_ends_with_its_error(editor: Editor) -> None:
    await editor.ask("followLog", follow_id="f1", cluster=CLUSTER, worker_id=WORKER, stream="out")
    await until(lambda: editor.last("logText") is not None)
    last = editor.last("logText")
    assert last["ended"] and "No worker is called" in last["text"]


async def test_following_ends_with_the_editor(editor: Editor) -> None:
    editor.dashboard.workers = [worker_row(WORKER)]
    editor.dashboard.files = {OUT: ""}
    queue = editor.dashboard.streams[OUT] = asyncio.Queue()
    await editor.ask("followLog", follow_id="f1", cluster=CLUSTER, worker_id=WORKER, stream="out")
    queue.put_nowait("one\n")
    await until(lambda: editor.last("logText") is not None)
    await editor.requests.stop()
    await until(lambda: editor.dashboard.closed_streams == [OUT])


async def test_search_in_logs_with_progress(editor: Editor) -> None:
    editor.dashboard.workers = [worker_row(WORKER, pid=3)]
    editor.dashboard.actor_rows = [actor_row(pid=3, name="policy_3")]
    editor.dashboard.files = {OUT: "loss=1\nloss=nan\n", OUT.replace(".out", ".err"): ""}
    found = await editor.ask(
        "searchLogs", cluster=CLUSTER, worker_ids=[], pattern="NAN", regex=False, match_case=False
    )
    assert found["matches"] == [
        {
            "worker_id": WORKER,
            "name": "policy_3",
            "stream": "out",
            "line_number": 2,
            "text": "loss=nan",
        }
    ]
    assert editor.reports == [("1 of 1: policy_3", 100)]
