"""The sentence that names the existing classes while no worker matches the patterns."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest
from eagleray.cli.runs.run_following import summary
from eagleray.common.errors import EaglerayError
from eagleray.profile.recordings import class_matches
from eagleray.profile.recordings.class_matches import MatchingCollector, no_match_sentence
from eagleray.ray.rows import ActorRow, RuntimeEnv
from eagleray.runs.model import ProfileState, WorkerProfile

if TYPE_CHECKING:
    from eagleray.profile.recordings.collector import ReportCollector


def actor(class_name: str, name: str = "", state: str = "ALIVE") -> ActorRow:
    return ActorRow("a", class_name, name, "", state, "01", "n", 7, 0, "", RuntimeEnv())


@pytest.mark.parametrize(
    ("actors", "expected"),
    [
        ([], ""),
        ([actor("Learner")], "No worker matches *policy*, x. Known classes: Learner."),
        (
            [actor("Learner"), actor("a.Rollout", "r", "DEAD"), actor("Learner")],
            "No worker matches *policy*, x. Known classes: Learner, a.Rollout.",
        ),
        (
            [actor(f"C{number}") for number in range(8)],
            "No worker matches *policy*, x. Known classes: C0, C1, C2, C3, C4, 3 more.",
        ),
        ([actor("Learner"), actor("my_policy")], ""),
        ([actor("Learner"), actor("W", "the policy")], ""),
        ([actor("JobSupervisor", "_ray_internal_job_actor_1")], ""),
        ([actor("a\x1b[1m\nb")], "No worker matches *policy*, x. Known classes: a [1m b."),
    ],
)
def test_sentence_names_the_other_classes(actors: list[ActorRow], expected: str) -> None:
    assert no_match_sentence(["*policy*", "x"], actors) == expected


def test_sentence_uses_modules_that_the_run_listed() -> None:
    assert no_match_sentence(["pkg.*"], [actor("Learner")]) != ""
    assert no_match_sentence(["pkg.*"], [actor("Learner")], ["pkg.mod:Learner"]) == ""


class Reports:
    """The reports of a run, whose workers come and go as the test says."""

    def __init__(self) -> None:
        self.state = ProfileState("/here")

    async def run(self) -> None:
        await asyncio.Event().wait()


class Cluster:
    """Says of its actors what stands in `answers`, the last of that again and again."""

    def __init__(self, *answers: list[ActorRow] | EaglerayError) -> None:
        self._answers = list(answers)
        self.asked = asyncio.Semaphore(0)

    async def all_actors(self) -> list[ActorRow]:
        answer = self._answers.pop(0) if len(self._answers) > 1 else self._answers[0]
        self.asked.release()
        if isinstance(answer, EaglerayError):
            raise answer
        return answer


async def looking(reports: Reports, cluster: Cluster, times: int) -> MatchingCollector:
    """A collector that was cancelled after a number of polls of the classes."""
    home: Any = ("c", cluster)
    made = MatchingCollector(cast("ReportCollector", reports), ["*policy*"], lambda: home)
    running = asyncio.create_task(made.run())
    for _ in range(times):
        await cluster.asked.acquire()
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    return made


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("POLL_INTERVAL_S", "LATER_POLL_INTERVAL_S"):
        monkeypatch.setattr(class_matches, name, 0.001)


async def test_sentence_is_shown_while_no_worker_is_recorded() -> None:
    reports = Reports()
    ended = EaglerayError("cluster-unreachable", "It has ended.")
    made = await looking(reports, Cluster([], [actor("Learner")], ended), 4)
    assert made.state.sentence == "No worker matches *policy*. Known classes: Learner."
    reports.state = ProfileState("/here", sentence="The disk is full.")
    assert made.state.sentence == "The disk is full."
    reports.state = ProfileState("/here", workers=(WorkerProfile("k", "w", 7, "p", "n", "armed"),))
    assert made.state.sentence == ""


async def test_matching_class_clears_the_sentence() -> None:
    made = await looking(Reports(), Cluster([actor("Learner")], [actor("Apolicy")]), 3)
    assert made.state.sentence == ""


def test_terminal_summary_contains_the_sentence() -> None:
    assert summary(ProfileState("/here", sentence="No worker matches x. Known classes: Y.")) == (
        "No worker was profiled. No worker matches x. Known classes: Y."
    )
    assert "No worker has a class or name" in summary(None)
