"""The sentence beside paused workers: taken once for each stop on this machine, noted from a picture elsewhere."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pytest
from attrs import evolve
from eagleray.common.errors import EaglerayError
from eagleray.debug.workers.model import PausedGroup
from eagleray.observe.hangs.model import VERSION, Coverage, Picture, RankRow, VerdictRow
from eagleray.observe.hangs.waiting_ranks import PausedSentences, taking_here, waits
from eagleray.tools.processes import local_addresses

from tests.observe.hangs.paused import CLUSTER, PausedList, paused_group, paused_worker

SENTENCE = "Rank 0 waits in all_reduce (train.py:91) for rank 1, which is paused by a debugger."


def row(rank: int, pid: int, doing: str, node: str) -> RankRow:
    return RankRow("Policy", rank, "actor", pid, node, doing, "", False, 0.0, "S")


def taken(kind: str = "debugger", other: str = "collective", node: str = "10.0.0.1") -> Picture:
    verdict = VerdictRow(kind, "1", 0.95, SENTENCE, "", "Policy", ())
    ranks = (row(0, 99, other, node), row(1, 100, "debugger", node))
    return Picture(VERSION, 1.0, verdict, (), ranks, Coverage(2, (), ()))


class Window:
    """A window with a list of paused workers; `asked` are the groups of which a picture was taken without a request."""

    def __init__(self) -> None:
        self.workers = PausedList()
        self.visible = True
        self.asked: list[PausedGroup] = []
        self.answers: list[Picture | EaglerayError | None] = []
        self.sentences = PausedSentences(self.workers, self._take, lambda: self.visible, 0.0)

    async def _take(self, group: PausedGroup) -> Picture | None:
        self.asked.append(group)
        answer = self.answers.pop(0)
        if isinstance(answer, EaglerayError):
            raise answer
        return answer

    async def show(self, *groups: PausedGroup) -> list[str]:
        """The sentences of these groups, once nothing is done any more."""
        self.workers.show(*groups)
        for _ in range(20):
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        return self.workers.sentences


@asynccontextmanager
async def window(*answers: Any) -> AsyncIterator[Window]:
    made = Window()
    made.answers.extend(answers)
    running = asyncio.create_task(made.sentences.run())
    yield made
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_workers_that_stay_paused_get_a_sentence_once() -> None:
    async with window(taken()) as shown:
        group = paused_group(paused_worker())
        assert await shown.show(group) == [SENTENCE]
        assert await shown.show(group) == [SENTENCE]
        assert [each.waiting for each in shown.workers.groups()] == ["Rank 0 waits for rank 1"]
        assert len(shown.asked) == 1
        picture = shown.sentences.picture(CLUSTER, "Policy.train", post_mortem=False)
        assert picture == taken()
        assert shown.sentences.picture(CLUSTER, "Policy.train", post_mortem=True) is None


async def test_sentence_ends_when_the_worker_runs_and_is_taken_again_at_its_next_stop() -> None:
    async with window(taken(), taken(other="code"), taken()) as shown:
        assert await shown.show(paused_group(paused_worker())) == [SENTENCE]
        assert await shown.show(paused_group(paused_worker(state="running"))) == [""]
        assert await shown.show(paused_group(paused_worker(line=90))) == [""]
        assert await shown.show(paused_group(paused_worker(line=91, state="debugging"))) == [
            SENTENCE
        ]
        assert len(shown.asked) == 3


async def test_hidden_panel_takes_no_picture_until_it_is_visible() -> None:
    async with window(taken()) as shown:
        shown.visible = False
        assert await shown.show(paused_group(paused_worker())) == [""]
        assert shown.asked == []
        shown.visible = True
        assert await shown.show(paused_group(paused_worker())) == [SENTENCE]


async def test_failure_is_not_repeated() -> None:
    async with window(EaglerayError("no-processes", "None runs.")) as shown:
        for _ in range(2):
            assert await shown.show(paused_group(paused_worker())) == [""]
        assert len(shown.asked) == 1


async def test_picture_that_the_user_has_taken_is_noted_beside_the_workers_in_it() -> None:
    async with window(None, None) as shown:
        others = paused_group(paused_worker(7), title="Reward.score")
        assert await shown.show(paused_group(paused_worker()), others) == ["", ""]
        shown.sentences.note(CLUSTER, taken())
        assert shown.workers.sentences == [SENTENCE, ""]
        assert await shown.show(others) == [""]
        assert shown.sentences.picture(CLUSTER, "Policy.train", post_mortem=False) is None


@pytest.mark.parametrize(
    ("cluster", "node", "is_noted"),
    [
        (CLUSTER, "10.0.0.1", True),
        # Several nodes of one machine.
        ("", "10.0.0.1 ab12cd", True),
        (CLUSTER, "10.0.0.2", False),
        ("http://other:8265", "10.0.0.1", False),
        # Processes of this machine, which doesn't have the address of the worker.
        ("", "", False),
    ],
)
async def test_note_is_only_for_the_same_process(cluster: str, node: str, is_noted: bool) -> None:
    async with window(None) as shown:
        await shown.show(paused_group(paused_worker()))
        shown.sentences.note(cluster, taken(node=node))
        assert shown.workers.sentences == [SENTENCE if is_noted else ""]


def test_no_process_waits_for_paused_workers_whose_ranks_all_work() -> None:
    waiting, paused = waits(taken())
    assert ([each.pid for each in waiting], [each.pid for each in paused]) == ([99], [100])
    assert waits(taken(other="code")) == ([], [])
    assert waits(taken(kind="slow")) == ([], [])


async def test_workers_elsewhere_are_sampled_only_on_request() -> None:
    def unreachable(cluster: str) -> Any:
        raise AssertionError(cluster)

    here = sorted(local_addresses())[0]
    take = taking_here(unreachable, lambda cluster: cluster == CLUSTER)
    own = paused_worker(node_ip=here, pid=2**22 - 1)
    for group in (
        paused_group(paused_worker(node_ip="192.0.2.1")),
        paused_group(evolve(own, held_on="login2")),
        # Its number belongs to no process here.
        paused_group(own),
        paused_group(evolve(own, cluster="ssh://login/x"), cluster="ssh://login/x"),
    ):
        assert await take(group) is None
