"""Verdicts on nodes that are put together here: what is decided by what threads do between samples, and by roles."""

from __future__ import annotations

import pytest
from eagleray.features.hangs.diagnosis import diagnosis
from eagleray.features.hangs.evidence import evidence
from eagleray.features.hangs.verdict import Kind, Reading
from eagleray.sampling.frames import PythonFrame
from eagleray.sampling.merging import Member, ThreadStack, merged
from eagleray.sampling.node import NodeSamples, ProcessSample, Round
from eagleray.sampling.processes import ACTOR, DRIVER, RANK, Described

TRAINER = "/home/me/train.py"
TORCH = "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
RAY = "/venv/lib/python3.11/site-packages/ray/_private/worker.py"
REDUCES = (PythonFrame("fit", TRAINER, 10), PythonFrame("all_reduce", TORCH, 3000))
COMPUTES = (PythonFrame("fit", TRAINER, 9), PythonFrame("simulate", TRAINER, 20))
ELSEWHERE = (PythonFrame("fit", TRAINER, 9), PythonFrame("load", TRAINER, 30))
GETS = (PythonFrame("<module>", TRAINER, 40), PythonFrame("get", RAY, 2000))


def rank(number: int) -> Described:
    return Described(100 + number, 1, RANK, "train.py", number, "train.py", 3, "127.0.0.1:29500")


def verdict_on(
    stacks: dict[Described, tuple[PythonFrame, ...]], wakes: tuple[int, ...] = ()
) -> Reading:
    """`wakes`: how often each process was woken between two samples; reading a stack wakes each twice."""
    processes = tuple(stacks)
    of_each = wakes or (0,) * len(processes)
    table = tuple(
        merged(
            (Member(each.group, each.number), ThreadStack("MainThread", frames))
            for each, frames in stacks.items()
        )
    )
    rounds = []
    for at in range(3):
        samples = tuple(
            ProcessSample(
                *("S", "futex_do_wait", 1.0, "", "py-spy blocking", False),
                switches=100 + at * (woken + 2) + 2,
                switches_before=100 + at * (woken + 2),
            )
            for woken in of_each
        )
        rounds.append(Round(samples, table, ()))
    node = NodeSamples("n1", processes, tuple(rounds), 2.0)
    return diagnosis(evidence([node], 2.0, is_whole=True)).reading


@pytest.mark.parametrize(
    ("wakes", "kind"),
    [
        ((0, 0, 0), Kind.STRAGGLER),
        ((0, 0, 5), Kind.STRAGGLER),
        # One of two may have been woken by something else.
        ((1, 0, 0), Kind.STRAGGLER),
        ((1, 1, 0), Kind.SLOW),
        ((3, 1, 9), Kind.SLOW),
    ],
)
def test_collectives_that_end_between_samples_are_no_hang(
    wakes: tuple[int, ...], kind: Kind
) -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): COMPUTES}
    assert verdict_on(stacks, wakes).kind is kind


def actor(number: int) -> Described:
    return Described(200 + number, 1, ACTOR, "Policy", number, "Policy.fit")


DRIVING = Described(300, 1, DRIVER, "driver", 0, "train.py")
REWARD = Described(400, 1, ACTOR, "Reward", 0, "Reward.judge")


def test_driver_that_waits_for_its_actors_is_not_at_fault() -> None:
    actors = dict.fromkeys(map(actor, range(3)), COMPUTES)
    assert verdict_on({**actors, DRIVING: GETS}).kind is Kind.UNKNOWN


def test_actor_of_another_class_is_elsewhere_without_fault() -> None:
    actors = dict.fromkeys(map(actor, range(3)), COMPUTES)
    assert verdict_on({**actors, REWARD: ELSEWHERE}).kind is Kind.UNKNOWN


def test_actor_that_is_elsewhere_than_others_of_its_class_is_named() -> None:
    actors = {**dict.fromkeys(map(actor, range(3)), COMPUTES), actor(3): ELSEWHERE}
    reading = verdict_on({**actors, DRIVING: GETS})
    assert (reading.kind, str(reading.culprits)) == (Kind.STRAGGLER, "3")
