"""Chains of waits between real processes and threads, read from the kernel, the stacks and the source, to their end."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.model import Picture

PROGRAM = Path(__file__).parents[2] / "programs" / "hangs" / "waits.py"
PROCESS = r"[Pp]rocess(es)? [\d-]+(( and|,) [\d-]+)*"

# Kind, and the sentence with P for a process.
EXPECTED = {
    "two_locks": (
        "deadlock",
        r"(reader|writer) waits for self\.\w+ in Cache\.\w+ \(waits\.py:\d+\), which (reader|writer) holds, "
        r"which waits for self\.\w+ in Cache\.\w+ \(waits\.py:\d+\), which (reader|writer) holds: none of them can continue\.",
    ),
    "logging_locks": (
        "deadlock",
        r"MainThread waits for the lock of a log handler in (logging_locks\.<locals>\.)?Opening\.acquire \(waits\.py:\d+\), which trainer holds, "
        r"which waits for the lock of logging in (logging_locks\.<locals>\.)?Opening\.emit \(waits\.py:\d+\), which MainThread holds: "
        r"none of them can continue\.",
    ),
    "import_lock": (
        "deadlock",
        r"MainThread waits for the import of plugin in load \(waits\.py:\d+\), which loader holds, "
        r"which waits for LOCK in take_lock \(waits\.py:\d+\), which MainThread holds: none of them can continue\.",
    ),
    "own_lock": (
        "deadlock",
        r"MainThread waits for LOCK in take_lock \(waits\.py:\d+\), which it holds: it can't continue\.",
    ),
    "held_lock": (
        "wait-chain",
        r"MainThread waits for LOCK in take_lock \(waits\.py:\d+\), which loader holds in ask \(waits\.py:\d+\)\. "
        r"P waits for an answer from P, which sleeps in server \(waits\.py:\d+\)\.",
    ),
    "forked_lock": (
        "deadlock",
        r"P waits for data of P, which waits for a lock in take_lock \(waits\.py:\d+\): "
        r"it has no other thread that could end that\. "
        r"MainThread of P may have held it at the fork\.",
    ),
    "own_server": (
        "deadlock",
        r"P waits for an answer from itself at 127\.0\.0\.1:\d+ in ask \(waits\.py:\d+\): "
        r"it has no other thread that could end that\.",
    ),
    "loop_lock": (
        "deadlock",
        r"P waits for a lock in generate \(waits\.py:\d+\): "
        r"its event loop waits with it, and nothing else can end that\.",
    ),
    "unread_queue": (
        "deadlock",
        r"P waits for the end of P in unread_queue \(waits\.py:\d+\), "
        r"which waits for P to read its data: none of them can continue\.",
    ),
    "full_pipe": (
        "deadlock",
        r"P waits for the end of P in full_pipe \(waits\.py:\d+\), "
        r"which waits for P to read its data in <module> \(<string>:1\): none of them can continue\.",
    ),
    "file_lock": (
        "wait-chain",
        r"P waits for a file lock of P, which sleeps in keep_file \(waits\.py:\d+\)\.",
    ),
    "polled_lock": (
        "wait-chain",
        r"P waits for the lock file /\S+/lock of P, which sleeps in keep_file \(waits\.py:\d+\)\.",
    ),
    "inherited_lock": (
        "wait-chain",
        r"P waits for the lock file /\S+/lock of P, which runs sleep\.",
    ),
    "own_file_lock": (
        "deadlock",
        r"P waits for a file lock in build \(waits\.py:\d+\): it holds that itself\.",
    ),
    "held_lock_file": (
        "wait-chain",
        r"P waits for the lock file /\S+/lock of P, which sleeps in keep_lock_file \(waits\.py:\d+\)\.",
    ),
    "left_lock_file": (
        "wait-chain",
        r"P waits for the lock file /\S+/lock in wait_for_file \(waits\.py:\d+\): "
        r"no process of this machine has it open\.",
    ),
    "polled_file_lock": (
        "wait-chain",
        r"P waits for the lock file /\S+/lock of P, which waits for an answer from P, which sleeps in server \(waits\.py:\d+\)\.",
    ),
    "crossed_file_locks": (
        "deadlock",
        r"P waits for the lock file \S+/[ab]\.lock of P in lock_both \(waits\.py:\d+\), "
        r"which waits for the lock file \S+/[ab]\.lock of P in lock_both \(waits\.py:\d+\): none of them can continue\.",
    ),
    "crossed_lock_files": (
        "wait-chain",
        r"P waits for the lock file \S+/[ab]\.lock of P in make \(waits\.py:\d+\), "
        r"which waits for the lock file \S+/[ab]\.lock of P in make \(waits\.py:\d+\): they seem to wait for each other\.",
    ),
    "unread_output": (
        "deadlock",
        r"P waits for an answer from P in ask \(waits\.py:\d+\), "
        r"which waits for P to read its data in Printer\.answer \(waits\.py:\d+\): none of them can continue\.",
    ),
    "silent_server": (
        "wait-chain",
        r"P waits for the end of P, which waits for an answer from P, which sleeps in server \(waits\.py:\d+\)\.",
    ),
    "dead_producer": (
        "deadlock",
        r"P waits for data that no other process can write in dead_producer \(waits\.py:\d+\)\.",
    ),
    "empty_queue": (
        "deadlock",
        r"P waits for an item of a queue in empty_queue \(waits\.py:\d+\): "
        r"it has no other thread that could end that\.",
    ),
    "fifo": (
        "wait-chain",
        r"P waits for the end of P, which waits for a process that opens the other end of "
        r"the FIFO \S+/lock in read_fifo \(waits\.py:\d+\)\.",
    ),
    "small_pool": (
        "deadlock",
        r"P waits for a future in small_pool \(waits\.py:\d+\): all its threads wait, and nothing else can end that\. "
        r"prepare_0 waits for a future in nested \(waits\.py:\d+\)\. "
        r"All busy threads of prepare wait: its queued work needs a free one\.",
    ),
    "own_queue": (
        "deadlock",
        r"P waits for the work of a queue in own_queue \(waits\.py:\d+\): all its threads wait, and nothing else can end that\. "
        r"writer waits for room in a queue in write \(waits\.py:\d+\)\.",
    ),
    "died_worker": (
        "deadlock",
        r"P waits for the work of a queue in died_worker \(waits\.py:\d+\): "
        r"no other process is left that could end that\.",
    ),
    "lost_task": (
        "deadlock",
        r"P waits for a pool in lost_task \(waits\.py:\d+\), whose processes have no task: one is lost\.",
    ),
    "both_receive": (
        "deadlock",
        r"P waits for (data of|an answer from) P in both_receive \(waits\.py:\d+\), "
        r"which waits for an answer from P in ask \(waits\.py:\d+\): none of them can continue\.",
    ),
    "server_thread": (
        "wait-chain",
        r"P waits for an answer from P\. "
        r"Thread-\d+ \(process_request_thread\) waits for another thread in Handler\.handle \(waits\.py:\d+\)\.",
    ),
    "left_barrier": (
        "deadlock",
        r"P waits for the end of P in left_barrier \(waits\.py:\d+\), "
        r"which waits for others at a barrier that it shares with P in meet \(waits\.py:\d+\): none of them can continue\.",
    ),
    "ended_party": (
        "deadlock",
        r"P waits for the end of P in ended_party \(waits\.py:\d+\), which waits for others at a barrier "
        r"that it shares with P in meet \(waits\.py:\d+\): none of them can continue\. P has ended\.",
    ),
    "serial_server": (
        "deadlock",
        r"P waits for an answer from P in serve_first \(waits\.py:\d+\), "
        r"which waits for others at a barrier that it shares with P in ask_and_meet \(waits\.py:\d+\), "
        r"one of which waits for an answer from P in ask_and_meet \(waits\.py:\d+\): none of them can continue\.",
    ),
    "half_message": (
        "deadlock",
        r"P waits for the rest of a message in a pipe of P in half_message \(waits\.py:\d+\), "
        r"which waits for a lock that it shares with P: none of them can continue\. P has ended\.",
    ),
    "ended_child": (
        "wait-chain",
        r"P waits for the end of P, which runs sleep\.",
    ),
    "asking_child": (
        "wait-chain",
        r"P waits for the end of P, which waits for input from /dev/pts/\d+ in confirm \(<string>:1\)\.",
    ),
    "prompt": ("unknown", r"P waits for input from /dev/pts/\d+ in prompt \(waits\.py:\d+\)\."),
    "left_output": (
        "wait-chain",
        r"P waits for data of P \(sleep\) in left_output \(waits\.py:\d+\): its parent has ended, and it keeps the output open\.",
    ),
    "unread_warnings": (
        "deadlock",
        r"P waits for data of P in unread_warnings \(waits\.py:\d+\), "
        r"which waits for P to read its data in <module> \(<string>:2\): none of them can continue\.",
    ),
    "unread_at_exit": (
        "deadlock",
        r"P waits for room in a queue of multiprocessing that no other process reads before it ends\.",
    ),
    "idle_engine": ("unknown", r"P .*"),
    "connected_loop": (
        "asyncio",
        r"The event loop of P waits\. It has a connection to 127\.0\.0\.1:\d+\.",
    ),
    "retries": ("unknown", r"A timer will wake the event loop of P\."),
    "idle_server": (
        "unknown",
        r"P waits for a client that connects in idle_server \(waits\.py:\d+\)\.",
    ),
    "idle_pool": (
        "unknown",
        r"P sleeps in idle_pool \(waits\.py:\d+\)\..*",
    ),
    "long_command": (
        "wait-chain",
        r"P waits for the end of P, which is in <module> \(<string>:1\)\.",
    ),
}


@contextlib.contextmanager
def waiting(scenario: str, folder: Path) -> Iterator[int]:
    """The number of the program, all processes of which wait; all of them end."""
    command = [sys.executable, str(PROGRAM), scenario, str(folder / "lock")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == b"ready\n"
        try:
            yield program.pid
        finally:
            # Also those whose parents have ended.
            os.killpg(program.pid, signal.SIGKILL)


def take(pid: int, *, inside: bool = False) -> Picture:
    return asyncio.run(local.take([pid], SamplingPlan(pause_s=0.3, inside=inside)))


@pytest.mark.parametrize("scenario", EXPECTED)
def test_chain_of_waits_is_followed_to_its_end(scenario: str, tmp_path: Path) -> None:
    kind, sentence = EXPECTED[scenario]
    with waiting(scenario, tmp_path) as pid:
        verdict = take(pid).verdict
    stated = re.sub(PROCESS, "P", verdict.sentence)
    assert verdict.kind == kind, verdict
    assert re.fullmatch(sentence, stated), verdict.sentence


def test_idle_server_needs_a_request_to_show_that_it_hangs(tmp_path: Path) -> None:
    with waiting("idle_server", tmp_path) as pid:
        step = take(pid).verdict.next_step
    assert step == f"Send process {pid} a request, and take the picture again."


def test_tasks_that_sleep_are_not_a_hang(tmp_path: Path) -> None:
    with waiting("retries", tmp_path) as pid:
        verdict = take(pid, inside=True).verdict
    assert verdict.kind == "unknown", verdict
    assert re.search(
        r"All 5 tasks wait, 4 of them in \S*back_off \(waits\.py:\d+\): timers wake 4 of 5\.$",
        verdict.sentence,
    ), verdict.sentence


@pytest.mark.parametrize(
    ("scenario", "sentence"),
    [
        (
            "crossed_tasks",
            r"2 tasks of P wait for locks that only they hold in transfer \(waits\.py:\d+\)\.",
        ),
        (
            "nested_semaphore",
            r"3 tasks of P wait for locks that only they hold in .*generate.*\.",
        ),
    ],
)
def test_tasks_that_wait_for_locks_of_each_other_are_a_deadlock(
    scenario: str, sentence: str, tmp_path: Path
) -> None:
    with waiting(scenario, tmp_path) as pid:
        verdict = take(pid, inside=True).verdict
    assert verdict.kind == "deadlock", verdict
    assert re.fullmatch(sentence, re.sub(PROCESS, "P", verdict.sentence)), verdict.sentence


def test_tasks_whose_lock_is_released_later_are_not_a_hang(tmp_path: Path) -> None:
    with waiting("slow_holder", tmp_path) as pid:
        taken = take(pid, inside=True)
    assert taken.verdict.kind == "unknown", taken.verdict
    (inside,) = taken.inside
    assert {each.waits_for for each in inside.awaits} >= {
        "Lock held by Task-2",
        "Semaphore held by Task-3",
    }


def test_helpers_that_wait_for_a_working_program_are_not_a_hang(tmp_path: Path) -> None:
    with waiting("idle_manager", tmp_path) as pid:
        assert take(pid).verdict.kind in ("unknown", "slow")


def test_lock_file_that_no_process_has_is_to_be_deleted(tmp_path: Path) -> None:
    with waiting("left_lock_file", tmp_path) as pid:
        step = take(pid).verdict.next_step
    assert step == "Delete the file if the process that has made it has ended."


LOCKS = "import fcntl, sys; file = open(sys.argv[1], 'w'); fcntl.flock(file, fcntl.LOCK_EX)"
WORKS = f"{LOCKS}\nprint(flush=True)\nwhile True: sum(range(1000))"


def test_program_of_another_start_for_which_one_waits_is_in_the_picture(tmp_path: Path) -> None:
    """Also what that program has started."""
    shell = f'{sys.executable} -c "$1" $2; exit'
    arguments = ["bash", "-c", shell, "bash", WORKS, str(tmp_path / "lock")]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, start_new_session=True) as holder:
        assert holder.stdout is not None
        holder.stdout.readline()
        waiter = subprocess.Popen([sys.executable, "-c", LOCKS, str(tmp_path / "lock")])
        try:
            # Until it waits.
            while "lock" not in Path(f"/proc/{waiter.pid}/wchan").read_text():
                assert waiter.poll() is None
            taken = take(waiter.pid)
        finally:
            waiter.kill()
            waiter.wait()
            os.killpg(holder.pid, signal.SIGKILL)
    assert (len(taken.ranks), taken.verdict.kind) == (2, "slow"), taken.verdict


LEFT = """
import os, sys, time
read, write = os.pipe()
if os.fork() == 0:
    if os.fork():
        os._exit(0)
    os.setsid()
    print(os.getpid(), flush=True)
    time.sleep(600)
os.wait()
if os.fork() == 0:
    time.sleep(600)
os.close(write)
os.read(read, 1)
"""


def test_process_that_has_left_its_parent_is_in_the_picture_of_those_that_wait_for_it() -> None:
    argv = [sys.executable, "-c", LEFT]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as program:
        assert program.stdout is not None
        left = int(program.stdout.readline())
        try:
            while "pipe" not in Path(f"/proc/{program.pid}/wchan").read_text():
                assert program.poll() is None
            taken = take(program.pid)
        finally:
            os.killpg(program.pid, signal.SIGKILL)
            os.kill(left, signal.SIGKILL)
    assert left in {each.pid for each in taken.ranks} and len(taken.ranks) == 3


OURS = """
import subprocess, sys
waits = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
print(waits.pid, flush=True)
waits.wait()
"""


def test_own_process_for_which_one_waits_is_left_out(tmp_path: Path) -> None:
    """A supervisor of Eagleray has the other end of its program's input."""
    (tmp_path / "eagleray_start.py").write_text(OURS)
    argv = [sys.executable, str(tmp_path / "eagleray_start.py")]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, start_new_session=True) as ours:
        try:
            assert ours.stdout is not None
            pid = int(ours.stdout.readline())
            while "pipe" not in Path(f"/proc/{pid}/wchan").read_text():
                assert ours.poll() is None
            taken = take(pid)
        finally:
            os.killpg(ours.pid, signal.SIGKILL)
    assert [each.pid for each in taken.ranks] == [pid]


@pytest.mark.parametrize("scenario", ["working_child", "computing_executor", "working_thread"])
def test_child_that_works_is_not_a_hang(scenario: str, tmp_path: Path) -> None:
    with waiting(scenario, tmp_path) as pid:
        verdict = take(pid).verdict
    assert verdict.kind == "slow", verdict
