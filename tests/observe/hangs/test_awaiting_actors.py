"""An async actor for which a driver waits: a hang only if all tasks of its event loop wait, as it says itself."""

from collections.abc import Sequence
from typing import Any

import pytest
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.inside_questions import with_readings
from eagleray.observe.hangs.task_graph import OpenTask
from eagleray.observe.hangs.verdict import Reading
from eagleray.remote.inspecting.process_answers import READY, RUNS, WAITS, reading_of
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.gpus import GpuUse
from eagleray.remote.sampling.merging import MergedStack, ThreadStack
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.processes import ACTOR, DRIVER, Described
from eagleray.remote.sampling.rank_sets import RankSet

DRIVER_PID, ACTOR_PID = 11, 12
PROCESSES = (
    Described(DRIVER_PID, 1, DRIVER, "driver", 0, "train.py"),
    Described(ACTOR_PID, 1, ACTOR, "Rollout", 0, "ray::Rollout"),
)
GET = PythonFrame("get", "/site/ray/_private/worker.py", 1)
LOOP = PythonFrame("main_loop", "/site/ray/_private/worker.py", 2)
TASKS = (
    OpenTask("t0", "", "RUNNING", "", "", process=("host", DRIVER_PID)),
    OpenTask("t1", "Rollout.generate", "RUNNING", "t0", "a", process=("host", ACTOR_PID)),
)


def sampled(
    actor_cpu_s: float = 0.0, gpu_percent: int = 0, *, is_whole: bool = True
) -> HangEvidence:
    stacks = tuple(
        MergedStack(
            ThreadStack("MainThread", (PythonFrame("fit", "/work/train.py", 3), frame)),
            {each.group: RankSet.of([each.number])},
        )
        for each, frame in zip(PROCESSES, (GET, LOOP), strict=True)
    )
    gpus = (GpuUse(0, gpu_percent, 1024),)
    rounds = tuple(
        Round(
            tuple(
                ProcessSample("S", "", cpu_s * at, "", "py-spy blocking", False, gpus=gpus)
                for cpu_s in (0.0, actor_cpu_s)
            ),
            stacks,
            (),
        )
        for at in range(3)
    )
    return evidence([NodeSamples("host", PROCESSES, rounds)], 1.0, is_whole=is_whole, tasks=TASKS)


def verdict(
    sampled: HangEvidence, *states: str, below: Sequence[dict[str, object]] = ()
) -> Reading:
    """The verdict when the tasks of the actor have these states, with frames of libraries `below` the actor's own."""
    frame = {"function": "Rollout.tokens", "path": "/work/rollout.py", "line": 41}
    chains: list[Any] = [
        {
            "state": state,
            "count": 2,
            "names": ["Task-1"],
            "frames": [frame, *below],
            "waits_for": "Future",
        }
        for state in states
    ]
    reading = reading_of({"exceptions": [], "awaits": chains, "record": {}})
    return diagnosis(with_readings(sampled, {("host", ACTOR_PID): reading})).reading


def test_actor_whose_tasks_all_wait_is_named() -> None:
    found = verdict(sampled(), WAITS)
    assert (found.kind.value, str(found.culprits)) == ("asyncio", "0")
    assert found.sentence == (
        "The driver waits for Rollout.generate. Both tasks wait in Rollout.tokens (rollout.py:41)."
    )
    assert found.next_step == "Look at what the tasks of the event loop await."


def test_actor_that_tells_nothing_is_the_end_of_the_chain() -> None:
    reading = verdict(sampled())
    assert (reading.kind.value, reading.sentence) == (
        "wait-chain",
        "The driver waits for Rollout.generate, which is in fit (train.py:3).",
    )


def test_actor_whose_tasks_sleep_is_not_named() -> None:
    sleep = {"function": "sleep", "path": "/usr/lib/python3.12/asyncio/tasks.py", "line": 665}
    reading = verdict(sampled(), WAITS, below=[sleep])
    assert (reading.kind.value, reading.sentence) == (
        "unknown",
        "A timer will wake the event loop of Rollout 0. "
        "Both tasks wait in Rollout.tokens (rollout.py:41): timers wake 2 of 2.",
    )


def test_answer_of_an_actor_adds_to_the_chain_where_not_all_is_in_the_picture() -> None:
    reading = verdict(sampled(is_whole=False), WAITS)
    assert (reading.kind.value, reading.confidence) == ("wait-chain", 0.75)
    assert reading.sentence.startswith(
        "The driver waits for Rollout.generate. Both tasks wait in Rollout.tokens (rollout.py:41)."
    )


@pytest.mark.parametrize("states", [(WAITS, RUNS), (WAITS, READY)])
def test_actor_of_which_a_task_runs_works(states: tuple[str, ...]) -> None:
    reading = verdict(sampled(), *states)
    assert (reading.kind.value, reading.sentence) == (
        "slow",
        "The driver waits for Rollout.generate, which works in fit (train.py:3).",
    )


@pytest.mark.parametrize("busy", [sampled(actor_cpu_s=0.5), sampled(gpu_percent=97)])
def test_nothing_is_named_while_something_works(busy: HangEvidence) -> None:
    assert verdict(busy, WAITS).kind.value != "asyncio"
