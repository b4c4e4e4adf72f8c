"""The verdict on each scenario of real ranks, from stacks alone and from inside; each rank stays stopped, or running."""

import asyncio
import re
from collections.abc import Iterator

import pytest
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import Picture

from tests.observe.hangs.forked_ranks import RankForker, rank_forker
from tests.observe.hangs.ranks import FROM_INSIDE, JOINING, SCENARIOS, WORLD, Expected, states

pytestmark = pytest.mark.torch_ranks

# They have tests of their own below.
WITH_TESTS = ("killed", "long_steps", "raised_beside_thread")


@pytest.fixture(scope="module")
def forker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RankForker]:
    with rank_forker(tmp_path_factory.mktemp("ranks")) as forker:
        yield forker


def take(pids: list[int], *, inside: bool = False) -> Picture:
    return asyncio.run(local.take(pids, SamplingPlan(pause_s=0.5, inside=inside)))


def assert_expected(taken: Picture, expected: Expected) -> None:
    stated = taken.verdict.kind, taken.verdict.culprits
    assert stated == (expected.kind, expected.culprits), taken.verdict.sentence
    assert expected.words in taken.verdict.sentence


@pytest.mark.parametrize("scenario", [each for each in SCENARIOS if each not in WITH_TESTS])
def test_live_hang_is_named_with_its_culprits(scenario: str, forker: RankForker) -> None:
    with forker.hanging(scenario) as pids:
        stopped = [pid for pid in pids if states(pid) in ("t", "T")]
        assert len(stopped) == (scenario == "stopped")
        assert_expected(take(pids), SCENARIOS[scenario])
        if scenario in FROM_INSIDE:
            taken = take(pids, inside=True)
            assert_expected(taken, FROM_INSIDE[scenario])
            assert [each.reason for each in taken.inside] == [""] * WORLD
        assert [pid for pid in pids if states(pid) in ("t", "T")] == stopped


def test_long_steps_of_a_rank_are_not_a_hang(forker: RankForker) -> None:
    with forker.hanging("long_steps") as pids:
        taken = take(pids)
    assert taken.verdict.kind == "slow", taken.verdict.sentence
    assert "No sign of a hang" in taken.verdict.sentence
    # A sample between two of its steps shows that this rank moves, and so is the one that takes the time.
    assert taken.verdict.culprits in ("", "2")


# Recordings have the others.
@pytest.mark.parametrize("scenario", ["other_port_of_first", "own_store", "same_rank", "only_some"])
def test_rank_that_keeps_others_from_forming_a_group_is_named(
    scenario: str, forker: RankForker
) -> None:
    with forker.hanging(scenario) as pids:
        assert_expected(take(pids), JOINING[scenario])


def test_rank_that_was_killed_is_named_and_counted_as_unseen(forker: RankForker) -> None:
    with forker.hanging("killed") as pids:
        taken = take(pids[1:])
    assert_expected(taken, SCENARIOS["killed"])
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(0, "not-found")]
    # Its parent has not waited for it.
    assert "Rank 0 ended by SIGKILL." in taken.verdict.sentence
    assert [(each.rank, each.exit_code) for each in taken.exits] == [(0, -9)]


def test_rank_that_raised_is_named_while_a_thread_keeps_its_process(forker: RankForker) -> None:
    with forker.hanging("raised_beside_thread") as pids:
        taken = take(pids)
    assert_expected(taken, SCENARIOS["raised_beside_thread"])
    assert re.fullmatch(
        r"Rank 1 ended by ValueError: shape of microbatch 3 does not fit \(trainer\.py:\d+\), "
        r"but a thread in Trainer\.prefetch \(trainer\.py:\d+\) keeps its process alive\. "
        r"The others wait in all_reduce \(trainer\.py:\d+\)\.",
        taken.verdict.sentence,
    )
