"""Stacks that others have dumped: each form alone, and mixed with the lines of a log; nothing in them is executed."""

from __future__ import annotations

import gzip
import io
import json
import pickle
import tarfile
import zipfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from eagleray.cli.next_steps import terminal_step
from eagleray.common.errors import EaglerayError
from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.pasted.dumps_in_text import DumpedProcess, dumps_in_lines
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of
from eagleray.observe.hangs.texts import lines

# Dumps of py-spy 0.4.3 of ranks with torch 2.13 (`tests/programs/hangs/trainer.py`), and of PyTorch's flight recorder.
GIVEN = Path(__file__).with_name("given")

PY_SPY = """\
Process 812: /opt/python/bin/python train.py --steps 10
Python v3.11.7 (/opt/python/bin/python3.11)

Thread 812 (idle): "MainThread"
    wait (threading.py:327)
    load (data.py:20)
        Arguments:
            self: <Loader at 0x7f1>
        Locals:
            path: "x (y:3)"
    <module> (train.py:9)
Thread 815 (active+gil): "writer"
    pthread_cond_wait (libc.so.6)
    write (checkpoint.py:4)
    Thread.run (threading.py:982)
"""
# Python 3.11, and with the names that Python 3.14 adds.
FAULTHANDLER = """\
Timeout (0:00:01)!
Thread 0x00007fa2ab1a56c0 (most recent call first):
  File "/work/hang.py", line 3 in work
  File "/opt/python/lib/python3.11/threading.py", line 982 in run

Thread 0x00007fa2abc03b80{name} (most recent call first):
  File "/work/hang.py", line 8 in <module>
"""
GDB = """\
Thread 2 (Thread 0x7f2a4bfff640 (LWP 4243) "python3"):
Traceback (most recent call first):
  <built-in method acquire of _thread.lock object at remote 0x7f2a50a0c0>
  File "/work/load.py", line 31, in fetch
    return (self.lock.acquire())
  File "/usr/lib/python3.10/threading.py", line 953, in run
    self._target(*self._args, **self._kwargs)

Thread 1 (Thread 0x7f2a51d3c1c0 (LWP 4242) "python3"):
Traceback (most recent call first):
  File "/work/train.py", line 12, in <module>
    thread.join()
"""


def dumps_in(text: str) -> Iterator[DumpedProcess]:
    return dumps_in_lines(text.splitlines(), deque())


def stacks(dump: DumpedProcess) -> dict[str, list[str]]:
    return {
        thread.name: [f"{frame.function} {frame.file}:{frame.line}" for frame in thread.frames]
        for thread in dump.threads
    }


def given(*paths: Path | str, stdin: bytes = b"") -> Picture:
    return picture_of(GivenFiles([str(path) for path in paths], io.BytesIO(stdin)))


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


@pytest.mark.parametrize("name", ["", " [train]"])
def test_main_thread_of_faulthandler_is_the_last(name: str) -> None:
    (dump,) = dumps_in(FAULTHANDLER.format(name=name))
    assert [each.is_main for each in dump.threads] == [False, True]
    assert stacks(dump)[name.strip(" []") or "MainThread"] == ["<module> /work/hang.py:8"]


def test_threads_of_gdb_have_no_lines_of_source_among_their_frames() -> None:
    (dump,) = dumps_in(GDB)
    assert [[frame.function for frame in each.frames] for each in dump.threads] == [
        ["run", "fetch", "lock 0x7f2a50a0c0.acquire"],
        ["<module>"],
    ]


@pytest.mark.parametrize(
    ("prefix", "rank", "pid", "host"),
    [
        ("[rank3]: ", 3, 0, ""),
        ("[default1]:", 1, 0, ""),
        ("(Trainer pid=77, ip=10.0.0.7) ", None, 77, "10.0.0.7"),
        ("\x1b[36m(Trainer pid=77)\x1b[0m ", None, 77, ""),
        ("2026-01-02 03:04:{n:02} INFO [rank2] ", 2, 0, ""),
        ("> ", None, 0, ""),
        ("worker-0  | ", None, 0, ""),
    ],
)
@pytest.mark.parametrize("text", [PY_SPY, FAULTHANDLER.format(name="")])
def test_prefix_of_a_log_is_learned_from_the_head_of_a_dump(
    text: str, prefix: str, rank: int | None, pid: int, host: str
) -> None:
    (plain,) = dumps_in(text)
    lines = [prefix.format(n=n) + line for n, line in enumerate(text.splitlines())]
    (dump,) = dumps_in("\n".join(["Epoch 1 (step:3)", *lines, "other (x.py:3)"]))
    assert stacks(dump) == stacks(plain)
    assert (dump.tags.rank, dump.tags.pid, dump.tags.host) == (rank, pid, host)


def test_lines_of_several_ranks_may_be_mixed() -> None:
    parts = [[f"[rank{rank}]: {line}" for line in PY_SPY.splitlines()] for rank in range(3)]
    mixed = "\n".join(line for lines in zip(*parts, strict=True) for line in lines)
    (plain,) = dumps_in(PY_SPY)
    dumps = list(dumps_in(mixed))
    assert [each.tags.rank for each in dumps] == [0, 1, 2]
    assert all(stacks(each) == stacks(plain) for each in dumps)


def test_one_dump_says_no_more_than_it_can() -> None:
    taken = given(*sorted(GIVEN.glob("straggler.*")))
    verdict = taken.verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("straggler", "2", 0.6)
    assert "does not move" not in verdict.sentence and "one dump" in verdict.sentence
    assert taken.coverage.samples == 0


def test_second_dump_shows_what_does_not_move(tmp_path: Path) -> None:
    for file in GIVEN.glob("straggler.*"):
        (tmp_path / f"{file.stem}.txt").write_text(file.read_text() * 2)
    verdict = given(tmp_path).verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("straggler", "2", 0.8)
    assert "does not move in Trainer.load_checkpoint (trainer.py:72)" in verdict.sentence


def test_rank_that_waits_for_a_server_may_still_get_its_answer(tmp_path: Path) -> None:
    for file in GIVEN.glob("straggler.*"):
        request = "readinto (socket.py:706)\n    begin (http/client.py:318)"
        waits = "Condition.wait (threading.py:327)\n    Event.wait (threading.py:629)"
        (tmp_path / f"{file.stem}.txt").write_text(file.read_text().replace(waits, request) * 2)
    verdict = given(tmp_path).verdict
    assert (verdict.kind, verdict.culprits, verdict.confidence) == ("straggler", "2", 0.6)
    assert "for rank 2, which waits in Trainer.load_checkpoint (trainer.py:72)" in verdict.sentence
    assert "an answer over the network" in verdict.sentence


def test_ranks_in_different_collectives_are_named() -> None:
    verdict = given(*GIVEN.glob("mismatch.*")).verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1,3")


def test_flight_recorders_alone_name_the_rank_that_is_late() -> None:
    taken = given(*GIVEN.glob("nccl_trace_rank_*"))
    assert taken.verdict.culprits == "1"
    assert "Rank 1 has not started collective 4 (all_reduce)" in taken.verdict.sentence
    # Where the one that waits has started it.
    (waiting,) = taken.classes
    assert waiting.frames[0].path.endswith("frd.py")


def test_missing_rank_of_a_group_is_listed() -> None:
    taken = given(GIVEN / "nccl_trace_rank_0")
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(1, "not-given")]


class Bomb:
    def __reduce__(self) -> tuple[object, ...]:
        return exec, ("raise SystemExit('executed')",)


def test_pickle_that_imports_is_not_a_flight_recorder(tmp_path: Path) -> None:
    bomb = tmp_path / "nccl_trace_rank_0"
    bomb.write_bytes(pickle.dumps({"entries": [], "x": Bomb()}))
    with pytest.raises(EaglerayError) as raised:
        given(bomb)
    assert raised.value.code == "no-stacks"


def archive_of(folder: Path, kind: str) -> Path:
    path = folder / f"dumps.{kind}"
    files = sorted(GIVEN.glob("mismatch.*"))
    if kind == "zip":
        with zipfile.ZipFile(path, "w") as packed:
            for file in files:
                packed.write(file, file.name)
    elif kind == "tgz":
        with tarfile.open(path, "w:gz") as tar:
            for file in files:
                tar.add(file, file.name)
    else:
        text = "".join(
            f"[rank{rank}]: {line}\n"
            for rank, file in enumerate(files)
            for line in file.read_text().splitlines()
        )
        path.write_bytes(gzip.compress(text.encode("utf-16" if kind == "utf16.gz" else "utf-8")))
    return path


@pytest.mark.parametrize("kind", ["zip", "tgz", "log.gz", "utf16.gz"])
def test_archives_and_encodings_are_read(tmp_path: Path, kind: str) -> None:
    verdict = given(archive_of(tmp_path, kind)).verdict
    assert (verdict.kind, verdict.culprits) == ("collective-mismatch", "1,3")


def test_damaged_archive_is_said_beside_what_was_read(tmp_path: Path) -> None:
    whole = archive_of(tmp_path, "zip")
    cut = tmp_path / "cut.tgz"
    cut.write_bytes(archive_of(tmp_path, "tgz").read_bytes()[:200])
    sources = GivenFiles([str(whole), str(cut)])
    assert picture_of(sources).verdict.kind == "collective-mismatch"
    assert sources.unread == [(str(cut), "damaged")]


def test_file_beyond_the_limit_is_listed_beside_its_beginning() -> None:
    files = GivenFiles(["-"], io.BytesIO(b"0123456789"), room=4)
    assert [file.content for file in files] == [b"0123"]
    assert files.unread == [("-", "only its beginning was read")]


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


def test_text_without_stacks_is_an_error() -> None:
    with pytest.raises(EaglerayError) as raised:
        given("-", stdin=b"Traceback (most recent call last):\n  nothing (here:3)\n")
    assert raised.value.code == "no-stacks"
    assert "eagleray doctor" in terminal_step(raised.value.code, raised.value.next_step)


def process(pid: int, title: str, *frames: str, thread: int = 0) -> str:
    """As py-spy writes a process; `frames` are named inside out."""
    lines = "".join(f"    {frame}\n" for frame in frames)
    return f'Process {pid}: {title}\n\nThread {thread or pid} (idle): "MainThread"\n{lines}\n'


BARRIER = (
    "barrier (torch/distributed/distributed_c10d.py:9)",
    "step (t.py:5)",
    "<module> (t.py:9)",
)
SAVE = ("save (t.py:7)", "<module> (t.py:9)")


@pytest.mark.parametrize(
    ("titles", "numbers"),
    [
        (["scheduler_PP0_TP0", "scheduler_PP0_TP1", "scheduler_PP1_TP0"], [0, 1, 2]),
        (["scheduler_PP1", "scheduler_PP2"], [1, 2]),
        (["scheduler_TP0_EP0", "scheduler_TP1_EP1"], [0, 1]),
    ],
)
def test_stages_of_an_engine_are_numbered_as_one_world(
    titles: list[str], numbers: list[int]
) -> None:
    text = "".join(process(800 + at, f"sglang::{each}", *BARRIER) for at, each in enumerate(titles))
    taken = given("-", stdin=text.encode())
    assert [(row.group, row.rank) for row in taken.ranks if row.pid] == [
        ("sglang::scheduler", number) for number in numbers
    ]


def test_stages_of_an_engine_may_be_in_different_collectives() -> None:
    gather = ("all_gather (torch/distributed/distributed_c10d.py:7)", *BARRIER[1:])
    dumps = [
        process(800 + 2 * stage + rank, f"sglang::scheduler_PP{stage}_TP{rank}", *frames)
        for stage, frames in enumerate((BARRIER, gather))
        for rank in range(2)
    ]
    assert given("-", stdin="".join(dumps).encode()).verdict.kind == "unknown"


@pytest.mark.parametrize(
    "title",
    ["sglang::scheduler_PP{n}_TP0", "sglang::scheduler_DP{n}_TP0", "VLLM::Worker_PP{n}_TP0"],
)
def test_stages_and_replicas_of_an_engine_are_processes_of_their_own(title: str) -> None:
    text = process(800, title.format(n=0), *BARRIER) + process(801, title.format(n=1), *SAVE)
    taken = given("-", stdin=text.encode())
    assert [row.pid for row in taken.ranks] == [800, 801]
    assert taken.verdict.kind != "slow"


def test_processes_of_containers_with_one_pid_do_not_move_from_one_stack_to_the_other(
    tmp_path: Path,
) -> None:
    dumps = [process(1, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    for number, dump in enumerate(dumps):
        (tmp_path / f"pod-{number}").mkdir()
        (tmp_path / f"pod-{number}" / "stack.txt").write_text(dump)
    for taken in (given(tmp_path), given("-", stdin="== next ==\n".join(dumps).encode())):
        assert len(taken.ranks) == 2
        assert (taken.verdict.kind, taken.verdict.confidence) == ("straggler", 0.6)
    actors = [f"(Trainer pid=812, ip=10.0.0.{n}) " for n in (7, 8)]
    text = "".join(
        prefix + line + "\n"
        for prefix, dump in zip(actors, dumps, strict=True)
        for line in dump.splitlines()[2:-1]
    )
    assert [row.node for row in given("-", stdin=text.encode()).ranks] == ["10.0.0.7", "10.0.0.8"]


def test_timer_of_faulthandler_dumps_one_process_again() -> None:
    dump = FAULTHANDLER.format(name="")
    (row,) = given("-", stdin=(dump * 2).encode()).ranks
    assert row.role == "process"
    (row,) = given("-", stdin=f"Epoch 1:\n{dump}Saving model:\n{dump}".encode()).ranks
    # Two processes may have threads of the same ids, as a fork has.
    assert len(given("-", stdin=(dump.partition("\n")[2] * 2).encode()).ranks) == 2


@pytest.mark.parametrize(
    ("heading", "role"),
    [
        ("=== Rank {n}: http://node{n}:4118 ===", "rank"),
        ("rank {n}:", "rank"),
        ("**Rank {n}**", "rank"),
        ("$ kubectl exec train-{n} -- py-spy dump --pid 512", "process"),
        ("root@node-{n}:/app# py-spy dump --pid 512", "process"),
        ("$ ssh node{n} gdb -p 512 -ex py-bt", "process"),
        ("### trainer-{n}", "process"),
        ("docker exec trainer_{n} py-spy dump --pid 512", "process"),
        ("(base) me@node-{n}:~$ py-spy dump --pid 512", "process"),
        ("node{n}% py-spy dump --pid 512", "process"),
        ("==> train-{n}.log <==", "process"),
        ("on node {n}, host gpu-{n}", "process"),
        ("And this is what the trainer of rank 5 on node-{n} does:", "process"),
    ],
)
def test_headings_tell_processes_with_one_pid_apart(heading: str, role: str) -> None:
    dumps = [process(512, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    text = "".join(f"{heading.format(n=n)}\n{dump}\n" for n, dump in enumerate(dumps))
    taken = given("-", stdin=text.encode())
    assert [(row.role, row.rank) for row in taken.ranks] == [(role, 0), (role, 1)]
    assert (taken.verdict.kind, taken.verdict.culprits) == ("straggler", "1")


@pytest.mark.parametrize(
    "headings",
    [
        ("First dump:", "10 seconds later:"),
        ("$ py-spy dump --pid 512", "$ sleep 30; sudo py-spy dump -p 512 --native"),
        ("### Sample 1 (02:17:00)", "### Sample 2 (02:17:30)"),
        ("", "Dumped again:"),
        ("# t=0", "# t=30s"),
        ("loss 3.25", "loss 3.01"),
        ("2026-01-03 10:00:00 INFO saving", "2026-01-03 10:05:00 INFO loading data"),
        ("first:", "30 s later, same pids:"),
        ("node-1:", "after 30s, still running:"),
        ("", "and again, both ranks:"),
    ],
)
def test_headings_of_later_dumps_tell_no_processes_apart(headings: tuple[str, str]) -> None:
    dump = process(512, "python t.py", *SAVE)
    text = "".join(f"{heading}\n{dump}\n" for heading in headings)
    assert [row.pid for row in given("-", stdin=text.encode()).ranks] == [512]


def test_rank_that_torch_could_not_ask_is_listed() -> None:
    """The form of `torch.distributed.debug` (torch 2.13)."""
    dump = FAULTHANDLER.format(name="").partition("\n")[2]
    parts = [
        "PARTIAL DATA: 2/3 workers responded\n  Rank 0: Timeout: 60\n",
        "Error: 408\n",
        dump,
        dump,
    ]
    text = parts[0] + "".join(
        f"=== Rank {rank}: http://gpu-a:4118{rank} ===\n{part}\n"
        for rank, part in enumerate(parts[1:])
    )
    taken = given("-", stdin=text.encode())
    assert [row.rank for row in taken.ranks] == [0, 1, 2]
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(0, "not-given")]


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


@pytest.mark.parametrize("width", [44, 50, 57, 61, 72])
@pytest.mark.parametrize(
    "text",
    [
        process(
            3303,
            "/usr/bin/python3 -u /workspace/megatron/pretrain_gpt.py --layers 32",
            "wait (torch/distributed/distributed_c10d.py:2791)",
            "_communicate (/workspace/megatron/core/pipeline/p2p_communication.py:401)",
            "forward_backward_pipelining_without_interleaving (/workspace/megatron/schedules.py:2140)",
        ),
        'Thread 0x00007fa2ab1a56c0 (most recent call first):\n  File "/workspace/megatron/core/pipeline/p2p.py", line'
        ' 4012 in _communicate\n  File "/workspace/megatron/train.py", line 9 in <module>\n',
    ],
    ids=["py-spy", "faulthandler"],
)
def test_lines_that_a_terminal_has_wrapped_are_joined(text: str, width: int) -> None:
    wrapped = [
        line[at : at + width]
        for line in text.splitlines()
        for at in range(0, max(len(line), 1), width)
        if len(line) > 52 or at == 0
    ]
    if "most recent" in text:
        wrapped[:1] = [text.splitlines()[0]]
        del wrapped[1 : wrapped.index(next(each for each in wrapped if each.startswith("  File")))]
    (plain,), (dump,) = dumps_in(text), dumps_in("\n".join(wrapped))
    assert (stacks(dump), dump.pid) == (stacks(plain), plain.pid)
    assert dump.title.replace(" ", "") == plain.title.replace(" ", "")


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


def test_rank_that_its_own_watchdog_has_aborted_is_not_the_cause() -> None:
    failed = "[PG ID 0 PG GUID 0(default_pg) Rank {rank}]  failure detected by watchdog at work sequence id: 7 PG status: "
    counters = "last enqueued work: {started}, last completed work: 6"
    text = "".join(
        f"[rank{rank}]:[E507 11:02:41 ProcessGroupNCCL.cpp:2241] {(failed + counters).format(rank=rank, started=started)}\n"
        for rank, started in enumerate((8, 6))
    ) + (
        "[rank0]: Fatal Python error: Aborted\n[rank0]: \n"
        "[rank0]: Thread 0x07 (most recent call first):\n[rank0]:   <no Python frame>\n[rank0]: \n"
        "[rank0]: Thread 0x08 (most recent call first):\n"
        '[rank0]:   File "/p/torch/cuda/__init__.py", line 1083 in synchronize\n'
        '[rank0]:   File "/app/train.py", line 90 in <module>\n'
    )
    taken = given("-", stdin=text.encode())
    assert (taken.verdict.kind, taken.verdict.culprits) == ("straggler", "1")
    assert "[0]: <no Python frame> (<built-in>)" in list(lines(taken))


def test_backward_pass_that_runs_does_not_wait_for_other_ranks() -> None:
    backward = ("_engine_run_backward (torch/autograd/graph.py:7)", "step (t.py:5)")
    for state, kind in (("active", "unknown"), ("idle", "straggler")):
        text = process(800, "[rank0] t.py", *backward) + process(801, "[rank1] t.py", *SAVE)
        taken = given("-", stdin=text.replace("(idle)", f"({state})").encode())
        assert taken.verdict.kind == kind


def test_end_of_a_with_block_proves_no_exception() -> None:
    """As `GatheredParameters` of DeepSpeed, which broadcasts at its end."""
    ends = (
        BARRIER[0],
        "__exit__ (deepspeed/runtime/zero/partition_parameters.py:25)",
        "step (t.py:5)",
    )
    text = process(800, "t.py", *SAVE) + process(801, "t.py", *ends)
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("straggler", "800")
    assert "exception" not in verdict.sentence


def test_actors_of_several_classes_may_be_in_different_groups() -> None:
    c10d = "torch/distributed/distributed_c10d.py:9"
    text = "".join(
        process(pid, f"ray::{title}", f"{call} (x.py:3)", "main (a.py:9)").replace(
            "(x.py:3)", place
        )
        for pid, title, call, place in [
            (2101, "Policy.fit", "broadcast", f"({c10d})"),
            (2102, "Policy.fit", "all_gather", f"({c10d})"),
            (771, "Engine.update", "broadcast", f"({c10d})"),
            (772, "Engine.generate", "generate", "(engine.py:8)"),
        ]
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.group, verdict.culprits) == ("straggler", "Engine", "772")
    alone = text.partition("Process 771")[0]
    assert given("-", stdin=alone.encode()).verdict.kind == "collective-mismatch"


def test_native_backtrace_of_gdb_is_in_the_picture() -> None:
    text = (
        "(gdb) bt\n#0  __lll_lock_wait () at ../sysdeps/lowlevellock.S:135\n"
        "#1  0x00007fc733b1b7b1 in __kmp_lock_suspend_mx () from /x/libiomp5.so\n"
        "#2  0x00007fc70f72ee95 in at::set_num_threads(int) () from /x/libtorch_cpu.so\n"
    )
    taken = given("-", stdin=(process(900, "t.py", *BARRIER) + text).encode())
    assert taken.verdict.sentence.startswith("Process 900 waits in barrier")
    assert (
        "[unknown process 2] at::set_num_threads(int) (libtorch_cpu.so) > __kmp_lock_suspend_mx (libiomp5.so)"
        " > __lll_lock_wait (lowlevellock.S)" in list(lines(taken))
    )
    (row,) = given("-", stdin=f"$ gdb -p 7740\n{text}".encode()).ranks
    assert row.pid == 7740


def test_threads_of_pystack_have_their_names() -> None:
    worker = PYSTACK.replace("2204 (python3.12)", "2209 (req-worker)").replace("<module>", "run")
    main = PYSTACK.replace("<module>", "start")
    taken = given("-", stdin=f"$ pystack remote --locals 2204\n{worker}\n{main}".encode())
    assert [row.pid for row in taken.ranks] == [2204]
    assert [each.thread for each in taken.threads] == ["req-worker"]


@pytest.mark.parametrize(
    "prefix", ["{n}: ", "[1,{n}]<stdout>:", "trainer-{n} ", "gpu-1{n}: ", "[rank{n}]: "]
)
def test_mixed_lines_of_processes_are_told_apart_by_any_prefix(prefix: str) -> None:
    dumps = [process(5 + n, "t.py", *each).splitlines() for n, each in enumerate((BARRIER, SAVE))]
    mixed = [
        prefix.format(n=n) + line
        for lines in zip(*(dump[2:5] for dump in dumps), strict=True)
        for n, line in enumerate(lines)
    ]
    found = list(dumps_in("\n".join(mixed)))
    assert sorted(stacks(each)["MainThread"][-1].split()[0] for each in found) == [
        "barrier",
        "save",
    ]


def test_numbers_that_count_lines_tell_no_processes_apart() -> None:
    lines = process(900, "t.py", *BARRIER).splitlines()
    (dump,) = dumps_in("\n".join(f"{n}:{line}" for n, line in enumerate(lines, 118)))
    assert len(stacks(dump)["MainThread"]) == 3


@pytest.mark.parametrize(
    "title", ["torchrun --nproc 8 t.py", "python -m torch.distributed.run t.py", ""]
)
def test_launcher_is_not_a_rank_that_others_wait_for(title: str) -> None:
    agent = ("_invoke_run (torch/distributed/elastic/agent/server/api.py:9)", "main (run.py:3)")
    text = process(900, title or "python t.py", *agent) + process(901, "python t.py", *BARRIER)
    taken = given("-", stdin=text.encode())
    assert [row.role for row in taken.ranks] == ["launcher", "process"]
    assert taken.verdict.kind == "unknown"
    assert taken.verdict.sentence.startswith("Process 901 waits in barrier")


def test_process_that_crashed_is_not_a_straggler() -> None:
    crashed = (
        "Fatal Python error: Segmentation fault\n\n"
        'Current thread 0x07 (most recent call first):\n  File "/a/tok.py", line 3 in send_to\n'
    )
    assert "crashed: " in given("-", stdin=crashed.encode()).verdict.sentence
    waiting = "Thread 0x08 (most recent call first):\n" + "".join(
        f'  File "/v/site-packages/{file}", line {line} in {name}\n'
        for name, file, line in [("barrier", "torch/distributed/distributed_c10d.py", 3)]
    )
    text = "".join(
        f"[rank{rank}]: {line}\n"
        for rank, dump in enumerate((waiting, crashed))
        for line in dump.splitlines()
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("rank-dead", "1")


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


def test_stacks_of_pytest_timeout_begin_with_the_outermost_frame() -> None:
    text = (
        "~~~~~~ Stack of MainThread (139927231104832) ~~~~~~\n"
        '  File "/a/t.py", line 8, in <module>\n    main()\n  File "/a/t.py", line 4, in main\n'
    )
    (dump,) = dumps_in(text)
    assert stacks(dump) == {"MainThread": ["<module> /a/t.py:8", "main /a/t.py:4"]}


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


def test_recorder_without_counters_has_the_counters_of_its_entries(tmp_path: Path) -> None:
    for rank, numbers in enumerate(([1], [1, 2])):
        entries = [
            {
                "pg_id": 0,
                "process_group": ["3", "tp:0"],
                "collective_seq_id": number,
                "profiling_name": "nccl:all_reduce",
                "input_sizes": [[8]],
                "input_dtypes": ["Float"],
                "state": "completed" if number == 1 else "scheduled",
                "retired": number == 1,
                "is_p2p": False,
            }
            for number in numbers
        ]
        (tmp_path / f"nccl_trace_rank_{rank}").write_text(json.dumps({"entries": entries}))
    verdict = given(tmp_path).verdict
    assert verdict.sentence == "Rank 0 has not started collective 2 (all_reduce) of tp:0."


def test_thread_of_the_backward_pass_stands_for_the_one_that_waits_for_it() -> None:
    main = (
        "_engine_run_backward (torch/autograd/graph.py:7)",
        "loop (ft.py:4)",
        "<module> (ft.py:5)",
    )
    hooks = [
        ("partition (z.py:15)",),
        ("all_reduce (torch/distributed/distributed_c10d.py:29)", "reduce (z.py:13)"),
    ]
    text = "".join(
        process(pid, "ft.py", *main)
        + f"Thread {pid}1 (active)\n"
        + "".join(f"    {each}\n" for each in hook)
        + "\n"
        for pid, hook in zip((811, 812), hooks, strict=True)
    )
    verdict = given("-", stdin=text.encode()).verdict
    assert (verdict.kind, verdict.culprits) == ("straggler", "811")


def test_native_frames_are_listed_and_not_judged() -> None:
    text = process(900, "t.py", "poll (libc.so.6)", "ncclWait (libnccl.so.2)", *BARRIER)
    taken = given("-", stdin=text.encode())
    assert taken.classes[0].frames[-1].function == "barrier"
    assert [(each.function, each.library) for each in taken.native[0].frames] == [
        ("ncclWait", "libnccl.so.2"),
        ("poll", "libc.so.6"),
    ]


PYSTACK = """\
Traceback for thread 2204 (python3.12) [Has the GIL] (most recent call last):
    (Python) File "/w/nightly.py", line 96, in <module>
        main()
    (Python) File "/w/nightly.py", line 71, in collect
        gateway.call()
"""
FULL_GDB = """\
#4 Frame 0x7f1a, for file /w/load.py, line 177, in get (self=<Queue at remote 0x7f19>)
    self.not_empty.wait(remaining)
#12 Frame 0x5592, for file /w/train.py, line 412, in train (epoch=31)
"""
OLD_GDB = """\
#2 <built-in method acquire of thread.lock object at remote 0x7f0a>
#4 file '/w/load.py', in 'get'
#12 file '/w/train.py', in 'train'
"""


@pytest.mark.parametrize(
    ("text", "functions"),
    [(PYSTACK, ["<module>", "collect"]), (FULL_GDB, ["train", "get"]), (OLD_GDB, ["train", "get"])],
)
def test_further_forms_are_read(text: str, functions: list[str]) -> None:
    (dump,) = dumps_in(text)
    assert [frame.function for frame in dump.threads[0].frames] == functions


def test_long_chain_keeps_its_inner_end() -> None:
    frames = [f"function_with_a_long_name_{n} (t.py:{n})" for n in range(1, 10)]
    (line,) = [
        line
        for line in lines(given("-", stdin=process(900, "t.py", *frames).encode()))
        if line.startswith("[900]")
    ]
    assert line.endswith("function_with_a_long_name_1 (t.py:1)")
    assert " > … > " in line


def test_rank_between_those_that_were_dumped_is_listed() -> None:
    text = "".join(process(80 + n, f"sglang::scheduler_TP{n}", *BARRIER) for n in (0, 1, 3))
    taken = given("-", stdin=text.encode())
    assert [(each.rank, each.reason) for each in taken.coverage.unseen] == [(2, "not-given")]
    assert taken.verdict.kind == "unknown"


def test_send_and_its_receive_are_not_different_collectives() -> None:
    c10d = "torch/distributed/distributed_c10d.py:9"
    text = "".join(
        process(90 + n, "t.py", f"{call} ({c10d})", "<module> (t.py:3)")
        for n, call in enumerate(("isend", "irecv"))
    )
    assert given("-", stdin=text.encode()).verdict.kind == "unknown"


def test_stages_of_megatron_wait_for_each_other() -> None:
    """A stage isn't late that waits for the message of another one, though it synchronizes with its GPU meanwhile."""
    file = "/opt/megatron/core/pipeline_parallel/p2p_communication.py"
    stages = [
        process(
            900 + rank,
            f"[rank{rank}] train.py",
            "synchronize (/opt/python/lib/python3.11/site-packages/torch/cuda/__init__.py:985)",
            f"_communicate ({file}:380)",
            f"{call} ({file}:{line})",
            "train (train.py:9)",
        )
        for rank, (call, line) in enumerate([("send_forward", 530), ("recv_forward", 493)])
    ]
    verdict = given("-", stdin="".join(stages).encode()).verdict
    assert verdict.kind == "unknown"
    assert "send_forward" in verdict.sentence and "recv_forward" in verdict.sentence


def test_idle_event_loop_of_one_dump_is_not_a_hang() -> None:
    frames = (
        "select (selectors.py:4)",
        "_run_once (asyncio/base_events.py:18)",
        "<module> (s.py:3)",
    )
    taken = given("-", stdin=process(900, "s.py", *frames).encode())
    assert (taken.verdict.kind, taken.verdict.readings) == ("unknown", ())


def test_crash_beside_others_is_told() -> None:
    crash = 'Fatal Python error: Aborted\n\nStack (most recent call first):\n  File "/a/t.py", line 3 in f\n'
    text = crash + "\n" + process(900, "t.py", *BARRIER)
    assert given("-", stdin=text.encode()).verdict.sentence == (
        "Process 1 crashed. Other processes may wait for that."
    )


def test_stack_of_a_single_thread_and_native_frames_of_pystack_are_read() -> None:
    (single,) = dumps_in('Stack (most recent call first):\n  File "/a/t.py", line 3 in f\n')
    assert [frame.function for frame in single.threads[0].frames] == ["f"]
    native = '    (C) File "./x.c", line 3, in dl_iterate_phdr (/usr/lib/libc.so.6)\n'
    (dump,) = dumps_in(PYSTACK + native)
    assert (len(dump.threads[0].frames), dump.natives[0][0].function) == (2, "dl_iterate_phdr")


@pytest.mark.parametrize("as_files", [True, False])
def test_same_pid_on_two_nodes_is_two_processes(tmp_path: Path, as_files: bool) -> None:
    dumps = [process(41877, "python t.py", *frames) for frames in (BARRIER, SAVE)]
    if as_files:
        for node, dump in zip("ab", dumps, strict=True):
            (tmp_path / f"node-{node}.out").write_text(dump)
        taken = given(tmp_path)
    else:
        lines = [f"n0{n}: {line}" for n, dump in enumerate(dumps) for line in dump.splitlines()]
        taken = given("-", stdin="\n".join(lines).encode())
    assert [row.pid for row in taken.ranks] == [41877, 41877]
    assert (taken.verdict.kind, taken.verdict.confidence) == ("straggler", 0.6)


def test_dump_that_is_repeated_in_a_file_is_a_second_sample() -> None:
    text = process(41877, "python t.py", *SAVE) * 2
    (row,) = given("-", stdin=text.encode()).ranks
    assert row.pid == 41877
    (again,) = given("-", stdin=(PYSTACK * 2).encode()).ranks
    assert again.role == "process"


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


def test_process_that_gdb_has_attached_to_has_its_pid() -> None:
    (row,) = given("-", stdin=f"$ gdb -p 7740 -ex py-bt\n{FULL_GDB}".encode()).ranks
    assert row.pid == 7740


def test_damaged_recorder_beside_others_is_named(tmp_path: Path) -> None:
    (tmp_path / "fr_rank2.json").write_text('{"version":"2.5","entries":[{"record_id":0')
    (tmp_path / "nccl_trace_rank_1").write_bytes((GIVEN / "nccl_trace_rank_1").read_bytes()[:200])
    sources = GivenFiles([str(GIVEN / "nccl_trace_rank_0"), str(tmp_path)])
    picture_of(sources)
    assert sources.unread == [
        (str(tmp_path / name), "not a flight recorder")
        for name in ("fr_rank2.json", "nccl_trace_rank_1")
    ]


def test_later_dump_of_a_place_is_told_apart_where_several_were_named() -> None:
    dump = process(512, "python t.py", *SAVE)
    headings = ("alpha:", "beta:", "alpha again, still running:")
    text = "".join(f"{heading}\n{dump}\n" for heading in headings)
    assert len(given("-", stdin=text.encode()).ranks) == 3
    others = f"{dump}\nsame on the other node:\n{dump}"
    assert len(given("-", stdin=others.encode()).ranks) == 2


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


LOOP = (
    "select (selectors.py:468)",
    "_run_once (asyncio/base_events.py:1898)",
    "main (serve.py:6)",
)


@pytest.mark.parametrize("frames", [LOOP, SAVE])
@pytest.mark.parametrize(
    ("title", "is_peer"),
    [
        ("python serve.py", False),
        ("/usr/bin/python3 -m ipykernel_launcher -f k.json", False),
        ("/env/bin/python3.11 -u /work/t.py --steps 3", True),
        ("python3.11", True),
        ("python -c from multiprocessing.spawn import spawn_main; spawn_main()", True),
    ],
)
def test_process_of_another_program_does_not_count_as_a_straggler(
    title: str, is_peer: bool, frames: tuple[str, ...]
) -> None:
    dumps = [process(3301 + n, "python t.py", *BARRIER) for n in range(2)]
    taken = given("-", stdin="".join([*dumps, process(2900, title, *frames)]).encode())
    assert (taken.verdict.kind != "unknown") is is_peer
    assert len(taken.ranks) == 3


@pytest.mark.parametrize(
    "heading", ["### node b (rank 1)", "rank 1 (node b)", "## rank 1 (10.0.0.4)"]
)
def test_heading_with_parentheses_does_not_count_as_a_frame(heading: str) -> None:
    dumps = [process(800 + n, "python t.py", *BARRIER) for n in range(2)]
    taken = given("-", stdin=f"# rank 0\n{dumps[0]}{heading}\n{dumps[1]}".encode())
    assert [(row.role, row.rank) for row in taken.ranks] == [("rank", 0), ("rank", 1)]
    assert [len(each.frames) for each in taken.classes] == [len(BARRIER)]


def sentence_of(*dumps: str) -> tuple[str, str]:
    verdict = given("-", stdin="".join(dumps).encode()).verdict
    return verdict.kind, verdict.sentence


ENGINE = (
    "dequeue (shm_broadcast.py:9)",
    "get_response (vllm/v1/executor/multiproc_executor.py:7)",
    "step (vllm/v1/engine/core.py:3)",
)
WORKER = (
    "poll (zmq/sugar/poll.py:9)",
    "dequeue (shm_broadcast.py:9)",
    "worker_busy_loop (vllm/v1/executor/multiproc_executor.py:5)",
)
POLLS = (
    "recv_requests (sglang/srt/managers/scheduler.py:9)",
    "event_loop_normal (sglang/srt/managers/scheduler.py:5)",
)


def test_engine_that_waits_for_workers_without_work_lacks_a_message() -> None:
    dumps = process(80, "VLLM::EngineCore", *ENGINE), process(81, "VLLM::Worker_TP0", *WORKER)
    assert sentence_of(*dumps) == (
        "wait-chain",
        "Process 80 waits for a message of another worker in dequeue (shm_broadcast.py:9)."
        " Rank 0 waits for work.",
    )


def test_servers_without_requests_do_not_hang() -> None:
    ended = ("run (asyncio/runners.py:3)", "main (server.py:2)")
    dumps = [
        process(80, "server.py", *ended),
        process(81, "VLLM::Worker_TP0", *WORKER),
        process(82, "sglang::scheduler", *POLLS),
    ]
    kind, text = sentence_of(*dumps)
    assert kind == "unknown"
    assert text.startswith("These stacks show no hang: Processes 80 and 82")


def test_polling_rank_of_an_idle_engine_is_not_blamed() -> None:
    dumps = [
        process(80 + rank, f"sglang::scheduler_TP{rank}", *frames)
        for rank, frames in enumerate((POLLS, BARRIER, BARRIER))
    ]
    assert sentence_of(*dumps)[0] == "unknown"


def test_process_that_waits_in_an_event_loop_is_not_blamed_for_a_busy_one() -> None:
    get = ("get (ray/_private/worker.py:9)", "fit (t.py:5)")
    post = ("readinto (socket.py:705)", "call_tool (tool.py:64)")
    taken = given(
        "-",
        stdin=(
            process(80, "ray::Runner.fit", *get) + process(81, "ray::Agent.run", *post)
        ).encode(),
    )
    assert (taken.verdict.kind, taken.verdict.culprits) == ("wait-chain", "81")


def test_locks_are_named_by_their_address_or_source() -> None:
    gdb = (
        'Thread 2 (Thread 0x7f2a4bfff640 (LWP 4243) "python3"):\n'
        "Traceback (most recent call first):\n"
        "  <built-in method __enter__ of _thread.lock object at remote 0x7f49>\n"
        '  File "/w/load.py", line 31, in fetch\n    with self.lock:\n\n'
        'Thread 1 (Thread 0x7f2a51d3c1c0 (LWP 4242) "python3"):\n'
        "Traceback (most recent call first):\n"
        "  <built-in method acquire of _thread.lock object at remote 0x7f49>\n"
        '  File "/w/train.py", line 12, in <module>\n    load()\n'
    )
    kind, text = sentence_of(gdb)
    assert kind == "wait-chain"
    assert text.startswith("Process 4242 waits for the lock 0x7f49 in <module> (train.py:12).")
    assert "A thread waits for the lock 0x7f49 in fetch (load.py:31)." in text
    stack = (
        "Traceback for thread 4242 (python) [] (most recent call last):\n"
        '    (Python) File "/w/cache.py", line 7, in get\n        with self._lock, other.lock:\n'
    )
    assert "waits for the lock self._lock, other.lock in get (cache.py:7)." in sentence_of(stack)[1]


def test_threads_to_which_gdb_switches_are_of_one_process() -> None:
    text = (
        "(gdb) info threads\n"
        '* 1    Thread 0x7f5a0c5c1740 (LWP 917) "python" futex_wait () at futex-internal.h:146\n'
        '  9    Thread 0x7f574bfff640 (LWP 920) "pt_autograd_0" futex_wait () at futex-internal.h:146\n'
        "(gdb) thread apply 1 9 bt\n\n"
        'Thread 1 (Thread 0x7f5a0c5c1740 (LWP 917) "python"):\n'
        "#0  __GI___lll_lock_wait (futex=0x55) at ./nptl/lowlevellock.c:49\n"
        "#1  0x00007f in c10::cuda::malloc(unsigned long) () from /x/libc10_cuda.so\n"
        "--Type <RET> for more, q to quit, c to continue without paging--\n\n"
        'Thread 9 (Thread 0x7f574bfff640 (LWP 920) "pt_autograd_0"):\n'
        "#0  take_gil (tstate=0x7f) at /p/Python/ceval_gil.h:256\n"
        "(gdb) thread 1\n[Switching to thread 1 (Thread 0x7f5a0c5c1740 (LWP 917))]\n(gdb) py-bt\n"
        'Traceback (most recent call first):\n  File "/w/ppo.py", line 31, in grow\n    x = empty(n)\n'
        "(gdb) thread 9\n[Switching to thread 9 (Thread 0x7f574bfff640 (LWP 920))]\n(gdb) py-bt\n"
        "Traceback (most recent call first):\n  Waiting for the GIL\n"
        '  File "/w/ppo.py", line 20, in backward\n    return grad\n(gdb) detach\n'
    )
    (dump,) = dumps_in(text)
    assert dump.pid == 917
    _, sentence = sentence_of(text)
    assert sentence.startswith("Process 917 waits for a lock of native code in grow (ppo.py:31).")
    assert "A thread waits for the GIL in backward (ppo.py:20)." in sentence


def test_attachment_of_gdb_ends_at_the_next_dump() -> None:
    text = f"Attaching to process 900\n{process(70, 't.py', *BARRIER)}\n(gdb) bt\n#0  poll () from /x/libc.so.6\n"
    assert [each.pid for each in dumps_in(text)] == [70, 0]


def test_functions_in_native_code_are_waits_of_a_process() -> None:
    text = "(gdb) bt\n#0  futex_wait () from /x/libc.so.6\n#1  ncclCommInitRank () from /x/libnccl.so.2\n"
    assert "waits for the other ranks of an NCCL communicator" in sentence_of(text)[1]


def test_running_processes_are_not_judged_in_one_dump() -> None:
    dump = process(80, "t.py", "forward (model.py:7)").replace("(idle)", "(active)")
    kind, text = sentence_of(dump)
    assert kind == "unknown"
    assert (
        text == "Process 80 is in forward (model.py:7): whether it moves can't be seen in one dump."
    )


def test_stacks_of_the_kernel_are_read() -> None:
    text = (
        "# for p in 40 41; do echo == $p; cat /proc/$p/stack; done\n== 40\n"
        "[<0>] rpc_wait_bit_killable+0x24/0xa0 [sunrpc]\n[<0>] nfs_file_fsync+0xb2/0x1f0 [nfs]\n"
        "[<0>] do_syscall_64+0x5c/0x90\n== 41\n"
        "[<0>] futex_wait_queue+0x69/0x90\n[<0>] do_syscall_64+0x5c/0x90\n"
    )
    kind, sentence = sentence_of(text)
    assert kind == "wait-chain"
    assert "Process 40 waits for a network file system" in sentence
    assert "Process 41 waits for a lock or another thread" in sentence


def test_workers_of_joblib_without_tasks_wait_for_work() -> None:
    get = (
        "_recv (multiprocessing/connection.py:395)",
        "get (multiprocessing/queues.py:103)",
        "_process_worker (joblib/externals/loky/process_executor.py:428)",
    )
    assert sentence_of(process(80, "t.py", *get))[1].endswith("Process 80 waits for work.")


def test_rank_alone_is_not_taken_for_all_ranks() -> None:
    frames = ("init_process_group (torch/distributed/distributed_c10d.py:9)", "main (t.py:3)")
    kind, sentence = sentence_of(process(80, "t.py", *frames))
    assert kind == "initialization"
    assert sentence == "Process 80 waits for the others to form a process group."


def test_place_of_a_process_without_a_named_wait_is_in_the_sentence() -> None:
    frames = ("backend_compile (jax/_src/compiler.py:321)", "sample (pi.py:40)")
    kind, sentence = sentence_of(process(80, "t.py", *frames))
    assert kind == "unknown"
    assert "Process 80 is in backend_compile (compiler.py:321)" in sentence
