"""Which workers and drivers a run's patterns and ranks select."""

from __future__ import annotations

import pytest
from eagleray.remote.injected.settings import RunSettings
from eagleray.remote.injected.worker_patterns import (
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
    assert is_selected(patterns, ranks, NAMES, rank) is expected


@pytest.mark.parametrize(
    ("environ", "actor", "rank"),
    [
        ({"RANK": "5"}, "policy-2", 5),
        ({}, "policy-2", 2),
        ({}, "wg_actor_0:3", 3),
        ({"RANK": "none"}, "trainer", None),
        ({"RANK": "\N{SUPERSCRIPT TWO}"}, "policy-2", 2),
        # Ray was started by a program with several ranks.
        ({"PMI_RANK": "7", "SLURM_STEP_ID": "0", "SLURM_PROCID": "7"}, "trainer", None),
        ({}, "qwen3", None),
    ],
)
def test_rank_is_read_from_environment_or_actor_name(
    environ: dict[str, str], actor: str, rank: int | None
) -> None:
    assert rank_of(environ, actor) == rank


@pytest.mark.parametrize(
    ("values", "rank", "expected"),
    [
        ({}, None, True),
        ({"workers": ["*Policy*"]}, None, False),
        ({"workers": ["*Policy*"], "ranks": [1]}, 1, False),
        ({"workers": ["*Policy*", "driver"]}, None, True),
        ({"workers": ["driver"], "ranks": [1]}, None, True),
        ({"workers": ["driver"], "ranks": [1]}, 0, False),
        ({"ranks": [1]}, 1, True),
        ({"ranks": [1]}, 0, False),
        ({"ranks": [0]}, None, None),
    ],
)
def test_filter_selects_a_driver_by_its_rank_or_by_name(
    values: dict[str, object], rank: int | None, expected: bool | None
) -> None:
    settings = RunSettings(values)
    assert is_driver_selected(settings.workers, settings.ranks, rank) is expected
