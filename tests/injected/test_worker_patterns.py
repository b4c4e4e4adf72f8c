"""Which workers and drivers a run's patterns and ranks select."""

from __future__ import annotations

import pytest
from eagleray.injected.settings import RunSettings
from eagleray.injected.worker_patterns import (
    is_driver_selected,
    is_selected,
    matchable_names,
    rank_of,
)

NAMES = matchable_names("verl.workers.fsdp", "ActorRolloutRefWorker", "wg_actor_0:3")


@pytest.mark.parametrize(
    ("patterns", "ranks", "rank", "expected"),
    [
        ([], None, None, True),
        (["*Rollout*"], None, None, True),
        (["rollout*"], None, None, False),
        (["verl.workers.*"], None, None, True),
        ([" wg_actor_* ", ""], None, None, True),
        (["Critic, wg_actor_*,"], None, None, True),
        (["Critic", "ActorRolloutRefWorker"], None, None, True),
        (["wg_[!a]*"], None, None, False),
        ([], [0, 3], 3, True),
        ([], [0, 3], 2, False),
        ([], [0], None, None),
        (["Critic"], [0], None, False),
    ],
)
def test_patterns_and_ranks_select_workers(
    patterns: list[str], ranks: list[int] | None, rank: int | None, expected: bool | None
) -> None:
    assert is_selected(RunSettings({"workers": patterns, "ranks": ranks}), NAMES, rank) is expected


@pytest.mark.parametrize(
    ("environ", "actor", "rank"),
    [
        ({"RANK": "5"}, "policy-2", 5),
        ({}, "policy-2", 2),
        ({}, "wg_actor_0:3", 3),
        ({"RANK": "none"}, "trainer", None),
        ({}, "qwen3", None),
    ],
)
def test_rank_is_read_from_environment_or_actor_name(
    environ: dict[str, str], actor: str, rank: int | None
) -> None:
    assert rank_of(environ, actor) == rank


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ({}, True),
        ({"workers": ["*Policy*"]}, False),
        ({"workers": ["*Policy*", "driver"]}, True),
        ({"ranks": [0]}, False),
    ],
)
def test_filter_excludes_the_driver_unless_it_names_it(
    values: dict[str, object], expected: bool
) -> None:
    assert is_driver_selected(RunSettings(values)) is expected
