"""Native frames of real processes: in a library, in the C library, in Python itself, and none."""

import os
import shutil
import signal
import subprocess
from pathlib import Path

import pytest
from eagleray.observe.hangs.collecting import local
from eagleray.observe.hangs.collecting.sampling_plan import SamplingPlan
from eagleray.observe.hangs.texts import lines, markdown
from eagleray.remote.sampling import native, pyspy_dumps
from eagleray.remote.sampling.native import (
    NativeFrame,
    NativeReading,
    native_of,
    raw_native,
    raw_natives,
)
from eagleray.remote.sampling.pyspy_dumps import Tools
from eagleray.tools.pyspy import find_program

from tests.observe.hangs.ranks import refused_py_spy
from tests.remote.sampling.python_process import python
from tests.remote.sampling.test_pyspy_dumps import state_of, wait_for_state

SOURCE = Path(__file__).parents[2] / "programs" / "hangs" / "native_wait.c"
TOOLS = Tools(py_spy=find_program())
# PyDLL keeps the GIL, as a faulty extension does.
CALLING = """
import ctypes, sys
function = getattr(ctypes.PyDLL(sys.argv[1] or None), sys.argv[2])
print("ready", flush=True)
function(600)
"""
LOOPING = """
print("ready", flush=True)
number = 0
while True:
    number ^= 1
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("native") / "libreply.so"
    compiler = shutil.which("cc") or "gcc"
    subprocess.run([compiler, "-shared", "-fPIC", "-g0", "-o", path, SOURCE], check=True)
    return str(path)


@pytest.mark.parametrize("function", ["wait_for_reply", "compute_reply"])
def test_library_that_keeps_the_gil_is_named_with_its_function(library: str, function: str) -> None:
    with python(CALLING, library, function) as pid:
        reading = native_of(raw_native(pid, TOOLS))
        assert state_of(pid) == ("S" if function == "wait_for_reply" else "R")
    assert (reading.reason, reading.leading) == ("", NativeFrame(function, "libreply.so"))
    assert 0 < reading.paused_s < pyspy_dumps.TIME_LIMIT_S and not reading.resumed


def test_function_of_the_c_library_is_that_which_python_has_called() -> None:
    with python(CALLING, "", "sleep") as pid:
        reading = native_of(raw_native(pid, TOOLS))
    assert reading.leading is not None
    assert (reading.leading.function, reading.leading.library[:4]) == ("sleep", "libc")


def test_loop_of_python_has_no_native_frames() -> None:
    with python(LOOPING) as pid:
        reading = native_of(raw_native(pid, TOOLS))
    assert (reading.reason, reading.leading) == ("", None)


def test_stopped_process_is_not_read_and_stays_stopped() -> None:
    with python(CALLING, "", "sleep") as pid:
        os.kill(pid, signal.SIGSTOP)
        wait_for_state(pid, "T")
        assert native_of(raw_native(pid, TOOLS)).reason == "stopped"
        assert state_of(pid) == "T"
    assert native_of(raw_native(pid, TOOLS)).reason == "ended"


STOPPING = """#!/bin/sh
# py-spy that reads stacks and is killed while it reads native frames.
for last; do :; done
case " $* " in *" --native "*) kill -STOP "$last"; exec sleep 60;; esac
exec "{py_spy}" "$@"
"""


async def test_verdict_stays_as_it_was_without_native_frames_and_the_process_is_resumed(
    library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tool = tmp_path / "stopping"
    tool.write_text(STOPPING.format(py_spy=find_program()))
    tool.chmod(0o755)
    with python(CALLING, library, "wait_for_reply") as pid:
        named = await local.take([pid], SamplingPlan(pause_s=0.05))
        monkeypatch.setattr(local, "find_program", lambda: str(tool))
        monkeypatch.setattr(pyspy_dumps, "TIME_LIMIT_S", 1.0)
        unread = await local.take([pid], SamplingPlan(pause_s=0.05))
        wait_for_state(pid, "S")
    assert named.verdict.kind == unread.verdict.kind == "gil-held"
    assert "holds the GIL in wait_for_reply of libreply.so, called in" in named.verdict.sentence
    assert "wait_for_reply (libreply.so)" in "\n".join(lines(named))
    assert "never releases the GIL" in unread.verdict.sentence
    [row] = unread.native
    assert (row.reason, row.resumed) == ("timeout", True)
    assert f"Sent SIGCONT to rank {pid}" in markdown(unread)


def test_no_further_process_is_read_once_some_took_too_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    began: list[int] = []
    monkeypatch.setattr(native, "raw_native", lambda pid, tools: began.append(pid) or {})
    raw_natives([1, 2], TOOLS)
    monkeypatch.setattr(native, "BEGIN_WITHIN_S", -1.0)
    late = raw_natives([3], TOOLS)
    assert began == [1, 2]
    assert [native_of(value).reason for value in late] == ["timeout"]


def test_refused_process_is_unread_and_unharmed(tmp_path: Path) -> None:
    with python(CALLING, "", "sleep") as pid:
        reading = native_of(raw_native(pid, Tools(py_spy=refused_py_spy(tmp_path))))
        assert (reading.reason, state_of(pid)) == ("permission", "S")


OWN, LIBC = NativeFrame("wait", "libnccl.so.2"), NativeFrame("poll", "libc.so.6")
PYTHON = NativeFrame("PyObject_Call", "python3.11")


@pytest.mark.parametrize(
    ("frames", "expected"),
    [
        ((PYTHON, OWN, LIBC), OWN),
        ((PYTHON, NativeFrame("", "libsecret.so"), LIBC), LIBC),
        ((PYTHON, OWN, NativeFrame("connect", "libnccl.so.2")), ("connect", "libnccl.so.2")),
        ((PYTHON, OWN, NativeFrame("std::thread::join", "libstdc++.so.6.0.30")), OWN),
        ((PYTHON, OWN, NativeFrame("poll", "libc-2.31.so")), OWN),
        ((PYTHON,), PYTHON),
        ((NativeFrame("", "libc.so.6"),), None),
    ],
)
def test_leading_frame_is_of_the_innermost_library_that_has_a_name(
    frames: tuple[NativeFrame, ...], expected: object
) -> None:
    assert NativeReading("", frames=frames).leading == expected


@pytest.mark.parametrize(
    "value",
    [None, {}, {"paused_s": float("nan")}, {"paused_s": 0, "frames": [["f"]], "thread": ""}],
)
def test_anything_else_is_not_an_answer(value: object) -> None:
    assert native_of(value).reason == "no-answer"
