"""WorkerAttacher: the requests to the adapter, the result, and workers that continued meanwhile."""

from __future__ import annotations

import pytest
from eagleray.adapter_client.sessions import AdapterSessions
from eagleray.common.errors import EaglerayError
from eagleray.common.worker_errors import worker_gone
from eagleray.debug.attaching.attacher import WorkerAttacher

from tests.debug.attaching.fakes import List, Maps, Row
from tests.fakes.adapter import FakeAdapter, state


def attaching(sessions: AdapterSessions, *rows: Row, maps: Maps | None = None) -> WorkerAttacher:
    return WorkerAttacher(sessions, List(list(rows)).find, maps or Maps())


async def test_attach_returns_socket_and_stop_location(
    adapter: FakeAdapter, sessions: AdapterSessions
) -> None:
    said: list[str] = []
    maps = Maps()
    core = attaching(sessions, Row("w1", rank=3), maps=maps)
    attachment = await core.attach("http://c:8265", "w1", ["/folder"], said.append)
    assert attachment.socket == "/run/w1.sock"
    assert (attachment.path, attachment.line) == ("/remote/train.py", 24)
    assert attachment.local == "/local/train.py"
    assert attachment.rank == 3
    assert said == ["name of w1", "Searching for the source file"]
    assert maps.resolved == [("http://c:8265", "w1", "/remote/train.py", ["/folder"])]
    ((_, params),) = adapter.asked
    assert params["mappings"] == [{"remote": "/remote", "local": "/local"}]
    assert (params["host"], params["port"], params["session"]) == ("10.0.0.1", 7000, "session_1")


@pytest.mark.parametrize(
    ("said", "listed", "rank"), [("7", 3, 3), ("", 3, 3), ("7", None, 7), ("x", None, None)]
)
async def test_rank_of_the_row_precedes_the_rank_of_the_environment(
    adapter: FakeAdapter, sessions: AdapterSessions, said: str, listed: int | None, rank: int | None
) -> None:
    adapter.answers["w1"] = state("w1", rank=said)
    core = attaching(sessions, Row("w1", rank=listed))
    attachment = await core.attach("http://c:8265", "w1", [], lambda _: None)
    assert attachment.rank == rank


@pytest.mark.parametrize("listed", ["paused", "held"])
async def test_worker_that_continued_meanwhile_is_released(
    adapter: FakeAdapter, sessions: AdapterSessions, listed: str
) -> None:
    adapter.answers["w1"] = state("w1", state="running", stop=None)
    core = attaching(sessions, Row("w1", state=listed))
    with pytest.raises(EaglerayError) as caught:
        await core.attach("http://c:8265", "w1", [], lambda _: None)
    assert caught.value.code == "worker-ran-on"
    assert "name of w1" in caught.value.message
    assert [op for op, _ in adapter.asked] == ["attach", "release"]


async def test_running_worker_of_a_run_is_attached_to(
    adapter: FakeAdapter, sessions: AdapterSessions
) -> None:
    adapter.answers["w1"] = state("w1", state="running", stop=None)
    core = attaching(sessions, Row("w1", state="held", port=0))
    await core.attach("http://c:8265", "w1", [], lambda _: None)
    assert [op for op, _ in adapter.asked] == ["attach"]


@pytest.mark.parametrize("state", ["held", "debugging", "running"])
async def test_unless_taken_refuses_attached_workers(
    adapter: FakeAdapter, sessions: AdapterSessions, state: str
) -> None:
    core = attaching(sessions, Row("w1"), Row("w2", state=state))
    await core.attach("http://c:8265", "w1", [], lambda _: None, unless_taken=True)
    with pytest.raises(EaglerayError) as caught:
        await core.attach("http://c:8265", "w2", [], lambda _: None, unless_taken=True)
    assert caught.value.code == "worker-taken"
    ((_, params),) = adapter.asked
    assert params["unless_taken"] is True


async def test_a_worker_that_an_editor_lets_run(
    adapter: FakeAdapter, sessions: AdapterSessions
) -> None:
    adapter.answers["w1"] = state("w1", state="running", stop=None)
    core = attaching(sessions, Row("w1", state="running"))
    attachment = await core.attach("http://c:8265", "w1", [], lambda _: None)
    assert (attachment.path, attachment.line, attachment.local) == ("", 0, "")


async def test_worker_that_died_meanwhile_is_an_error(
    adapter: FakeAdapter, sessions: AdapterSessions
) -> None:
    adapter.answers["w1"] = worker_gone("name of w1")
    with pytest.raises(EaglerayError) as caught:
        await attaching(sessions, Row("w1")).attach("http://c:8265", "w1", [], lambda _: None)
    assert caught.value.code == "worker-gone"


async def test_unlisted_worker_is_unknown(adapter: FakeAdapter, sessions: AdapterSessions) -> None:
    with pytest.raises(EaglerayError) as caught:
        await attaching(sessions).attach("http://c:8265", "w1", [], lambda _: None)
    assert caught.value.code == "unknown-worker"
    assert adapter.asked == []
