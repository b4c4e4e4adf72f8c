"""The use of GPUs in a terminal and in Markdown: processes that keep their GPUs about as busy are in one line."""

from __future__ import annotations

from eagleray.observe.hangs.gpu_texts import gpu_lines
from eagleray.observe.hangs.model import GpuRow, RankRow


def row(rank: int, gpu: GpuRow | None, group: str = "world", role: str = "rank") -> RankRow:
    gpus = (gpu,) if gpu else ()
    return RankRow(group, rank, role, 1, "", "", "", False, 0.0, "S", (), gpus)


def test_idle_and_busy_ranks_are_told_apart() -> None:
    rows = [
        row(0, GpuRow(0, 97, 100, 62464)),
        row(1, GpuRow(1, 0, 0, 61440)),
        row(2, GpuRow(2, 99, 99, 61440)),
        row(3, None),
        row(0, GpuRow(3, 0, 80, -1), "Reward", "actor"),
    ]
    assert list(gpu_lines(rows)) == [
        "GPUs of ranks 0 and 2: 97-100 % busy, 60-61 GB",
        "GPUs of rank 1: 0 % busy, 60 GB",
        "GPUs of Reward 0: 0-80 % busy",
    ]


def test_unknown_use_is_not_a_number() -> None:
    assert list(gpu_lines([row(0, GpuRow(0, -1, -1, -1))])) == ["GPUs of rank 0: –"]
    assert list(gpu_lines([row(0, None)])) == []
