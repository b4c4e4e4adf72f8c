"""Stacks of real processes: running, stopped, ended, and what py-spy says where it may not look."""

import asyncio
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from eagleray.observe.hangs import texts
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.remote.inspecting.pyspy_fallback import Outside
from eagleray.remote.sampling import proc, pyspy_dumps
from eagleray.remote.sampling.node_sampler import MOST_AT_ONCE, dumps_at_once
from eagleray.remote.sampling.pyspy_dumps import Tools, dump, failure_reason, listed_threads
from eagleray.tools.pyspy import find_program

from tests.observe.hangs.ranks import refused_py_spy
from tests.remote.sampling.python_process import python

TOOLS = Tools(py_spy=find_program())
WAITING = """
import threading, time
def wait_for_partner():
    print("ready", flush=True)
    threading.Event().wait()
wait_for_partner()
"""


def test_waiting_process_shows_its_functions_outermost_first() -> None:
    with python(WAITING) as pid:
        taken = dump(pid, TOOLS)
    assert taken.how == "py-spy blocking" and taken.reason == ""
    [main] = taken.threads
    assert main.is_main and not main.active
    functions = [frame.function for frame in main.frames]
    assert functions.index("<module>") < functions.index("wait_for_partner") < len(functions) - 1


def test_stopped_process_is_read_and_stays_stopped() -> None:
    with python(WAITING) as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_for_state(pid, "T")
        taken = dump(pid, TOOLS)
        assert state_of(pid) == "T"
    assert taken.state == "T" and taken.how == "py-spy nonblocking" and not taken.resumed
    assert "wait_for_partner" in {frame.function for frame in taken.threads[0].frames}


def test_process_that_has_ended_is_said_to_have_ended() -> None:
    with python(WAITING) as pid:
        pass
    assert dump(pid, TOOLS).reason == "ended"


def test_process_without_python_is_told_apart() -> None:
    with subprocess.Popen(["sleep", "60"]) as process:
        try:
            assert dump(process.pid, TOOLS).reason == "not-python"
        finally:
            process.kill()


def test_process_whose_python_was_removed_has_not_ended(tmp_path) -> None:
    """As where an environment is replaced while its ranks run: py-spy misses `libpython`."""
    missing = tmp_path / "py-spy"
    missing.write_text(
        "#!/bin/sh\necho 'Error: No such file or directory (os error 2)' >&2; exit 1"
    )
    missing.chmod(0o755)
    with python(WAITING) as pid:
        taken = dump(pid, Tools(py_spy=str(missing)))
        assert (taken.reason, taken.threads, state_of(pid)) == ("files-deleted", (), "S")
        picture = asyncio.run(local.take([pid], SamplingPlan(pause_s=0.01)))
        assert picture.verdict.kind != "rank-dead"


def test_missing_tool_is_the_reason() -> None:
    assert dump(os.getpid(), Tools()).reason == "no-tool"
    assert dump(os.getpid(), Tools(py_spy="/nonexistent/py-spy")).reason == "no-tool"


def test_process_that_may_not_be_traced_and_is_of_no_run_is_unread_and_unharmed(tmp_path) -> None:
    refused = Tools(py_spy=refused_py_spy(tmp_path))
    with python(WAITING) as pid:
        taken = dump(pid, refused)
        assert (taken.reason, taken.threads) == ("permission", ())
        assert state_of(pid) == "S"


STOPPING_PY_SPY = """#!/bin/sh
# py-spy that is killed while it holds a process (its issues 390, 416), which can't be brought about at will.
for last; do :; done
case " $* " in *" --nonblocking "*) exec "{py_spy}" "$@";; esac
kill -STOP "$last"
exec sleep 60
"""


@pytest.mark.parametrize("then", [find_program(), "false"])
def test_process_that_a_killed_tool_has_left_stopped_is_resumed_also_if_the_next_attempt_succeeds(
    then: str, tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tools = Tools(py_spy=stopping_py_spy(tmp_path, then))
    monkeypatch.setattr(pyspy_dumps, "TIME_LIMIT_S", 0.3)
    with python(WAITING) as pid:
        taken = dump(pid, tools)
        assert (bool(taken.threads), taken.resumed) == (then != "false", True)
        wait_for_state(pid, "S")
        listed = listed_threads(pid, tools)
        assert (bool(listed.threads), listed.resumed) == (then != "false", True)
        wait_for_state(pid, "S")


def test_process_that_a_cancelled_tool_has_left_stopped_is_resumed(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cancelled(_program: str, pid: int, _options: list[str]) -> None:
        os.kill(pid, signal.SIGSTOP)
        wait_for_state(pid, "T")
        raise KeyboardInterrupt

    monkeypatch.setattr(pyspy_dumps, "_py_spy", cancelled)
    with python(WAITING) as pid:
        with pytest.raises(KeyboardInterrupt):
            dump(pid, TOOLS)
        wait_for_state(pid, "S")


def test_picture_and_inspection_name_the_process_that_was_resumed(
    tmp_path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pyspy_dumps, "TIME_LIMIT_S", 0.3)
    tool = stopping_py_spy(tmp_path, find_program())
    monkeypatch.setattr(local, "find_program", lambda: tool)
    with python(WAITING) as pid:
        taken = asyncio.run(local.take([pid], SamplingPlan(pause_s=0.01)))
        assert taken.coverage.resumed == (pid,)
        sentence = f"Sent SIGCONT to rank {pid}, which py-spy had left stopped"
        assert sentence in texts.lines(taken)
        outside = Outside(pid, Tools(py_spy=tool), "The process gave no answer")
        outside.ask("threads")
        outside.ask("threads")
        assert outside.why_outside == (
            "The process gave no answer. py-spy had left it stopped, so Eagleray sent SIGCONT"
        )
        wait_for_state(pid, "S")


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        # As py-spy 0.4.3 has said it: root without CAP_SYS_PTRACE, another user, a pid that is gone, not Python.
        (
            "Error: Failed to get process executable name. Check that the process is running.\n"
            "Reason: Permission denied (os error 13)",
            "permission",
        ),
        ("Permission Denied: Try running again with elevated permissions", "permission"),
        (
            "Error: Failed to get process executable name. Check that the process is running.\n"
            "Reason: No such file or directory (os error 2)",
            "ended",
        ),
        ("Error: Failed to find python version from target process", "not-python"),
    ],
)
def test_reason_is_read_from_the_number_of_the_error(message: str, reason: str) -> None:
    assert failure_reason(message) == reason


def stopping_py_spy(folder: Path, py_spy: str) -> str:
    path = folder / "stopping-py-spy"
    path.write_text(STOPPING_PY_SPY.format(py_spy=py_spy))
    path.chmod(0o755)
    return str(path)


def state_of(pid: int) -> str:
    process = proc.stat(pid)
    assert process is not None
    return process.state


def wait_for_state(pid: int, state: str) -> None:
    end = time.monotonic() + 10
    while state_of(pid) != state and time.monotonic() < end:
        time.sleep(0.01)
    assert state_of(pid) == state


@pytest.mark.parametrize(("cores", "expected"), [(1, 2), (6, 6), (96, MOST_AT_ONCE)])
def test_dumps_at_once_are_as_many_as_the_cores_to_which_the_process_is_bound(
    cores: int, expected: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: set(range(cores)))
    assert dumps_at_once() == expected
