"""Waits for tasks of Ray: followed by Ray's list and by the references in `ray.get`, and proved where they are a cycle."""

import ctypes
import os
from collections.abc import Mapping, Sequence

import pytest
from attrs import evolve
from eagleray.observe.hangs.collecting.drivers_here import elsewhere
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import evidence
from eagleray.observe.hangs.ray_tasks import rows
from eagleray.observe.hangs.task_graph import Holder, OpenTask, waits
from eagleray.observe.hangs.verdict import Reading
from eagleray.ray.gcs_state import GcsState
from eagleray.ray.rows import ActorRow, NodeRow, PlacementGroupRow, RuntimeEnv, TaskRow, WorkerRow
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.merging import MergedStack, ThreadStack
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.processes import ACTOR, DRIVER, Described
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.ray_objects import MORE, awaited_objects
from eagleray.remote.sampling.wait_records import ANSWER, FILE_LOCK, KernelWait

DRIVER_PID, LEFT_PID, RIGHT_PID = 10, 11, 12
GET = PythonFrame("Worker.get_objects", "/site/ray/_private/worker.py", 0)
WAIT = PythonFrame("wait", "/site/ray/_private/worker.py", 0)
LOOP = PythonFrame("BaseEventLoop._run_once", "/usr/lib/python3.11/asyncio/base_events.py", 0)
OTHER_ID = "0b" * 24


def at(pid: int) -> tuple[str, int]:
    return "host", pid


def reference(task_id: str) -> str:
    """The memory of a reference, in which Ray 2.60 has the id of the task after 40 bytes."""
    return "05" * 40 + task_id.ljust(48, "0") + "00" * 8


MAIN = OpenTask("t0", "", "RUNNING", "", "", process=at(DRIVER_PID))
CALL = OpenTask("a1" * 24, "A.call", "RUNNING", "t0", "a", "A", at(LEFT_PID))
BACK = OpenTask("b1" * 24, "B.back", "RUNNING", CALL.task_id, "b", "B", at(RIGHT_PID))
QUEUED = OpenTask("a2" * 24, "A.get", "SUBMITTED_TO_WORKER", BACK.task_id, "a", "A")
CYCLE = (
    "The driver waits for A.call, which waits for B.back, "
    "which waits for A.get, which is queued behind A.call: none of them can continue."
)


def verdict(
    tasks: Sequence[OpenTask],
    *,
    objects: Mapping[int, Sequence[str]] | None = None,
    library: Mapping[int, Sequence[PythonFrame]] | None = None,
    busy: Sequence[int] = (),
    kernel: Mapping[int, KernelWait] | None = None,
    idle: Sequence[int] = (),
) -> Reading:
    """The verdict on a driver and two actors, which wait in `ray.get` unless `library` has other frames of theirs.

    Processes of `idle` have no frame of the user.
    """
    step = PythonFrame("step", "/work/train.py", 3)
    processes = (
        Described(DRIVER_PID, 1, DRIVER, "driver", 0, "train.py"),
        Described(LEFT_PID, 1, ACTOR, "A", 0, "A"),
        Described(RIGHT_PID, 1, ACTOR, "B", 0, "B"),
    )
    further = {each.pid: (GET,) for each in processes} | dict(library or {})
    rounds = []
    for number in range(3):
        samples = tuple(
            ProcessSample(
                *("S", "", number * 2.0 if each.pid in busy else 0.0, "", "py-spy blocking"),
                resumed=False,
                objects=tuple((objects or {}).get(each.pid, ())),
                waits=(kernel[each.pid],) if kernel and each.pid in kernel else (),
            )
            for each in processes
        )
        stacks = tuple(
            MergedStack(
                ThreadStack(
                    "MainThread", (*(() if each.pid in idle else (step,)), *further[each.pid])
                ),
                {each.group: RankSet.of([0])},
            )
            for each in processes
        )
        rounds.append(Round(samples, stacks, ()))
    node = NodeSamples("host", processes, tuple(rounds))
    return diagnosis(evidence([node], 1.0, is_whole=True, tasks=tasks)).reading


@pytest.mark.parametrize("tasks", [[MAIN, CALL, BACK, QUEUED], [QUEUED, BACK, CALL, MAIN]])
def test_cycle_of_two_actors_begins_with_the_driver_in_any_order(tasks: list[OpenTask]) -> None:
    reading = verdict(tasks)
    assert (reading.kind.value, reading.sentence) == ("ray-get-cycle", CYCLE)


def test_actor_that_calls_itself_is_a_cycle_of_one() -> None:
    own = evolve(QUEUED, parent_id=CALL.task_id)
    assert verdict([MAIN, CALL, own]).kind.value == "ray-get-cycle"


@pytest.mark.parametrize(
    "tasks",
    [
        [MAIN, CALL, BACK],
        # Another caller's task is queued behind.
        [MAIN, CALL, BACK, evolve(QUEUED, parent_id="elsewhere")],
        # The actor runs several calls at once.
        [MAIN, CALL, BACK, evolve(QUEUED, state="RUNNING", process=at(LEFT_PID))],
        # It has changed during the samples.
        [MAIN, CALL, BACK, evolve(QUEUED, is_steady=False)],
        # Two tasks that the actor has called: nothing tells for which it waits.
        [MAIN, CALL, BACK, QUEUED, evolve(BACK, task_id=OTHER_ID, parent_id=BACK.task_id)],
    ],
)
def test_calls_without_a_proof_are_not_a_cycle(tasks: list[OpenTask]) -> None:
    assert verdict(tasks).kind.value != "ray-get-cycle"


def test_actor_that_does_not_wait_breaks_the_cycle() -> None:
    assert verdict([MAIN, CALL, BACK, QUEUED], library={RIGHT_PID: ()}).sentence == (
        "The driver waits for A.call, which waits for B.back, which is in step (train.py:3)."
    )


def test_method_of_an_async_actor_can_not_run_while_another_blocks_its_event_loop() -> None:
    """As Ray 2.60 lists it: both methods run, and the constructor has called what a method has."""
    back = evolve(BACK, parent_id="f" * 16 + "a")
    running = evolve(QUEUED, state="RUNNING", process=at(LEFT_PID))
    reading = verdict([MAIN, CALL, back, running], library={LEFT_PID: (LOOP, GET)})
    assert reading.sentence == (
        "The driver waits for A.call, which waits for B.back, which waits for A.get: "
        "none of them can continue."
    )


BESIDE = OpenTask("c1" * 24, "Log.write", "RUNNING", "t0", "c", "Log")


def test_references_tell_for_which_of_its_calls_a_process_waits() -> None:
    tasks, library = [MAIN, BESIDE, CALL], {LEFT_PID: ()}
    unsure = verdict(tasks, library=library)
    assert unsure.kind.value == "unknown"
    objects = {DRIVER_PID: [reference(CALL.task_id)]}
    assert verdict(tasks, objects=objects, library=library).sentence == (
        "The driver waits for A.call, which is in step (train.py:3)."
    )
    calls = waits(tasks, {at(DRIVER_PID): [reference(OTHER_ID)]})
    assert calls == {}
    assert len(waits(tasks, {at(DRIVER_PID): [reference(OTHER_ID), MORE]})[at(DRIVER_PID)]) == 2


def test_wait_for_any_of_several_tasks_names_all() -> None:
    objects = {DRIVER_PID: [reference(CALL.task_id), reference(BESIDE.task_id)]}
    library: dict[int, Sequence[PythonFrame]] = {DRIVER_PID: (WAIT,), LEFT_PID: ()}
    assert verdict([MAIN, BESIDE, CALL], objects=objects, library=library).sentence == (
        "The driver waits for A.call or Log.write, which is in step (train.py:3)."
    )


LARGE = OpenTask("c1" * 24, "train", "PENDING_NODE_ASSIGNMENT", "t0", "", needs="GPU: 8")
MAKE = OpenTask(
    "c0", "C.__init__", "PENDING_NODE_ASSIGNMENT", "t0", "c", needs="CPU: 1", is_constructor=True
)
STEP = OpenTask("c1" * 24, "C.step", "PENDING_NODE_ASSIGNMENT", "t0", "c", "C", needs="CPU: 1")
STARVES = {
    "never": (
        [MAIN, evolve(LARGE, fits=False)],
        "The driver waits for train, but no node has GPU: 8.",
    ),
    "now": (
        [MAIN, LARGE],
        "The driver waits for train, but no node has GPU: 8 free.",
    ),
}


@pytest.mark.parametrize("case", STARVES)
def test_task_without_room_names_its_caller(case: str) -> None:
    tasks, sentence = STARVES[case]
    reading = verdict(tasks, library={LEFT_PID: (), RIGHT_PID: ()})
    assert (reading.kind.value, reading.sentence) == ("starvation", sentence)


def test_method_needs_a_node_only_while_its_constructor_does() -> None:
    objects = {DRIVER_PID: [reference(STEP.task_id)]}
    assert verdict([MAIN, MAKE, STEP], objects=objects).kind.value == "starvation"
    lacking = evolve(STEP, task_id=OTHER_ID, name="C.add", state="PENDING_ARGS_AVAIL")
    reading = verdict([MAIN, STEP, lacking, evolve(LARGE, task_id="d1" * 24)], objects=objects)
    assert reading.sentence == (
        "The driver waits for C.step, which is queued behind C.add, "
        "whose arguments aren't ready (open: train) in step (train.py:3)."
    )


def test_task_that_has_begun_meanwhile_and_works_is_slow() -> None:
    reading = verdict(
        [MAIN, evolve(CALL, is_steady=False)], library={LEFT_PID: ()}, busy=[LEFT_PID]
    )
    assert (reading.kind.value, reading.sentence) == (
        "slow",
        "The driver waits for A.call, which works in step (train.py:3).",
    )


def test_task_without_room_is_named_beside_tasks_that_wait_for_it() -> None:
    """As an engine that isn't placed, which the trainer awaits in `init_process_group`."""
    objects = {DRIVER_PID: [reference(CALL.task_id), reference(STEP.task_id)]}
    reading = verdict([MAIN, CALL, MAKE, STEP], objects=objects, library={LEFT_PID: ()})
    assert (reading.kind.value, reading.sentence) == (
        "starvation",
        "The driver waits for C.step, but no node has CPU: 1 free. "
        "The driver waits for A.call, which is in step (train.py:3).",
    )


def test_queue_of_ray_without_a_call_that_puts_is_the_end() -> None:
    item = (
        PythonFrame("Queue.get", "/venv/lib/python3.11/site-packages/ray/util/queue.py", 0),
        GET,
    )
    take = OpenTask("b3" * 24, "_QueueActor.get", "RUNNING", CALL.task_id, "b", "", at(RIGHT_PID))
    library: dict[int, Sequence[PythonFrame]] = {LEFT_PID: item, RIGHT_PID: ()}
    assert verdict([MAIN, CALL, take], library=library).sentence == (
        "The driver waits for A.call, which waits for an item of a queue of Ray in step (train.py:3): "
        "no call puts into it."
    )
    work = OpenTask("c2" * 24, "produce", "RUNNING", "elsewhere", "", "", at(RIGHT_PID))
    assert verdict([MAIN, CALL, take, work], library=library).sentence == (
        "The driver waits for A.call, which waits for an item of a queue of Ray, perhaps from produce, "
        "which is in step (train.py:3)."
    )
    put = evolve(take, task_id=OTHER_ID, name="_QueueActor.put", parent_id="elsewhere")
    assert "puts" not in verdict([MAIN, CALL, take, put], library=library).sentence


def test_call_behind_a_generator_names_whose_reader_waits() -> None:
    loop = PythonFrame("Worker.main_loop", "/site/ray/_private/worker.py", 0)
    stream = evolve(BACK, name="B.stream")
    progress = evolve(QUEUED, name="B.progress", actor_id="b", actor="B", parent_id=CALL.task_id)
    objects = {LEFT_PID: [reference(progress.task_id)]}
    reading = verdict(
        [MAIN, CALL, stream, progress],
        objects=objects,
        library={RIGHT_PID: (loop,)},
        idle=[RIGHT_PID],
    )
    assert reading.sentence == (
        "The driver waits for A.call, which waits for B.progress, which is queued behind B.stream: "
        "that awaits something, or A.call doesn't read its results."
    )


def test_placement_group_is_what_a_reference_to_no_task_means() -> None:
    group = evolve(LARGE, task_id="9c" * 18, name="a placement group", is_group=True)
    reading = verdict([MAIN, CALL, group], objects={DRIVER_PID: [reference(OTHER_ID)]})
    assert reading.sentence == (
        "The driver waits for a placement group, but no node has GPU: 8 free."
    )


def test_references_are_read_from_memory() -> None:
    memory = ctypes.create_string_buffer(bytes.fromhex(reference(CALL.task_id)), 96)
    place = f"<ray.ObjectRef at {ctypes.addressof(memory):#x}>"
    frame = {
        "filename": "/site/ray/_private/worker.py",
        "locals": [{"name": "object_refs", "repr": f"[{place}, ...]"}],
    }
    [content, more] = awaited_objects(os.getpid(), [frame])
    assert CALL.task_id in content
    assert more == MORE
    assert awaited_objects(os.getpid(), [{**frame, "filename": "/work/train.py"}]) == ()


def test_constructor_that_waits_for_a_lock_of_its_caller_is_a_deadlock() -> None:
    """As an actor that Ray starts again: its constructor is in no list of tasks."""
    now = ActorRow("a", "A", "", "", "RESTARTING", "", "n", LEFT_PID, 1, "", RuntimeEnv())
    constructor = rows((), [now], (), {"n": "host"}, {})
    queued = evolve(CALL, state="PENDING_NODE_ASSIGNMENT", process=("", 0))
    lock = KernelWait("MainThread", FILE_LOCK, (DRIVER_PID,), is_whole=True)
    reading = verdict([MAIN, queued, *constructor], library={LEFT_PID: ()}, kernel={LEFT_PID: lock})
    assert (reading.kind.value, reading.sentence) == (
        "deadlock",
        "The driver waits for A.call, whose actor is still in its constructor, "
        "which waits for a file lock of the driver in step (train.py:3): none of them can continue.",
    )


def test_process_in_ray_get_may_answer_in_another_thread() -> None:
    """As a driver with uvicorn in a thread, none of whose frames is the user's."""
    answer = KernelWait("MainThread", ANSWER, (DRIVER_PID,), "10.0.0.1:8000", is_whole=True)
    reading = verdict([MAIN, CALL], library={LEFT_PID: ()}, kernel={LEFT_PID: answer})
    assert (reading.kind.value, reading.sentence) == (
        "wait-chain",
        "The driver waits for A.call, which waits for the server at 10.0.0.1:8000 in step (train.py:3).",
    )


def test_other_machines_of_the_cluster_are_listed() -> None:
    nodes = tuple(NodeRow(each, f"10.0.0.{each}", "", True, False) for each in "12")
    state = GcsState(nodes, frozenset("1"), (), (), (), ())
    assert [each.node for each in elsewhere(state)] == ["10.0.0.2"]


@pytest.mark.parametrize("actor_id", ["", "a"])
def test_task_without_code_is_a_generator_unless_an_actor_may_await_something(
    actor_id: str,
) -> None:
    loop = PythonFrame("Worker.main_loop", "/site/ray/_private/worker.py", 0)
    called = evolve(CALL, name="make", actor="", actor_id=actor_id)
    reading = verdict([MAIN, called], library={LEFT_PID: (loop,), RIGHT_PID: (loop,)})
    assert ("generator" in reading.sentence) is (actor_id == "")


def test_room_for_a_task_is_what_no_running_task_or_actor_has() -> None:
    holder = ActorRow(
        *("h", "Engine", "", "", "ALIVE", "", "n", 5, 0, "", RuntimeEnv()), holds={"CPU": 1.0}
    )
    task = TaskRow(
        *("t9", 0, "train", "", "NORMAL_TASK", "PENDING_NODE_ASSIGNMENT", "", "", "", "", 0, "", 0),
        *(RuntimeEnv(), {"CPU": 1.0}),
    )
    [full] = rows([task], [holder], (), {}, {"CPU": 1.0}, free=[{"CPU": 0.0}])
    assert (full.held_by, full.fits, full.has_room) == (
        (Holder("Engine", "CPU: 1", (("", 5),)),),
        True,
        False,
    )
    left = evolve(holder, job_id="02", holds={"CPU": 2.0})
    [task_of_next_job] = rows(
        [task], [], (), {}, {"CPU": 2.0}, free=[{"CPU": 0.0}], others=[left], live_jobs=["03"]
    )
    held = evolve(task_of_next_job, parent_id="t0")
    assert verdict([MAIN, held], library={LEFT_PID: (), RIGHT_PID: ()}).sentence == (
        "The driver waits for train, but no node has CPU: 1 free: "
        "held by Engine (CPU: 2, of a job that has ended)."
    )
    [starting] = rows([task], [], (), {}, {"CPU": 1.0}, free=[{"CPU": 1.0}])
    assert starting.has_room
    assert verdict([MAIN, evolve(starting, parent_id="t0")]).kind.value != "starvation"


def test_placement_group_holds_what_its_actors_have() -> None:
    """Names of resources as Ray 2.60 lists them: an actor in a bundle has its CPU under two names."""
    group_id = "3d48" * 9
    member = ActorRow(
        *("h", "Member", "", "", "ALIVE", "01", "n", LEFT_PID, 0, "", RuntimeEnv()),
        holds={f"CPU_group_{group_id}": 1.0, f"CPU_group_0_{group_id}": 1.0},
    )
    driver = WorkerRow("01" + "0" * 54, "driver", "n", "", DRIVER_PID, 0, 0, 0)
    placed = PlacementGroupRow(group_id, "old", "01", ({"CPU": 1.0},) * 2, False, is_placed=True)
    waiting = PlacementGroupRow("9c" * 18, "new", "01", ({"CPU": 2.0},), False)
    listed = rows((), [member], [driver], {"n": "host"}, {"CPU": 3.0}, [placed, waiting])
    [group] = [each for each in listed if each.is_group]
    assert group.held_by == (Holder("placement group old", "CPU: 2"),)
    reading = verdict([MAIN, evolve(group, parent_id="t0")], library={LEFT_PID: ()})
    assert reading.sentence.endswith("free: held by placement group old (CPU: 2).")
    assert reading.next_step == (
        "Remove placement group old (ray.util.remove_placement_group), or ask for less."
    )
    inside = TaskRow(
        *("t9", 0, "train", "", "NORMAL_TASK", "PENDING_NODE_ASSIGNMENT", "", "", "", "", 0, "", 0),
        *(RuntimeEnv(), {f"CPU_group_{group_id}": 1.0, f"bundle_group_{group_id}": 0.001}),
    )
    [task, *_] = rows([inside], [member], (), {"n": "host"}, {}, [placed])
    assert task.held_by == (Holder("Member", "CPU: 1", (at(LEFT_PID),)),)
