"""Statistics of dumps: groups without advantage, repeated and cut completions, histograms, filters and orders."""

from __future__ import annotations

import asyncio
import math
from pathlib import Path
from typing import Any

import pytest
from eagleray.common.errors import EaglerayError
from eagleray.rollouts.trajectories.model import (
    DumpStatistics,
    TrajectoryPage,
    TrajectoryQuery,
)
from eagleray.rollouts.trajectories.rows import ItemLimits
from eagleray.rollouts.trajectories.statistics import BINS, bins, spread
from eagleray.rollouts.trajectories.table import Endings
from eagleray.rollouts.trajectories.trajectories import MOST_OPEN, Trajectories
from hypothesis import example, given
from hypothesis import strategies as st

from tests.rollouts.trajectories.dumps import areal, nemo, own, verl, write
from tests.rollouts.trajectories.test_formats import read

FLOATS = st.lists(st.floats(allow_nan=False, allow_infinity=False))


async def page(path: Path, **query: Any) -> TrajectoryPage:
    return await Trajectories().page(TrajectoryQuery(str(path), **query))


async def summed(path: Path) -> DumpStatistics:
    return await Trajectories().statistics(str(path))


def numbers(page: TrajectoryPage) -> list[int]:
    return [row.item for row in page.rows]


@pytest.fixture
def mixed(tmp_path: Path) -> Path:
    """Group 1 has equal rewards, group 2 a repeated and a cut completion, and a line is broken."""
    path = write(
        tmp_path / "a.jsonl",
        [
            *(areal(1, sample, reward=1.0) for sample in range(3)),
            areal(2, 0, completion="same<|im_end|>"),
            areal(2, 1, completion="same<|im_end|>"),
            areal(2, 2, completion="never ends", reward=math.nan),
            areal(3, 0, reward=5.0),
        ],
    )
    with path.open("a") as file:
        file.write("{broken\n")
    return path


async def test_sample_with_a_row_for_each_filter_is_counted_once(tmp_path: Path) -> None:
    """As lm-evaluation-harness writes them; a row by another judge is alike, and an equal one of the same judge isn't."""
    rows = [
        {"doc_id": doc, "prompt": "1+2", "response": "3", "filter": name, "score": score}
        for doc in range(2)
        for name, score in (("strict", 0.0), ("flexible", 1.0))
    ]
    result = await summed(write(tmp_path / "a.jsonl", rows))
    assert (result.items, result.rewards.mean, result.without_reward) == (2, 0.0, 0)
    assert "2 rows repeat a sample for another filter: counted once." in {
        finding.sentence for finding in result.findings
    }
    judged = [{"prompt": "p", "response": "a", "judge": "x", "score": 1.0} for _ in range(3)]
    assert (await summed(write(tmp_path / "b.jsonl", judged))).items == 3


async def test_rows_that_are_turns_of_a_sample_are_named(tmp_path: Path) -> None:
    rows = [
        {
            "task_id": 7,
            "sample": 1,
            "prompt": "p",
            "response": f"{turn}",
            "turn": turn,
            "reward": 1.0,
        }
        for turn in range(3)
    ]
    result = await summed(write(tmp_path / "a.jsonl", rows))
    assert "2 rows are further turns of a sample, each counted." in {
        finding.sentence for finding in result.findings
    }


async def test_groups_are_summed_up(mixed: Path) -> None:
    result = await summed(mixed)
    assert (result.items, result.problems, result.formats) == (8, 2, ["AReaL"])
    # The broken line is in no group either.
    assert (result.groups, result.singles, result.zero_advantage) == (2, 2, 1)
    assert (result.duplicates, result.truncated, result.without_reward) == (1, 1, 2)
    assert [
        (group.name, group.item, group.size, group.equal_rewards) for group in result.by_group
    ] == [
        ("1", 1, 3, True),
        ("2", 4, 3, False),
    ]
    assert [finding.filter for finding in result.findings] == [
        "",
        "problems",
        "zero-advantage",
        "truncated",
        "duplicates",
    ]
    assert result.findings[0].sentence == "Some trajectories have no reward (1 of 8)."


@pytest.mark.parametrize(
    ("query", "items"),
    [
        ({}, [1, 2, 3, 4, 5, 6, 7, 8]),
        ({"filter": "problems"}, [6, 8]),
        ({"filter": "zero-advantage"}, [1, 2, 3]),
        ({"filter": "duplicates"}, [5]),
        ({"filter": "truncated"}, [6]),
        ({"least_reward": 1.0}, [1, 2, 3, 5, 7]),
        ({"least_reward": 0.0, "most_reward": 0.5}, [4]),
        ({"sort": "reward"}, [4, 1, 2, 3, 5, 7, 6, 8]),
        ({"sort": "reward", "descending": True}, [7, 1, 2, 3, 5, 4, 6, 8]),
        ({"descending": True}, [8, 7, 6, 5, 4, 3, 2, 1]),
        ({"search": "SAME"}, [4, 5]),
        ({"search": "same", "descending": True}, [5, 4]),
        ({"search": "broken"}, [8]),
    ],
)
async def test_query_has_these_items(mixed: Path, query: dict[str, Any], items: list[int]) -> None:
    assert numbers(await page(mixed, **query)) == items


@pytest.mark.parametrize(
    "query",
    [
        {},
        {"search": "prompt"},
        {"search": "it is"},
        {"sort": "length"},
        {"filter": "zero-advantage"},
    ],
)
async def test_pages_continue_to_the_end(mixed: Path, query: dict[str, Any]) -> None:
    whole = numbers(await page(mixed, **query))
    parts: list[int] = []
    start: int | None = 0
    while start is not None:
        part = await page(mixed, **query, start=start, limit=2)
        parts += numbers(part)
        start = part.next
    assert parts == whole


async def test_first_page_reads_only_what_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("eagleray.rollouts.trajectories.dump.CHUNK", 4096)
    path = write(tmp_path / "a.jsonl", [areal(1, sample) for sample in range(40_000)])
    first = await page(path)
    assert (len(first.rows), first.next, first.matches, first.complete) == (100, 100, None, False)
    assert first.scanned < first.size


async def test_page_has_what_a_file_grew(mixed: Path) -> None:
    trajectories, query = Trajectories(), TrajectoryQuery(str(mixed))
    await trajectories.statistics(str(mixed))
    with mixed.open("a") as file:
        file.write('{"prompt": "new", "completion": "a", "reward": 9}\n')
    assert numbers(await trajectories.page(query))[-1] == 9
    assert (await trajectories.statistics(str(mixed))).rewards.most == 9.0
    write(mixed, [areal(1, 0)])
    assert numbers(await trajectories.page(query)) == [1]
    assert (await trajectories.statistics(str(mixed))).items == 1


async def test_group_is_side_by_side(mixed: Path) -> None:
    group = await Trajectories().group(str(mixed), 5)
    assert [(member.row.item, member.duplicate_of) for member in group.members] == [
        (4, None),
        (5, 4),
        (6, None),
    ]
    assert (group.equal_rewards, group.shared) == (False, 0)
    equal = await Trajectories().group(str(mixed), 1)
    assert (equal.equal_rewards, equal.shared) == (True, len("It is 1."))
    alone = await Trajectories().group(str(mixed), 8)
    assert [member.row.item for member in alone.members] == [8]


async def test_prompts_of_verl_are_groups_of_a_step(tmp_path: Path) -> None:
    for step in (1, 2):
        write(tmp_path / f"{step}.jsonl", [verl(step, sample) for sample in range(4)])
    result = await summed(tmp_path)
    assert (result.groups, result.unit, result.truncated) == (2, "characters", None)
    group = await Trajectories().group(str(tmp_path), 6)
    assert [member.row.item for member in group.members] == [5, 6, 7, 8]


async def test_end_of_nemo_rl_is_the_usual_last_id(tmp_path: Path) -> None:
    cut = nemo(3, input_lengths=[5])
    path = write(tmp_path / "train_data_step1.jsonl", [nemo(1), nemo(2), cut])
    assert [row.truncated for row in (await page(path)).rows] == [False, False, True]
    assert (await summed(path)).groups == 1


def test_text_without_an_end_is_cut_only_where_others_have_it() -> None:
    cut, whole = read(areal(1, 0, completion="It is")), read(areal(1, 1))
    assert Endings([cut]).truncated(cut.ended, cut.last_id) is None
    assert Endings([cut, whole]).truncated(cut.ended, cut.last_id) is True
    assert Endings([cut, whole]).truncated(whole.ended, whole.last_id) is False


async def test_item_is_cut_for_the_page_only(tmp_path: Path) -> None:
    path = write(
        tmp_path / "a.jsonl", [own("g", 0, messages=[{"role": "user", "content": "a" * 100}] * 3)]
    )
    trajectories = Trajectories()
    whole = await trajectories.item(str(path), 1, ItemLimits())
    assert (len(whole.turns), whole.cut, len(whole.columns.ids)) == (3, False, 3)
    part = await trajectories.item(str(path), 1, ItemLimits(150, 2))
    assert ([len(turn.text) for turn in part.turns], part.cut) == ([100, 50], True)
    assert len(part.columns.ids) == 2


async def test_broken_line_is_shown_as_it_is(mixed: Path) -> None:
    item = await Trajectories().item(str(mixed), 8, ItemLimits())
    assert (item.raw, item.row.line, item.turns) == ("{broken", 8, [])
    with pytest.raises(EaglerayError) as raised:
        await Trajectories().item(str(mixed), 9, ItemLimits())
    assert raised.value.code == "no-trajectory"


async def test_cancelled_request_stops_reading(mixed: Path) -> None:
    task = asyncio.ensure_future(summed(mixed))
    await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_few_dumps_stay_in_memory(tmp_path: Path) -> None:
    trajectories = Trajectories()
    for number in range(MOST_OPEN + 2):
        path = write(tmp_path / f"{number}.jsonl", [areal(1, 0)])
        await trajectories.page(TrajectoryQuery(str(path)))
    assert len(trajectories._open) == MOST_OPEN


@given(FLOATS)
@example([*map(float, range(20)), 1.7976931348623157e308, -9.461542815064813e306])
@example([*(number * 5e-324 for number in range(1, 30))])
def test_bars_have_every_value(values: list[float]) -> None:
    made = bins(values)
    assert sum(bar.count for bar in made) == len(values)
    assert len(made) <= BINS
    assert all(bar.low <= bar.high for bar in made)


@given(FLOATS.filter(bool))
@example([1.7976931348623157e308] * 3)
@example([5e-324] * 3)
def test_spread_is_in_order(values: list[float]) -> None:
    result = spread(values)
    assert result.least <= result.median <= result.p90 <= result.most
    assert result.least <= result.mean <= result.most
    assert result.count == len(values)
