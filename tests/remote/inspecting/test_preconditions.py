"""Obstacles to an inspection are known before anything is done in the process: it has no new thread, file or page."""

import os
import resource
import signal
import subprocess
from pathlib import Path

import pytest
from eagleray.remote.inspecting import injection, preconditions, ptrace_thread
from eagleray.remote.inspecting.ptrace_thread import NotStarted
from eagleray.remote.sampling import proc

from tests.adapter.other_user import NOBODY
from tests.remote.inspecting.test_processes import WAYS, ends, look, program, python

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root to act as another user")


@pytest.fixture(autouse=True)
def never_started(monkeypatch: pytest.MonkeyPatch) -> None:
    def start(*_: object) -> None:
        raise AssertionError("a thread was started")

    monkeypatch.setattr(ptrace_thread, "start", start)


def refused(pid: int) -> tuple[str, str]:
    """The reason and its text."""
    mapped = len(Path(f"/proc/{pid}/maps").read_text().splitlines())
    with pytest.raises(NotStarted) as raised:
        injection.connected(pid, 10)
    assert len(Path(f"/proc/{pid}/maps").read_text().splitlines()) == mapped
    folder = Path(f"/tmp/eagleray-inspect-{os.geteuid()}")
    # Files of an ended process may have the same PID.
    status = proc.stat(pid)
    assert status is not None
    assert list(folder.glob(f"{pid}-{status.started}-*")) == []
    return raised.value.reason, str(raised.value)


def status_kb(pid: int, name: str) -> int:
    text = Path(f"/proc/{pid}/status").read_text()
    return int(text.partition(f"{name}:")[2].split()[0])


@pytest.mark.parametrize(
    ("limit", "name", "field"),
    [
        (resource.RLIMIT_AS, "address space", "VmSize"),
        (resource.RLIMIT_DATA, "data size", "VmData"),
        (resource.RLIMIT_NOFILE, "open files", ""),
    ],
)
def test_process_close_to_a_limit_gets_no_thread(limit: int, name: str, field: str) -> None:
    with python(program(WAYS["read"])) as process:
        value = status_kb(process.pid, field) * 1024 + 2**20 if field else 8
        resource.prlimit(process.pid, limit, (value, resource.RLIM_INFINITY if field else value))
        reason, text = refused(process.pid)
        assert reason == "limits" and text.endswith(f"limit of {name}")
        assert ends(process) == (0, "went on 7\n", "")


@needs_root
def test_process_whose_user_has_nearly_all_threads_gets_none() -> None:
    others = (
        "import os, resource, sys\nresource.setrlimit(resource.RLIMIT_NPROC, (2, 2))\n"
        f"os.setuid({NOBODY})\nprint('ready', flush=True)\nsys.stdin.readline()"
    )
    with python(others) as process, pytest.raises(NotStarted, match="limit of processes"):
        preconditions.startable(preconditions.readable(process.pid))


def test_process_that_is_traced_gets_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preconditions, "_SAMPLED_S", 0.05)
    with python(program(WAYS["read"])) as process:
        tracer = (
            "import ctypes, sys\n"
            f"assert ctypes.CDLL(None).ptrace(0x4206, {process.pid}, 0, 0) == 0\n"
            "print('ready', flush=True); sys.stdin.readline()"
        )
        with python(tracer) as other:
            reason, text = refused(process.pid)
            assert reason == "stopped" and f"(process {other.pid})" in text
        assert ends(process) == (0, "went on 7\n", "")


def test_program_without_python_is_refused_before_its_folder_is_made() -> None:
    pipe = subprocess.PIPE
    with subprocess.Popen(["cat"], stdin=pipe, stdout=pipe) as other:
        assert other.stdin is not None and other.stdout is not None
        other.stdin.write(b"ready\n")
        other.stdin.flush()
        assert other.stdout.readline() == b"ready\n"
        assert refused(other.pid)[0] == "not-python"
        other.stdin.close()


def test_process_that_is_killed_while_a_thread_starts_is_not_said_to_have_ended_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def killing(pid: int, *_: object) -> None:
        os.kill(pid, signal.SIGSYS)
        os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
        raise NotStarted("ended", "The process has ended")

    monkeypatch.setattr(ptrace_thread, "start", killing)
    with python(program(WAYS["read"])) as process:
        with pytest.raises(NotStarted) as raised:
            look(process.pid)
        assert raised.value.reason == "ended-meanwhile"
        assert str(raised.value).endswith(
            "has ended by signal 31 while Eagleray started a thread in it"
        )
