"""The rank of the process that has written a line of evidence."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.doctor import texts
from eagleray.doctor.diagnosing import diagnose
from eagleray.doctor.live_output import OutputMatching
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis
from eagleray.doctor.rule_files import own_rules

OOM = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has"
WATCHDOG = (
    "[rank5]:[E1121 01:25:07.123 ProcessGroupNCCL.cpp:607] [Rank 1] Watchdog caught collective"
)


def diagnosed(folder: Path, name: str, *lines: str) -> Diagnosis:
    (folder / name).write_text("\n".join((*lines, "")))
    files, unchecked = list_logs([folder])
    return diagnose(files, own_rules(), unchecked)


@pytest.mark.parametrize(
    ("name", "lines", "rank"),
    [
        ("train.log", [f"[rank3]: {OOM}"], 3),
        ("train.log", [f"[default1]:[rank9]: {OOM}"], 9),
        ("driver.log", [f"(PolicyWorker[rank=3] pid=7, ip=10.0.0.3) {OOM}"], 3),
        ("driver.log", [f"(trainer_rank_12 pid=7) {OOM}"], 12),
        # C++ logs of the same worker have the prefix.
        ("driver.log", [f"(W pid=7) {WATCHDOG}", f"(W pid=8) {OOM}", f"(W pid=7) {OOM}"], None),
        ("driver.log", [f"(W pid=7) {OOM}", f"(W pid=7) {WATCHDOG}"], 5),
        ("worker-3a-01000000-7.err", [OOM, WATCHDOG], 5),
        ("worker-3a-01000000-7.err", [":actor_name:PolicyWorker[rank=2]", "x", OOM], 2),
        # Logs of any process of torchrun.
        ("train.log", [OOM, WATCHDOG], None),
        ("worker-3a-01000000-7.err", [OOM, WATCHDOG, WATCHDOG.replace("rank5", "rank6")], None),
        ("train.log", [f"crank 3 {OOM}"], None),
    ],
)
def test_rank_of_the_evidence(
    tmp_path: Path, name: str, lines: list[str], rank: int | None
) -> None:
    causes = {cause.id: cause for cause in diagnosed(tmp_path, name, *lines).causes}
    assert causes["cuda-oom"].evidence[0].rank == rank


def test_rank_is_in_the_text_beside_the_worker(tmp_path: Path) -> None:
    found = diagnosed(tmp_path, "d.log", f"(P[rank=0] pid=7, ip=10.0.0.3) {OOM}")
    assert "  P[rank=0] pid=7 rank 0 10.0.0.3  torch.OutOfMemoryError" in texts.lines(found)[1]


def test_tracebacks_of_two_ranks_are_unknown_errors_of_their_own(tmp_path: Path) -> None:
    lines = []
    for text in (
        "Traceback (most recent call last):",
        '  File "a.py", line 3, in f',
        "    g()",
        "mine.RewardError: no reward",
    ):
        lines += [f"[rank1]: {text}", f"[rank0]: {text}"]

    unknown = diagnosed(tmp_path, "train.log", *lines).unknown

    assert [(item.rank, item.text) for item in unknown] == [
        (1, "mine.RewardError: no reward"),
        (0, "mine.RewardError: no reward"),
    ]


def test_live_cause_has_the_rank_of_its_line(tmp_path: Path) -> None:
    cause = OutputMatching(tmp_path / "out", own_rules()).feed(f"[rank3]: {OOM}\n")
    assert cause is not None
    assert cause.evidence[0].rank == 3
