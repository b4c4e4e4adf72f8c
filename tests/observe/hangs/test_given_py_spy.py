"""Dumps of py-spy, and of programs that run it; nothing in them is executed."""

from __future__ import annotations

import io
import json
from collections.abc import Callable

import pytest
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.texts import lines

from tests.observe.hangs.given_dumps import (
    BARRIER,
    PY_SPY,
    SAVE,
    dumps_in,
    given,
    process,
    stacks,
)


def test_threads_of_py_spy_have_their_frames_without_variables() -> None:
    (dump,) = dumps_in(PY_SPY)
    assert (dump.pid, dump.title) == (812, "/opt/python/bin/python train.py --steps 10")
    assert stacks(dump) == {
        "MainThread": [
            "<module> train.py:9",
            "load data.py:20",
            "wait lib/python3/threading.py:327",
        ],
        "writer": [
            "Thread.run lib/python3/threading.py:982",
            "write checkpoint.py:4",
        ],
    }
    assert [(each.is_main, each.holds_gil) for each in dump.threads] == [
        (True, False),
        (False, True),
    ]


def test_json_of_py_spy_and_a_pipe_are_read() -> None:
    frame = {"name": "step", "filename": "/work/train.py", "line": 3, "locals": None}
    thread = {
        "pid": 7007,
        "thread_name": "MainThread",
        "os_thread_id": 7007,
        "active": False,
        "owns_gil": False,
        "frames": [frame],
    }
    taken = given("-", stdin=json.dumps([thread]).encode() * 2)
    (row,) = taken.ranks
    assert (row.pid, taken.classes[0].frames[0].function) == (7007, "step")


@pytest.mark.parametrize(
    "title",
    ["sglang::scheduler_PP{n}_TP0", "sglang::scheduler_DP{n}_TP0", "VLLM::Worker_PP{n}_TP0"],
)
def test_stages_and_replicas_of_an_engine_are_processes_of_their_own(title: str) -> None:
    text = process(800, title.format(n=0), *BARRIER) + process(801, title.format(n=1), *SAVE)
    taken = given("-", stdin=text.encode())
    assert [row.pid for row in taken.ranks] == [800, 801]
    assert taken.verdict.kind != "slow"


CUT = """\
    run (threading.py:982)
Thread 815 (idle): "watchdog"
    poll (watchdog.py:20)
    watch (watchdog.py:12)

"""


def test_threads_without_their_process_are_never_the_culprit() -> None:
    sources = GivenFiles(["-"], io.BytesIO((CUT + process(900, "t.py", *BARRIER)).encode()))
    taken = picture_of(sources)
    assert (taken.verdict.kind, taken.verdict.readings) == ("unknown", ())
    assert taken.verdict.sentence.startswith("Process 900 waits in barrier")
    assert "[unknown process 1] watch (watchdog.py:12) > poll (watchdog.py:20)" in list(
        lines(taken)
    )
    assert sources.unread == [
        ("threads of -", "the beginning of a dump is missing, so its process isn't known")
    ]


def test_frames_without_a_head_are_in_the_picture_beside_dumps() -> None:
    frames = "    fetch (a.py:248)\n    main (a.py:289)\n    <module> (a.py:290)\n"
    text = f"Stack of the first:\n\n{frames}\nand of another:\n\n{process(900, 't.py', *SAVE)}"
    taken = given("-", stdin=text.encode())
    assert any(line.endswith("main (a.py:289) > fetch (a.py:248)") for line in lines(taken))
    unreadable = "Process 61204: ray::IDLE\nPython v3.10.13 (/x/python3.10)\n\nError: failed\n"
    taken = given("-", stdin=f"{frames}\n{unreadable}".encode())
    assert any("fetch (a.py:248)" in line for line in lines(taken))
    assert [each.rank for each in taken.coverage.unseen] == [61204]


def test_json_of_py_spy_between_prompts_and_fences_is_read() -> None:
    def dumped(pid: int, line: int) -> str:
        frame = {"name": "step", "filename": "/work/train.py", "line": line, "locals": None}
        names = {"pid": pid, "thread_name": "MainThread", "os_thread_id": pid}
        thread = {**names, "active": False, "owns_gil": False, "frames": [frame]}
        return json.dumps([thread], indent=2)

    text = "".join(
        f"$ kubectl exec train-{n} -- py-spy dump --json --pid 1\n```json\n{dumped(1, n)}\n```\n"
        for n in range(2)
    )
    mixed = f"{text}{process(900, 't.py', *BARRIER)}{dumped(7, 3)[:-30]}"
    sources = GivenFiles(["-"], io.BytesIO(mixed.encode()))
    taken = picture_of(sources)
    assert [(row.pid, row.group) for row in taken.ranks] == [
        (1, "process (train-0)"),
        (1, "process (train-1)"),
        (900, "t.py"),
    ]
    assert sources.unread == [("-", "damaged")]


def test_numbers_that_count_lines_tell_no_processes_apart() -> None:
    lines = process(900, "t.py", *BARRIER).splitlines()
    (dump,) = dumps_in("\n".join(f"{n}:{line}" for n, line in enumerate(lines, 118)))
    assert len(stacks(dump)["MainThread"]) == 3


@pytest.mark.parametrize(
    "change",
    [
        lambda text: text.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;"),
        lambda text: text.replace("Thread 900 (", "Thread ("),
        lambda text: text.replace("    step", "    ...\n    step"),
        lambda text: text.replace("    barrier", "    wait → get\n    barrier"),
    ],
    ids=["escaped", "without ids", "dots", "arrow"],
)
def test_dumps_that_people_have_changed_are_read(change: Callable[[str], str]) -> None:
    (dump,) = dumps_in(change(process(900, "t.py", *BARRIER)))
    assert [frame.split()[0] for frame in stacks(dump)["MainThread"]] == [
        "<module>",
        "step",
        "barrier",
    ]


def test_process_that_ray_could_not_read_is_listed() -> None:
    text = (
        "Stack dump for ubuntu   376201  1.8  1.0 22599752 709792 pts/51 SNl+ 08:52   3:09 ray::Act.f\n"
        "Error: Failed to find python version\n"
        "Stack dump for ubuntu   376202  1.8  1.0 22599752 709792 pts/51 SNl+ 08:52   3:09 ray::Act.f\n"
    ) + process(376202, "ray::Act.f", *SAVE)
    taken = given("-", stdin=text.encode())
    assert [row.pid for row in taken.ranks] == [376201, 376202]
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(376201, "not-python")]


def test_threads_besides_the_main_one_are_in_the_picture() -> None:
    text = process(900, "t.py", "join (threading.py:9)", "main (t.py:8)") + "".join(
        f'Thread {900 + n} (idle): "{name}"\n    get (queue.py:7)\n    {frame}\n'
        for n, name, frame in [
            (1, "a", "work (w.py:3)"),
            (2, "b", "work (w.py:3)"),
            (3, "grpc", ""),
        ]
    )
    taken = given("-", stdin=text.encode())
    assert [(each.thread, each.doing) for each in taken.threads] == [("a, b", ""), ("grpc", "")]
    assert "[900] a, b: work (w.py:3) > get (queue.py:7)" in list(lines(taken))


def test_native_frames_are_listed_and_not_judged() -> None:
    text = process(900, "t.py", "poll (libc.so.6)", "ncclWait (libnccl.so.2)", *BARRIER)
    taken = given("-", stdin=text.encode())
    assert taken.classes[0].frames[-1].function == "barrier"
    assert [(each.function, each.library) for each in taken.native[0].frames] == [
        ("ncclWait", "libnccl.so.2"),
        ("poll", "libc.so.6"),
    ]


@pytest.mark.parametrize(
    ("titles", "groups"),
    [
        (["sglang::scheduler_DP0_TP0", "sglang::scheduler_DP1_TP1"], {"sglang::scheduler"}),
        (["sglang::scheduler_DP0_TP0", "sglang::scheduler_DP1_TP0"], {"sglang::scheduler_DP0", "sglang::scheduler_DP1"}),
    ],
)  # fmt: skip
def test_data_parallel_attention_is_one_world(titles: list[str], groups: set[str]) -> None:
    text = "".join(process(800 + n, title, *BARRIER) for n, title in enumerate(titles))
    taken = given("-", stdin=text.encode())
    assert {row.group for row in taken.ranks} == groups
    assert taken.coverage.unseen == ()


def test_process_that_sglang_could_not_dump_is_listed() -> None:
    text = "Pyspy failed to dump PID 5512. Error: Operation not permitted\n" + process(
        5510, "sglang::scheduler_TP0", *BARRIER
    )
    taken = given("-", stdin=text.encode())
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(5512, "permission")]


CUT_MAIN = 'Process 12: python t.py\nPython v3.11.9\n\nThread 12 (active): "MainThread"\n'


HELPER = 'Thread 99 (idle): "writer"\n    save (t.py:7)\n'


@pytest.mark.parametrize(
    ("dump", "reason"),
    [
        (CUT_MAIN, "cut"),
        (CUT_MAIN.replace("Thread 12", HELPER + "Thread 12"), "cut"),
        (
            "Process 12: python t.py\nPython v3.11.9\n\nError: Failed\nReason: EPERM: Operation not permitted\n",
            "permission",
        ),
    ],
)
def test_rank_without_frames_of_its_main_thread_does_not_count_as_waiting(
    dump: str, reason: str
) -> None:
    dumps = (process(10, "python t.py", *SAVE), process(11, "python t.py", *BARRIER), dump)
    text = "\n".join(f"rank {n}:\n{each}" for n, each in enumerate(dumps))
    taken = given("-", stdin=text.encode())
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(2, reason)]
    assert taken.verdict.sentence.startswith("Rank 1 waits in barrier (t.py:5), and rank 0 is")
    assert taken.verdict.culprits == "0"
