"""The names by which a command takes a worker that runs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from eagleray.app import App
from eagleray.cli import targets
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers.model import LiveWorker

from tests.debug.workers.rows import CLUSTER, live_worker

FIRST = live_worker("aa01", name="trainer-0", class_name="Trainer", rank=0, pid=70)
SECOND = live_worker("bb02", name="trainer-1", class_name="Trainer", rank=1, pid=71)


@pytest.fixture
def app(monkeypatch: pytest.MonkeyPatch) -> App:
    async def fetch(cluster: Any) -> list[LiveWorker]:
        return [FIRST, SECOND]

    monkeypatch.setattr(targets, "fetch_live_workers", fetch)
    return cast(App, SimpleNamespace(watch=SimpleNamespace(dashboard=str)))


@pytest.mark.parametrize(
    "text", ["trainer-1", "1", "Trainer:1", "rank 1", "rank1", "71", "bb02", "bb"]
)
async def test_worker_is_named_in_each_way(app: App, text: str) -> None:
    assert await targets.live_worker(app, [CLUSTER], text) == SECOND


def test_rank_comes_before_the_beginning_of_an_id() -> None:
    third = live_worker("1c03", name="critic", rank=None)
    assert targets.fitting([third, FIRST, SECOND], "1") == ["bb02"]
    assert targets.fitting([third, FIRST, SECOND], "1c") == ["1c03"]


@pytest.mark.parametrize(
    ("text", "code"), [("Trainer", "ambiguous-worker"), ("Critic", "no-such-worker")]
)
async def test_name_of_several_workers_or_none_is_an_error(app: App, text: str, code: str) -> None:
    with pytest.raises(EaglerayError) as raised:
        await targets.live_worker(app, [CLUSTER], text)
    assert raised.value.code == code
