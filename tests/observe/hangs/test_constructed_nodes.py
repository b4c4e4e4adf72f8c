"""Verdicts on nodes that are put together here: what is decided by what threads do between samples, and by roles."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from attrs import evolve
from eagleray.observe.hangs import flight_recorder, ray_readings
from eagleray.observe.hangs.diagnosis import diagnosis
from eagleray.observe.hangs.evidence import DeadActor, HangEvidence, World, evidence
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.inspecting.process_answers import RUNS, AwaitChain, ProcessReading
from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.merging import Member, ThreadStack, merged
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.proc import ThreadUse
from eagleray.remote.sampling.processes import ACTOR, DRIVER, OTHER, RANK, Described
from eagleray.remote.sampling.wait_records import ANSWER, CHILD, FILE_LOCK, INPUT, READ, KernelWait

TRAINER = "/home/me/train.py"
TORCH = "/venv/lib/python3.11/site-packages/torch/distributed/distributed_c10d.py"
RAY = "/venv/lib/python3.11/site-packages/ray/_private/worker.py"
REDUCES = (PythonFrame("fit", TRAINER, 10), PythonFrame("all_reduce", TORCH, 3000))
GATHERS = (PythonFrame("fit", TRAINER, 11), PythonFrame("all_gather", TORCH, 3000))
COMPUTES = (PythonFrame("fit", TRAINER, 9), PythonFrame("simulate", TRAINER, 20))
ELSEWHERE = (PythonFrame("fit", TRAINER, 9), PythonFrame("load", TRAINER, 30))
LOOP = (
    PythonFrame("fit", TRAINER, 9),
    PythonFrame("BaseEventLoop._run_once", "/opt/python/lib/python3.11/asyncio/base_events.py", 0),
    PythonFrame("EpollSelector.select", "/opt/python/lib/python3.11/selectors.py", 468),
)
LOADS = (
    PythonFrame("fit", TRAINER, 8),
    PythonFrame(
        "_try_get_data", "/venv/lib/python3.11/site-packages/torch/utils/data/dataloader.py", 9
    ),
)
GETS = (PythonFrame("<module>", TRAINER, 40), PythonFrame("get", RAY, 2000))


def rank(number: int) -> Described:
    return Described(100 + number, 1, RANK, "train.py", number, "train.py", 3, "127.0.0.1:29500")


def verdict_on(
    stacks: dict[Described, tuple[PythonFrame, ...]],
    wakes: tuple[int, ...] = (),
    *,
    us_of_a_wake: int = 200,
    cores: tuple[int, ...] = (),
    states: str = "SSS",
    is_whole: bool = True,
    workers: str = "",
    reading: ProcessReading | None = None,
    records: tuple[tuple[str, str], ...] = (),
    changed: tuple[int, ...] = (),
    waits: dict[int, tuple[KernelWait, ...]] | None = None,
    peers: dict[int, tuple[tuple[str, int], ...]] | None = None,
    sleeping: tuple[int, ...] = (),
    ended: tuple[int, ...] = (),
) -> Reading:
    """The reading of three samples, two seconds apart, in which each process has one of `states`.

    `wakes` and `cores`: how often each process was woken between two samples, and how much CPU it has used.  Reading a
    stack wakes each twice.  A process without frames could not be read.  `reading` is what each has told from inside.
    `records` are the flight recorders that PyTorch serves of each, in the first and in the last sample.
    `changed` are the numbers of those whose variables differ from the first sample on, and `waits` those in the kernel.
    `peers` are the arguments of messages, and the main threads of `sleeping` sleep.  The processes
    `ended` have ended before the last sample.
    """
    processes = tuple(stacks)
    of_each = list(zip(wakes or (0,) * len(processes), cores or (0,) * len(processes), strict=True))
    table = tuple(
        merged(
            (Member(each.group, each.number), ThreadStack("MainThread", frames))
            for each, frames in stacks.items()
            if frames
        )
    )
    rounds = []
    for at, state in enumerate(states):
        gone = ended if at == len(states) - 1 else ()
        samples = tuple(
            ProcessSample(
                *(state, "futex_do_wait", 2.0 * at * used),
                *("ended" if process.number in gone else "", "py-spy blocking", False),
                before=ThreadUse(at * (woken + 2), us_of_a_wake * at * woken),
                after=ThreadUse(at * (woken + 2) + 2, us_of_a_wake * at * woken),
                variables_changed=process.number in changed and at > 0,
                waits=(waits or {}).get(process.number, ()),
                peers=(peers or {}).get(process.number, ()),
                has_timer=process.number in sleeping,
            )
            for process, (woken, used) in zip(processes, of_each, strict=True)
        )
        if records:
            at_end = at == len(states) - 1
            samples = tuple(
                sample._replace(record=of_rank[at_end])
                for sample, of_rank in zip(samples, records, strict=True)
            )
        rounds.append(Round(samples, table, ()))
    node = NodeSamples("n1", processes, tuple(rounds), 2.0)
    taken = evidence([node], 2.0, is_whole=is_whole, workers=workers)
    told = tuple(evolve(each, reading=reading) for each in taken.processes)
    return diagnosis(evolve(taken, processes=told)).reading


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
def test_collectives_that_end_between_samples_are_not_a_hang(
    wakes: tuple[int, ...], kind: Kind
) -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): COMPUTES}
    assert verdict_on(stacks, wakes).kind is kind


@pytest.mark.parametrize("wakes", [(1, 1, 0, 0), (500, 500, 0, 0)])
def test_ranks_that_wait_are_not_the_ones_that_make_a_program_slow(wakes: tuple[int, ...]) -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): COMPUTES, rank(3): COMPUTES}
    reading = verdict_on(stacks, wakes)
    assert (reading.kind, str(reading.culprits)) == (Kind.SLOW, "")
    assert "ranks 0-1 moved" in reading.sentence


@pytest.mark.parametrize(
    ("key", "named"),
    [
        ("'done/3'", "the key 'done/3' of the store"),
        # Its value isn't known.
        ("f'done/{epoch}'", "the store"),
    ],
)
def test_rank_that_waits_for_the_store_does_not_wait_for_the_rank_that_serves_it(
    tmp_path: Path, key: str, named: str
) -> None:
    source = tmp_path / "train.py"
    source.write_text(f"def meet(store, epoch):\n    return store.get({key})\n")
    stacks = {
        rank(0): REDUCES,
        rank(1): (PythonFrame("meet", str(source), 2),),
        rank(2): REDUCES,
    }
    of_store = KernelWait("MainThread", ANSWER, (100,), "10.0.0.7:29500", is_whole=True)
    sentence = verdict_on(stacks, waits={1: (of_store,)}).sentence
    assert f"Rank 1 waits for {named} at 10.0.0.7:29500" in sentence
    assert "which" not in sentence.partition("Rank 1 waits")[2]


def actor(number: int) -> Described:
    return Described(200 + number, 1, ACTOR, "Policy", number, "Policy.fit")


DRIVING = Described(300, 1, DRIVER, "driver", 0, "train.py")
REWARD = Described(400, 1, ACTOR, "Reward", 0, "Reward.judge")


def test_driver_that_waits_for_its_actors_is_not_at_fault() -> None:
    actors = dict.fromkeys(map(actor, range(3)), COMPUTES)
    assert verdict_on({**actors, DRIVING: GETS}).kind is Kind.UNKNOWN


def test_driver_that_polls_is_shown_beside_actors_that_run_nothing(tmp_path: Path) -> None:
    program = tmp_path / "train.py"
    program.write_text("import time\nwhile buffer.size() < 4:\n    time.sleep(0.5)\n")
    idle = (PythonFrame("Worker.main_loop", RAY, 900),)
    reading = verdict_on(
        {DRIVING: (PythonFrame("<module>", str(program), 3),), REWARD: idle, actor(0): idle}
    )
    assert (reading.kind, reading.sentence, reading.next_step) == (
        Kind.UNKNOWN,
        "The driver sleeps in a loop in <module> (train.py:3). "
        "No code of the program runs in Reward 0, Policy 0.",
        "Look in the log whether a thread has failed.",
    )


def test_actor_of_another_class_is_elsewhere_without_fault() -> None:
    actors = dict.fromkeys(map(actor, range(3)), COMPUTES)
    assert verdict_on({**actors, REWARD: ELSEWHERE}).kind is Kind.UNKNOWN


def test_actor_that_is_elsewhere_than_others_of_its_class_is_named() -> None:
    actors = {**dict.fromkeys(map(actor, range(3)), COMPUTES), actor(3): ELSEWHERE}
    reading = verdict_on({**actors, DRIVING: GETS})
    assert (reading.kind, str(reading.culprits)) == (Kind.WAIT_CHAIN, "3")


@pytest.mark.parametrize(
    ("us_of_a_wake", "kind"),
    # The most that was measured for a thread that polls, and the least for one that calls a collective again.
    [(10, Kind.STRAGGLER), (40, Kind.STRAGGLER), (51, Kind.SLOW)],
)
def test_rank_that_polls_while_it_waits_hangs(us_of_a_wake: int, kind: Kind) -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ELSEWHERE}
    reading = verdict_on(stacks, wakes=(2000, 2000, 0), us_of_a_wake=us_of_a_wake)
    assert reading.kind is kind


def test_loop_whose_variables_change_is_not_a_hang_however_short_its_wakes_are() -> None:
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    wakes = (100, 100, 100)
    assert verdict_on(stacks, wakes, us_of_a_wake=20).kind is Kind.TRANSPORT
    reading = verdict_on(stacks, wakes, us_of_a_wake=20, changed=(0, 1, 2))
    assert (reading.kind, str(reading.culprits)) == (Kind.SLOW, "")


@pytest.mark.parametrize(
    ("core", "changed", "kind"),
    # One that tries again and again has other variables, too, but sleeps nearly all the time.
    [(1, (2,), Kind.SLOW), (1, (), Kind.SLOW), (0, (2,), Kind.STRAGGLER)],
)
def test_rank_that_comes_back_to_its_line_with_other_variables_works_if_it_computes(
    core: int, changed: tuple[int, ...], kind: Kind
) -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ELSEWHERE}
    assert verdict_on(stacks, cores=(0, 0, core), changed=changed).kind is kind


def test_rank_that_computes_while_others_wait_leaves_a_doubt() -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): COMPUTES}
    reading = verdict_on(stacks, cores=(0, 0, 1))
    assert (reading.kind, str(reading.culprits)) == (Kind.SLOW, "2")
    assert "which computes in simulate (train.py:20): slow, or a loop" in reading.sentence
    assert reading.confidence < verdict_on(stacks).confidence


def test_rank_that_keeps_a_lock_file_in_a_collective_waits_for_those_that_need_it() -> None:
    lock = KernelWait("MainThread", FILE_LOCK, (101,), "/data/cache.lock", is_whole=True)
    reading = verdict_on(
        {rank(0): ELSEWHERE, rank(1): REDUCES, rank(2): ELSEWHERE},
        waits={0: (lock,), 2: (lock,)},
    )
    assert (reading.kind, reading.sentence) == (
        Kind.DEADLOCK,
        "Rank 1 waits in all_reduce (train.py:10) for ranks 0 and 2, which do not move in load (train.py:30). "
        "Rank 0 waits for the lock file /data/cache.lock of rank 1, which waits in all_reduce (train.py:10).",
    )


def test_rank_that_asks_its_user_is_the_first_to_look_at() -> None:
    asks = KernelWait("MainThread", INPUT, (), "/dev/pts/3")
    stacks = {rank(0): ELSEWHERE, rank(1): REDUCES, rank(2): REDUCES}
    reading = verdict_on(stacks, waits={0: (asks,)})
    assert (reading.kind, str(reading.culprits)) == (Kind.STRAGGLER, "0")
    assert reading.confidence == 0.9
    assert reading.next_step == "Answer it, or make the program not ask."
    assert reading.sentence.endswith(
        "Rank 0 waits for input from /dev/pts/3 in load (train.py:30)."
    )


def test_process_that_its_terminal_has_stopped_needs_the_foreground(tmp_path: Path) -> None:
    program = tmp_path / "probe.py"
    program.write_text("import termios\ntermios.tcsetattr(0, 0, [])\n")
    frames = (PythonFrame("<module>", str(program), 2),)
    stopped = verdict_on({rank(0): frames}, states="TTT", is_whole=False)
    assert stopped.next_step == (
        "It uses its terminal: start it in the foreground, or continue it with fg."
    )
    assert verdict_on({rank(0): ELSEWHERE}, states="TTT", is_whole=False).next_step == (
        "Resume with: kill -CONT 100"
    )


def test_data_loader_that_computes_at_one_line_delivers() -> None:
    child = Described(200, 100, OTHER, "process", 200, "train.py")
    reading = verdict_on(
        {rank(0): LOADS, child: COMPUTES}, cores=(0, 1), wakes=(0, 0), is_whole=False
    )
    assert (reading.kind, reading.sentence) == (
        Kind.SLOW,
        "No sign of a hang: rank 0 waits for its data loader, which still works.",
    )


UPLOADS = """
import time
def upload(file, parts):
    for part in parts:
        file.write(part)
        time.sleep(0.5)
def throttled(part):
    time.sleep(4)
    return part
def fetch(file, parts):
    while parts:
        file.write(throttled(parts.pop()))
"""


@pytest.mark.parametrize("lines", [((6, "upload"),), ((12, "fetch"), (8, "throttled"))])
def test_rank_or_loader_that_sleeps_in_a_loop_may_still_work(
    tmp_path: Path, lines: tuple[tuple[int, str], ...]
) -> None:
    file = tmp_path / "uploads.py"
    file.write_text(UPLOADS)
    frames = tuple(PythonFrame(function, str(file), line) for line, function in lines)
    reading = verdict_on({rank(0): REDUCES, rank(1): REDUCES, rank(2): frames})
    assert (reading.kind, reading.confidence) == (Kind.WAIT_CHAIN, 0.5)
    assert ", which sleeps in " in reading.sentence
    child = Described(200, 100, OTHER, "process", 200, "fetch.py")
    reading = verdict_on({rank(0): LOADS, child: frames}, wakes=(0, 0), is_whole=False)
    assert (reading.kind, reading.confidence) == (Kind.DATA_LOADER, 0.5)
    assert reading.sentence.startswith("Rank 0 waits for its data loader. ")


def test_buffers_that_ddp_shares_are_a_collective() -> None:
    """As a validation on one rank through DDP, while the others wait at a barrier (torch 2.13)."""
    ddp = "/venv/lib/python3.11/site-packages/torch/nn/parallel/distributed.py"
    shares = (
        PythonFrame("fit", TRAINER, 12),
        PythonFrame("DistributedDataParallel._distributed_broadcast_coalesced", ddp, 0),
    )
    reading = verdict_on({rank(0): shares, rank(1): GATHERS, rank(2): GATHERS})
    assert (reading.kind, str(reading.culprits)) == (Kind.COLLECTIVE_MISMATCH, "0")


def test_two_ranks_that_send_to_each_other_are_named() -> None:
    sends = (PythonFrame("fit", TRAINER, 10), PythonFrame("send", TORCH, 3000))
    peers = {0: (("dst", 1),), 1: (("dst", 0),)}
    reading = verdict_on({rank(0): sends, rank(1): sends}, peers=peers, is_whole=False)
    assert reading.sentence == (
        "Ranks 0-1 send to each other in send (train.py:10), and neither receives."
    )


def test_receive_from_a_rank_in_a_collective_names_both_sides() -> None:
    """As a barrier that rank 0 alone calls twice: its message comes after it, and matches."""
    receives = (PythonFrame("fit", TRAINER, 10), PythonFrame("recv", TORCH, 2799))
    barrier = (PythonFrame("fit", TRAINER, 8), PythonFrame("barrier", TORCH, 5000))
    peers = {1: (("src", 0),), 2: (("src", 0),)}
    reading = verdict_on({rank(0): barrier, rank(1): receives, rank(2): receives}, peers=peers)
    assert (reading.kind, str(reading.culprits), reading.confidence) == (
        *(Kind.COLLECTIVE_MISMATCH, "0"),
        0.6,
    )
    assert reading.sentence == (
        "Rank 0 waits in barrier (train.py:8) while ranks 1-2 wait in recv (train.py:10)."
    )


@pytest.mark.parametrize("has_timer", [False, True])
def test_rank_that_sleeps_may_still_work(has_timer: bool) -> None:
    """As the kernel tells, where no source does."""
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ELSEWHERE}
    reading = verdict_on(stacks, sleeping=(2,) if has_timer else ())
    expected = (Kind.WAIT_CHAIN, 0.5) if has_timer else (Kind.STRAGGLER, 0.8)
    assert (reading.kind, reading.confidence) == expected


def test_rank_that_could_not_be_read_is_not_at_fault() -> None:
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ()}
    assert verdict_on(stacks).kind is Kind.UNKNOWN


def test_rank_that_alone_could_be_read_is_not_at_fault() -> None:
    assert verdict_on({rank(0): ELSEWHERE, rank(1): (), rank(2): ()}).kind is Kind.UNKNOWN
    assert verdict_on({rank(0): LOOP, rank(1): (), rank(2): ()}).kind is Kind.UNKNOWN
    assert verdict_on({rank(0): LOOP, rank(1): LOOP, rank(2): LOOP}).kind is Kind.ASYNCIO


@pytest.mark.parametrize(
    ("stacks", "sentence"),
    [
        ((REDUCES, ELSEWHERE), "Rank 0 waits in all_reduce (train.py:10) for rank 1, which does"),
        (
            (REDUCES, REDUCES, ELSEWHERE),
            "Ranks 0-1 wait in all_reduce (train.py:10) for rank 2, which does",
        ),
        (
            (REDUCES, ELSEWHERE, ELSEWHERE),
            "Rank 0 waits in all_reduce (train.py:10) for ranks 1-2, which do ",
        ),
        (
            (REDUCES, GATHERS),
            "Rank 1 waits in all_gather (train.py:11) while rank 0 waits in all_reduce",
        ),
        (
            (REDUCES, GATHERS, GATHERS),
            "Rank 0 waits in all_reduce (train.py:10) while ranks 1-2 wait in all_gather",
        ),
        ((LOOP, REDUCES), "The event loop of rank 0 waits, and the others for it."),
        ((LOOP, LOOP, REDUCES), "The event loops of ranks 0-1 wait, and the others for them."),
        ((LOOP, LOOP, LOOP), "The event loops of ranks 0-2 wait."),
        ((LOADS, LOADS, LOADS), "Ranks 0-2 wait for their data loaders."),
    ],
)
def test_verbs_agree_with_the_number_of_ranks(
    stacks: tuple[tuple[PythonFrame, ...], ...], sentence: str
) -> None:
    world = len(stacks)
    ranks = [rank(number)._replace(world_size=world) for number in range(world)]
    reading = verdict_on(dict(zip(ranks, stacks, strict=True)))
    assert reading.sentence.startswith(sentence)


def test_tasks_of_event_loops_that_were_not_read_are_the_next_step() -> None:
    reading = verdict_on(dict.fromkeys(map(rank, range(3)), LOOP))
    assert reading.next_step == "Read from inside what its tasks await (--inside)."


def test_task_that_only_waits_for_a_thread_does_not_work() -> None:
    asks = PythonFrame("ask_all", TRAINER, 12)
    join = PythonFrame("Thread.join", "/opt/python/lib/python3.11/threading.py", 1119)
    parent = Described(100, 1, OTHER, "process", 100, "train.py")
    child = Described(200, 100, OTHER, "process", 200, "serve.py")
    stacks = {parent: (*LOOP[:-1], asks, join), child: ELSEWHERE}
    waits = {200: (KernelWait("MainThread", READ, (100,), is_whole=True),)}
    told = ProcessReading(awaits=(AwaitChain(RUNS, 1, ("Task-1",), (asks,), ""),))
    outside = verdict_on(stacks, waits=waits)
    assert outside.kind is Kind.WAIT_CHAIN
    assert verdict_on(stacks, waits=waits, reading=told) == outside


def test_ranks_at_one_line_without_one_that_was_not_seen_leave_a_doubt() -> None:
    assert verdict_on({rank(0): REDUCES, rank(1): REDUCES}, is_whole=False).kind is Kind.UNKNOWN
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    assert verdict_on(stacks).kind is Kind.TRANSPORT


def test_mismatch_in_one_world_is_named_while_another_makes_progress() -> None:
    critics = [each._replace(group="critic.py", pid=each.pid + 50) for each in map(rank, range(2))]
    world = {rank(0): REDUCES, rank(1): REDUCES, rank(2): GATHERS}
    stacks = {**world, **dict.fromkeys(critics, REDUCES)}
    reading = verdict_on(stacks, wakes=(0, 0, 0, 5, 5), is_whole=False)
    assert (reading.kind, str(reading.culprits)) == (Kind.COLLECTIVE_MISMATCH, "2")


def test_world_that_only_waits_is_not_named_while_another_makes_progress() -> None:
    others = [each._replace(group="policy.py", pid=each.pid + 50) for each in map(rank, range(2))]
    waiting = {rank(0): REDUCES, rank(1): REDUCES, rank(2): ELSEWHERE}
    stacks = {**waiting, **dict.fromkeys(others, REDUCES)}
    assert verdict_on(stacks, wakes=(0, 0, 0, 5, 5), is_whole=False).kind is Kind.SLOW


def test_process_that_a_tool_stops_for_a_moment_is_not_in_a_debugger() -> None:
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    assert verdict_on(stacks, states="SSt").kind is Kind.TRANSPORT
    assert verdict_on(stacks, states="ttt").kind is Kind.DEBUGGER


def test_function_of_a_step_that_releases_something_is_not_a_cleanup() -> None:
    releases = (PythonFrame("fit", TRAINER, 9), PythonFrame("release_cache", TRAINER, 50))
    stacks = {rank(0): REDUCES, rank(1): REDUCES, rank(2): releases}
    assert verdict_on(stacks).kind is Kind.STRAGGLER


def test_rank_that_evaluates_on_the_cpu_is_not_in_another_collective(tmp_path: Path) -> None:
    script = tmp_path / "evaluate.py"
    script.write_text("out.append(model(x).cpu())\n")
    evaluates = (PythonFrame("evaluate", str(script), 1),)
    stacks = {rank(0): evaluates, rank(1): REDUCES, rank(2): REDUCES}
    assert verdict_on(stacks, cores=(1, 0, 0)).kind is Kind.UNKNOWN


def test_ranks_in_different_named_groups_leave_a_doubt(tmp_path: Path) -> None:
    script = tmp_path / "parallel.py"
    script.write_text("dist.all_reduce(x, group=tp)\ndist.all_gather(y, x, group=dp)\n")
    frames = [
        (PythonFrame("fit", str(script), line), PythonFrame(call, TORCH, 3000))
        for line, call in ((1, "all_reduce"), (2, "all_gather"))
    ]
    assert verdict_on({rank(0): frames[0], rank(1): frames[0], rank(2): frames[1]}).kind is (
        Kind.UNKNOWN
    )


def test_only_rank_in_a_collective_of_a_dtensor_is_in_another_than_those_at_a_barrier() -> None:
    """As `get_model_state_dict` on one rank alone (torch 2.13)."""
    folder = "/venv/lib/python3.11/site-packages/torch/distributed"
    gathers = (
        PythonFrame("save", TRAINER, 14),
        PythonFrame("get_model_state_dict", f"{folder}/checkpoint/state_dict.py", 0),
        PythonFrame("_gather_state_dict", f"{folder}/_state_dict_utils.py", 0),
        PythonFrame("DTensor.redistribute", f"{folder}/tensor/_api.py", 0),
        PythonFrame("wait_tensor", f"{folder}/_functional_collectives.py", 0),
    )
    waits = (PythonFrame("main", TRAINER, 37), PythonFrame("barrier", TORCH, 0))
    alone = verdict_on({rank(0): gathers, rank(1): waits, rank(2): waits})
    assert (alone.kind, alone.sentence) == (
        Kind.COLLECTIVE_MISMATCH,
        "Rank 0 waits in get_model_state_dict (train.py:14) while ranks 1-2 wait in barrier (train.py:37).",
    )
    # The group of two ranks may be all of it.
    several = verdict_on({rank(0): gathers, rank(1): gathers, rank(2): waits})
    assert several.kind is Kind.UNKNOWN


def test_flight_recorder_that_advances_shows_that_nothing_hangs() -> None:
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    assert verdict_on(stacks, reading=ProcessReading(advances=True)).kind is Kind.SLOW
    assert verdict_on(stacks, reading=ProcessReading()).kind is Kind.TRANSPORT


def record(started: int, ended: int) -> str:
    counts = {"last_enqueued_collective": started, "last_completed_collective": ended}
    return json.dumps({"entries": [], "pg_status": {"0": counts}})


def test_counters_that_pytorch_serves_are_evidence_without_a_reading_from_inside() -> None:
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    first, second = (record(4, 3),) * 2, (record(5, 4),) * 2
    same = verdict_on(stacks, records=(second, second, second))
    assert (same.kind, same.confidence) == (Kind.TRANSPORT, 0.9)
    late = verdict_on(stacks, records=(second, first, second))
    assert (late.kind, str(late.culprits)) == (Kind.STRAGGLER, "1")
    assert late.sentence.startswith("Rank 1 has not started collective 5 ")
    advancing = verdict_on(stacks, records=((record(4, 3), record(5, 4)),) * 3)
    assert advancing.kind is Kind.SLOW


def test_counter_that_the_slower_thread_of_gloo_wrote_last_is_behind_its_collectives() -> None:
    entries = [
        {
            "is_p2p": False,
            "process_group": ["0", "default_pg"],
            "pg_id": 0,
            "collective_seq_id": number,
            "profiling_name": "gloo:all_reduce",
            "input_sizes": [[1000]],
            "input_dtypes": ["Float"],
            "retired": number < 4,
            "state": "scheduled",
        }
        for number in (2, 3, 4)
    ]
    read = flight_recorder.parse(json.dumps({**json.loads(record(4, 2)), "entries": entries}))
    assert read is not None
    assert read.progress == {"default_pg": flight_recorder.GroupProgress(4, 3)}


@pytest.mark.parametrize("text", ["", "[", "[]", "7", '{"entries": 1}', '{"pg_status": 1}'])
def test_record_that_is_unreadable_is_not_evidence(text: str) -> None:
    stacks = dict.fromkeys(map(rank, range(3)), REDUCES)
    read = verdict_on(stacks, records=((text, text),) * 3)
    assert (read.kind, read.confidence) == (Kind.TRANSPORT, 0.75)
    assert verdict_on(stacks, records=((record(4, 3), text),) * 3).kind is Kind.TRANSPORT


def test_second_half_is_named_where_one_forms_a_group_and_the_other_has_continued() -> None:
    forms = (PythonFrame("fit", TRAINER, 8), PythonFrame("new_group", TORCH, 5000))
    ranks = [rank(number)._replace(world_size=4) for number in range(4)]
    for stacks in ((REDUCES, REDUCES, forms, forms), (forms, forms, REDUCES, REDUCES)):
        reading = verdict_on(dict(zip(ranks, stacks, strict=True)))
        assert (reading.kind, str(reading.culprits)) == (Kind.INITIALIZATION, "2-3")


def record_of_groups(**progress: tuple[int, int]) -> str:
    """The flight recorder of a rank that has started and ended so many collectives of each of its groups."""
    status = {
        name: {"last_enqueued_collective": started, "last_completed_collective": ended}
        for name, (started, ended) in progress.items()
    }
    return json.dumps({"entries": [], "pg_status": status})


def test_rank_that_waits_only_for_one_in_another_group_is_its_victim() -> None:
    waits, done = (1, 0), (1, 1)
    records = (
        record_of_groups(world=(3, 3), first=waits),
        record_of_groups(world=(3, 3), first=(0, 0), other=waits),
        record_of_groups(world=(4, 3), other=(0, 0), last=done),
        record_of_groups(world=(4, 3), last=done),
    )
    ranks = [rank(number)._replace(world_size=4) for number in range(4)]
    reading = verdict_on(
        dict.fromkeys(ranks, REDUCES), records=tuple((each, each) for each in records)
    )
    assert (reading.kind, str(reading.culprits)) == (Kind.WRONG_PROCESS_GROUP, "1")


def test_of_two_ranks_that_wait_for_each_other_in_two_groups_the_second_is_named() -> None:
    waits, none = (1, 0), (0, 0)
    records = (
        record_of_groups(world=(3, 3), first=waits, other=none),
        record_of_groups(world=(3, 3), first=none, other=waits),
        record_of_groups(world=(4, 3)),
        record_of_groups(world=(4, 3)),
    )
    ranks = [rank(number)._replace(world_size=4) for number in range(4)]
    reading = verdict_on(
        dict.fromkeys(ranks, REDUCES), records=tuple((each, each) for each in records)
    )
    assert (reading.kind, str(reading.culprits)) == (Kind.WRONG_PROCESS_GROUP, "1")


PYTHON = "/usr/lib/python3.11"


@pytest.mark.parametrize(
    ("second", "kind"), [(GATHERS, Kind.COLLECTIVE_MISMATCH), (COMPUTES, Kind.STRAGGLER)]
)
def test_processes_of_multiprocessing_are_judged_without_their_parent_and_its_tracker(
    second: tuple[PythonFrame, ...], kind: Kind
) -> None:
    joins = (
        PythonFrame("<module>", TRAINER, 40),
        PythonFrame("_PollLikeSelector.select", f"{PYTHON}/selectors.py", 415),
    )
    tracks = (
        PythonFrame("<module>", "<string>", 1),
        PythonFrame("main", f"{PYTHON}/multiprocessing/resource_tracker.py", 239),
    )
    stacks = {
        Described(pid, parent, OTHER, OTHER, pid, "train.py"): frames
        for pid, parent, frames in (
            (100, 1, joins),
            (101, 100, tracks),
            (102, 100, REDUCES),
            (103, 100, second),
            (104, 100, REDUCES),
        )
    }
    reading = verdict_on(stacks)
    assert (reading.kind, str(reading.culprits)) == (kind, "103")


def test_rank_that_was_not_asked_for_has_not_ended() -> None:
    here = [rank(number)._replace(is_world_here=True) for number in range(2)]
    stacks = dict.fromkeys(here, REDUCES)
    assert verdict_on(stacks).kind is Kind.RANK_DEAD
    assert verdict_on(stacks, workers="Trainer").kind is not Kind.RANK_DEAD


@pytest.mark.parametrize(
    ("why", "meaning"),
    [
        # As Ray 2.60 says it.
        ("The actor is dead because it was killed by `ray.kill`.", "ray.kill ended it"),
        (
            "The actor is dead because its worker process has died. Worker exit type: SYSTEM_ERROR Worker exit detail: …",
            "its process ended unexpectedly: a crash, or no memory left",
        ),
        (
            "Task was killed due to the node running low on memory.",
            "Ray killed it for lack of memory",
        ),
        ("Because of something new. And more.", "Because of something new"),
        ("", "it is dead"),
    ],
)
def test_death_of_an_actor_is_told_in_our_words(why: str, meaning: str) -> None:
    world = World("Policy", ())
    dead = (DeadActor("Policy", "policy-2", 4711, why), DeadActor("Reward", "reward-0", 12, why))
    said = ray_readings.deaths(HangEvidence((), dead=dead), world)
    assert said == f" Ray says of policy-2 (PID 4711): {meaning}."


RUNS_TOOL = (*COMPUTES, PythonFrame("Popen.wait", "/usr/lib/python3.11/subprocess.py", 1264))


@pytest.mark.parametrize(
    ("waits", "state", "core", "moves"),
    [
        (RUNS_TOOL, "R", 1, True),
        (RUNS_TOOL, "S", 0, False),
        # It waits for a CPU each time that it is seen.
        (RUNS_TOOL, "R", 0, True),
        (COMPUTES, "R", 1, False),
    ],
)
def test_process_that_waits_for_a_program_works_while_that_computes(
    waits: tuple[PythonFrame, ...], state: str, core: int, moves: bool
) -> None:
    tool = Described(300, 102, "data loader", "data loader of rank 2", 300, "zstd")
    table = tuple(merged([(Member("train.py", 2), ThreadStack("MainThread", waits))]))
    rounds = tuple(
        Round(
            (
                ProcessSample("S", "do_wait", 0.0, "", "py-spy blocking", False),
                ProcessSample(state, "", 2.0 * at * core, "not-python", "", False),
            ),
            table,
            (),
        )
        for at in range(3)
    )
    taken = evidence([NodeSamples("n1", (rank(2), tool), rounds, 2.0)], 2.0, is_whole=True)
    assert [each.moves for each in taken.processes] == [moves, False]


@pytest.mark.parametrize(("has_ended", "kind"), [(True, Kind.SLOW), (False, Kind.UNKNOWN)])
def test_program_that_starts_one_child_after_another_does_not_hang(
    has_ended: bool, kind: Kind
) -> None:
    build = Described(500, 1, OTHER, OTHER, 500, "build.py")
    compiler = Described(501, 500, OTHER, OTHER, 501, "gcc")
    later = KernelWait("MainThread", CHILD, (502,), is_whole=True, program="gcc")
    table = tuple(merged([(Member(OTHER, 500), ThreadStack("MainThread", RUNS_TOOL))]))
    rounds = tuple(
        Round(
            (
                ProcessSample("S", "do_wait", 0.0, "", "py-spy blocking", False, waits=(later,)),
                ProcessSample(
                    "", "", 0.0, "ended" if has_ended and at else "not-python", "", False
                ),
            ),
            table,
            (),
        )
        for at in range(3)
    )
    node = NodeSamples("n1", (build, compiler), rounds, 2.0)
    reading = diagnosis(evidence([node], 2.0, is_whole=True)).reading
    assert (reading.kind, reading.confidence < 0.5 or has_ended) == (kind, True)


def test_place_of_a_computation_is_in_the_thread_that_has_the_gil() -> None:
    serves = (PythonFrame("<module>", "/home/me/plan.py", 29),)
    client = Described(600, 1, OTHER, OTHER, 600, "ask.py")
    server = Described(601, 600, OTHER, OTHER, 601, "plan.py")
    asks = KernelWait("MainThread", ANSWER, (601,), "127.0.0.1:8000", is_whole=True)
    waits = (PythonFrame("<module>", "/home/me/ask.py", 3),)
    leading = merged(
        [
            (Member(OTHER, 600), ThreadStack("MainThread", waits)),
            (Member(OTHER, 601), ThreadStack("MainThread", serves)),
        ]
    )
    others = merged([(Member(OTHER, 601), ThreadStack("Thread-3", COMPUTES))])
    rounds = tuple(
        Round(
            (
                ProcessSample("S", "", 0.0, "", "py-spy blocking", False, waits=(asks,)),
                ProcessSample(
                    *("S", "", 2.0 * at, "", "py-spy blocking", False),
                    gil_holder="Thread-3" if at else "",
                ),
            ),
            tuple(leading),
            tuple(others),
        )
        for at in range(3)
    )
    node = NodeSamples("n1", (client, server), rounds, 2.0)
    sentence = diagnosis(evidence([node], 2.0, is_whole=True)).reading.sentence
    assert "simulate (train.py:20)" in sentence
    assert "plan.py:29" not in sentence
