"""Processes that are inspected answer, and continue as before: real ones, in each way in which they can wait."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.remote.inspecting import answer_folder, injection
from eagleray.remote.inspecting.conversation import ProcessEnded, QueriedProcess
from eagleray.remote.inspecting.inspected_process import (
    INSIDE,
    OUTSIDE,
    Inspected,
    Inspection,
    inspect,
    steps,
)
from eagleray.remote.inspecting.ptrace_thread import NotStarted
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.pyspy_dumps import Tools, dump
from eagleray.tools.pyspy import find_program

TOOLS = Tools(py_spy=find_program())

# Each waits until its standard input says something, or for a second, and then says that it has continued.
WAYS = {
    "read": "sys.stdin.readline()",
    "lock": "lock = threading.Lock(); lock.acquire()\n"
    "threading.Thread(target=lambda: (sys.stdin.readline(), lock.release())).start()\nlock.acquire()",
    "lock with a limit": "assert not threading.Event().wait(2)",
    "sleep": "start = time.monotonic(); time.sleep(2)\nassert 2 <= time.monotonic() - start < 4",
    "select": "assert select.select([sys.stdin], [], [], 60)[0]",
    "poll": "poll = select.poll(); poll.register(0)\nassert poll.poll(60_000)",
    "epoll": "poll = select.epoll(); poll.register(0)\nassert poll.poll(60)",
    "child": "assert subprocess.call(['sleep', '2']) == 0",
    "loop": "end = time.monotonic() + 2\nn = 0\nwhile time.monotonic() < end: n += 1",
    "event loop": "asyncio.run(asyncio.sleep(2))",
}
PROGRAM = """
import asyncio, ctypes, hashlib, os, select, signal, subprocess, sys, threading, time
def fit(step):
    before = threading.active_count(), sorted(vars(sys.modules['__main__']))
    print("ready", flush=True)
    {way}
    after = threading.active_count(), sorted(vars(sys.modules['__main__']))
    assert before == after, (before, after)
    print("went on", step, flush=True)
fit(7)
"""


@contextmanager
def python(
    code: str, interpreter: str = sys.executable, **settings: object
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [interpreter, "-c", code],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **settings,  # type: ignore[call-overload]
    )
    try:
        assert process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()


def program(way: str) -> str:
    return PROGRAM.format(way=way.replace("\n", "\n    "))


def ends(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    output, errors = process.communicate("\n", timeout=30)
    return process.returncode, output, errors


def opened_socket(pid: int) -> Path:
    """The socket on which a process answers, which is opened first if necessary."""
    with injection.connected(pid, 10) as connection:
        # It was bound before it got its name.
        return Path(connection.getpeername().removesuffix(".new"))


def look(pid: int, *expressions: str, allow_all: bool = False) -> Inspection:
    return inspect(pid, expressions, TOOLS, allow_all=allow_all)


@pytest.mark.parametrize("way", WAYS)
def test_waiting_process_answers_and_continues(way: str) -> None:
    with python(program(WAYS[way])) as process:
        time.sleep(0.2)
        found = look(process.pid)
        assert (found.how, found.why_outside) == (INSIDE, "")
        assert found.stack[-1].function == "<module>"
        assert "fit" in [frame.function for frame in found.stack]
        assert ends(process) == (0, "went on 7\n", "")


def test_expression_is_evaluated_in_the_users_own_frame() -> None:
    with python(program(WAYS["lock with a limit"])) as process:
        found = look(process.pid, "step + 1", "step.missing", "fit(8)", "print(1)")
        values = {value.expression: value for value in found.values}
        assert values["step + 1"].value == "8"
        assert "no attribute" in values["step.missing"].error
        assert values["fit(8)"].refused
        assert "print" in values["print(1)"].error
        assert ends(process) == (0, "went on 7\n", "")


def test_expression_is_evaluated_in_the_frame_that_was_listed_though_the_thread_calls_meanwhile() -> (
    None
):
    calls = "def deeper(): print('deeper', flush=True); sys.stdin.readline()\nsys.stdin.readline(); deeper()"
    with python(program(calls)) as process:
        conversation = Inspected(process.pid)
        try:
            reading = steps(conversation, ("step",))
            op, question = next(reading)
            op, question = reading.send(conversation.ask(op, **question))
            assert process.stdin is not None and process.stdout is not None
            process.stdin.write("\n")
            process.stdin.flush()
            assert process.stdout.readline() == "deeper\n"
            assert conversation.ask(op, **question)["value"] == "7"
        finally:
            conversation.close()
        assert ends(process) == (0, "went on 7\n", "")


def test_exception_that_is_handled_is_told_with_its_message() -> None:
    way = "try: raise ValueError('shape of microbatch 3')\nfinally:\n  sys.stdin.readline(); os._exit(0)"
    with python(program(way)) as process:
        assert look(process.pid).exception == "ValueError('shape of microbatch 3')"


def test_program_without_threading_ends_while_it_is_inspected() -> None:
    code = "import sys\nprint('ready', flush=True)\nsys.stdin.readline()\nprint('threading' in sys.modules)"
    with python(code) as process:
        inspected = Inspected(process.pid)
        try:
            [thread] = inspected.ask("threads")["threads"]
            assert (thread["name"], thread["is_main"]) == ("MainThread", True)
            assert ends(process) == (0, "False\n", "")
        finally:
            inspected.close()


def test_second_look_uses_the_thread_of_the_first() -> None:
    with python(program(WAYS["read"])) as process:
        look(process.pid)
        look(process.pid)
        # Threads of the conversations end with them.
        wait_until(lambda: thread_count(process.pid) == 2)
        assert ends(process)[0] == 0


def test_many_threads_of_ours_leave_a_computation_as_it_is() -> None:
    way = (
        "n = 0; value = b''\n"
        "while not select.select([sys.stdin], [], [], 0)[0]:\n"
        "    value = hashlib.sha256(value).digest(); n += 1\n"
        "again = b''\nfor _ in range(n): again = hashlib.sha256(again).digest()\n"
        "assert again == value"
    )
    with python(program(way)) as process:
        for _ in range(15):
            # The next look then starts a thread of its own.
            opened_socket(process.pid).unlink()
        assert ends(process) == (0, "went on 7\n", "")


def test_process_with_many_threads_and_signals_continues() -> None:
    way = (
        "count = []\nsignal.signal(signal.SIGALRM, lambda *_: count.append(1))\n"
        "signal.setitimer(signal.ITIMER_REAL, 0.001, 0.001)\n"
        "done = threading.Event()\n"
        "threads = [threading.Thread(target=done.wait) for _ in range(50)]\n"
        "for thread in threads: thread.start()\n"
        "sys.stdin.readline(); done.set()\n"
        "for thread in threads: thread.join()\n"
        "signal.setitimer(signal.ITIMER_REAL, 0)\nassert len(count) > 100, len(count)"
    )
    with python(program(way)) as process:
        for _ in range(20):
            opened_socket(process.pid).unlink()
        assert look(process.pid).how == INSIDE
        assert ends(process) == (0, "went on 7\n", "")


def test_thread_that_keeps_the_gil_is_reported_and_continues(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(injection, "OPENING_S", 0.5)
    way = "ctypes.PyDLL(None).sleep(4)\nsys.stdin.readline()"
    with python(program(way)) as process:
        found = look(process.pid, "step")
        assert found.how == OUTSIDE and "GIL" in found.why_outside
        assert found.stack[0].function == "fit" and found.values[0].value == "7"
        assert ends(process) == (0, "went on 7\n", "")


def test_stopped_process_is_read_from_outside_and_stays_stopped() -> None:
    with python(program(WAYS["read"])) as process:
        process.send_signal(signal.SIGSTOP)
        wait_until(lambda: states_of_threads(process.pid) == {"T"})
        found = look(process.pid)
        assert found.how == OUTSIDE and "is stopped" in found.why_outside
        assert state_of(process.pid) == "T"
        process.send_signal(signal.SIGCONT)
        assert ends(process)[0] == 0


def test_process_that_has_ended_or_is_not_python_is_told_apart() -> None:
    with python(program(WAYS["read"])) as process:
        assert ends(process)[0] == 0
        with pytest.raises(NotStarted, match="has ended"):
            look(process.pid)
    with subprocess.Popen(["sleep", "60"]) as other:
        try:
            with pytest.raises(NotStarted, match="isn't Python"):
                look(other.pid)
        finally:
            other.kill()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to start a process of another user")
def test_folder_of_another_user_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(answer_folder, "_SHARED_FOLDER", str(tmp_path))
    folder = tmp_path / f"eagleray-inspect-{os.geteuid()}"
    folder.mkdir()
    os.chown(folder, 12345, -1)
    with python(program(WAYS["read"])) as process:
        found = look(process.pid)
        assert found.how == OUTSIDE and "belongs to another user" in found.why_outside
        assert ends(process)[0] == 0


# The interpreter may be in a folder of root, so it becomes another user only when it has started.
ASK = """
import os, socket, sys
client = socket.socket(socket.AF_UNIX)
os.setgroups([]); os.setgid(int(sys.argv[2])); os.setuid(int(sys.argv[2]))
client.connect(sys.argv[1])
client.sendall(b'{"op": "threads"}\\n')
print(client.recv(10))
"""


def asked_as(user: int, socket: str) -> subprocess.CompletedProcess[str]:
    arguments = [sys.executable, "-c", ASK, socket, str(user)]
    return subprocess.run(arguments, capture_output=True, text=True, timeout=30)


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user")
def test_socket_rejects_another_user_also_where_its_folder_is_open() -> None:
    with python(program(WAYS["read"])) as process:
        path = opened_socket(process.pid)
        socket = str(path)
        assert path.parent.stat().st_mode & 0o777 == 0o700
        assert "threads" in asked_as(0, socket).stdout
        assert "PermissionError" in asked_as(12345, socket).stderr
        path.parent.chmod(0o755)
        path.chmod(0o777)
        try:
            other = asked_as(12345, socket)
        finally:
            path.parent.chmod(0o700)
        assert other.stdout in ("b''\n", "") and "PermissionError" not in other.stderr
        assert ends(process)[0] == 0


def test_thread_ends_without_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    source = injection._SOURCE.replace("IDLE_S = 120.0", "IDLE_S = 0.3")
    monkeypatch.setattr(injection, "_SOURCE", source)
    with python(program(WAYS["read"])) as process:
        path = opened_socket(process.pid)
        wait_until(lambda: thread_count(process.pid) == 1)
        assert not path.exists()
        assert ends(process) == (0, "went on 7\n", "")


def test_process_that_is_being_killed_has_ended() -> None:
    for _ in range(3):
        with python(program(WAYS["read"])) as process:
            queried = QueriedProcess(process.pid, TOOLS)
            process.kill()
            with pytest.raises(ProcessEnded):
                queried.ask("threads")
            queried.close()


def test_conversation_survives_questions_that_are_wrong() -> None:
    with python(program(WAYS["read"])) as process:
        inspected = Inspected(process.pid)
        try:
            assert "error" in inspected.ask("unknown")
            assert "error" in inspected.ask("evaluate", frame=99, expression="1")
            assert "error" in inspected.ask("evaluate", frame=0, expression="1 +")
            assert inspected.ask("evaluate", frame=0, expression="1 + 1")["value"] == "2"
        finally:
            inspected.close()
        assert ends(process)[0] == 0


def thread_count(pid: int) -> int:
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def states_of_threads(pid: int) -> set[str]:
    """The states of the threads of a process: a thread on another core takes a signal a moment later."""
    threads = [task.name for task in Path(f"/proc/{pid}/task").iterdir()]
    return {proc.thread_status(thread)["State"][0] for thread in threads}


def state_of(pid: int) -> str:
    found = proc.stat(pid)
    assert found is not None
    return found.state


def wait_until(holds: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not holds() and time.monotonic() < end:
        time.sleep(0.02)
    assert holds()


def test_thread_that_answers_is_in_no_stacks_of_its_process() -> None:
    with python(program(WAYS["read"])) as process:
        assert look(process.pid, "step").how == INSIDE
        [main] = dump(process.pid, TOOLS).threads
        assert main.is_main
