"""Processes that are inspected at a bad moment: while they import or fork, and where /tmp is not ours."""

import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from eagleray.remote.inspecting import answer_folder, injection, ptrace_thread
from eagleray.remote.inspecting.inspected_process import INSIDE, OUTSIDE
from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.remote.sampling.pyspy_dumps import dump

from tests.remote.inspecting.test_borrowed_threads import thread_count
from tests.remote.inspecting.test_processes import (
    TOOLS,
    WAYS,
    ends,
    look,
    opened_socket,
    python,
    state_of,
    wait_until,
)
from tests.remote.inspecting.test_processes import program as waiting_program

# The main thread imports a module that waits; the GIL is free.
SLOW_IMPORT = """
import sys
def load_plugins(folder):
    sys.path.insert(0, folder)
    import slow_plugin
    print("went on", slow_plugin.value, flush=True)
load_plugins(sys.argv[1])
"""
SLOW_MODULE = 'import sys\nprint("ready", flush=True)\nsys.stdin.readline()\nvalue = 7\n'

# As where the folder of a module is on a file system that doesn't answer: everything that imports it waits for its lock.
SLOW_FINDER = """
import sys
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "ast":
            print("ready", flush=True)
            sys.stdin.readline()
def build_graph():
    import ast
    print("went on", ast.literal_eval("7"), flush=True)
sys.modules.pop("ast", None)
sys.meta_path.insert(0, Finder())
build_graph()
"""

# Python holds this lock while it forks, and some native modules do for longer.
LOCKED_IMPORTS = """
import _imp, sys
def build_graph():
    _imp.acquire_lock()
    print("ready", flush=True)
    sys.stdin.readline()
    _imp.release_lock()
    print("went on 7", flush=True)
build_graph()
"""

# Each child uses what a lock of another thread could have kept: memory, imports, threads and the output.  The memory of the
# program makes its forks long; in the middle of one the main thread holds the locks of `malloc`.
FORKING = """
import importlib, mmap, multiprocessing, os, select, sys, threading
memory = mmap.mmap(-1, 256 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
memory.madvise(mmap.MADV_NOHUGEPAGE)
for offset in range(0, len(memory), mmap.PAGESIZE): memory[offset] = 1
def work(step):
    value = [bytes(1000) for _ in range(1000)]
    importlib.import_module("fractions")
    thread = threading.Thread(target=value.clear)
    thread.start()
    thread.join()
    assert threading.active_count() == 1 and not value
    sys.exit(step % 5)
def fit():
    context, step = multiprocessing.get_context("fork"), 0
    print("ready", flush=True)
    while not select.select([sys.stdin], [], [], 0)[0]:
        child = context.Process(target=work, args=(step,))
        child.start()
        child.join(30)
        assert child.exitcode == step % 5, child.exitcode
        step += 1
    print("went on", step > 3, flush=True)
fit()
"""

# The object that Python deletes last can run for long.
ENDING = """
import os
class Last:
    def __del__(self, print=print, read=os.read):
        print("ready", flush=True)
        read(0, 1)
        print("went on", flush=True)
last = Last()
"""

WAITING = 'import sys\ndef fit():\n  print("ready", flush=True)\n  sys.stdin.readline()\nfit()\nprint("went on")'

needs_namespaces = pytest.mark.skipif(
    os.geteuid() != 0 or not shutil.which("unshare"), reason="needs root for a mount namespace"
)


def test_module_that_imports_slowly_is_inspected(tmp_path: Path) -> None:
    (tmp_path / "slow_plugin.py").write_text(SLOW_MODULE)
    with program(SLOW_IMPORT, str(tmp_path)) as process:
        found = look(process.pid, "folder")
        assert (found.how, found.why_outside) == (INSIDE, "")
        functions = [(frame.function, Path(frame.path).name) for frame in found.stack]
        assert ("<module>", "slow_plugin.py") in functions
        assert ("load_plugins", "<string>") in functions
        assert ends(process) == (0, "went on 7\n", "")


@pytest.mark.parametrize("code", [SLOW_FINDER, LOCKED_IMPORTS])
def test_import_for_which_our_thread_waits_is_named_and_continues(
    code: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(injection, "OPENING_S", 1.5)
    with python(code) as process:
        found = look(process.pid)
        assert found.how == OUTSIDE and "import" in found.why_outside
        assert "build_graph" in [frame.function for frame in found.stack]
        assert raw_reading(process.pid) == {"reason": "importing"}
        assert thread_count(process.pid) <= 2
        assert ends(process) == (0, "went on 7\n", "")


def test_thread_that_waits_for_an_import_serves_the_next_look_after_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(injection, "OPENING_S", 1.5)
    with python(SLOW_FINDER + "sys.stdin.readline()") as process:
        assert look(process.pid).how == OUTSIDE
        assert process.stdin is not None and process.stdout is not None
        process.stdin.write("\n")
        process.stdin.flush()
        assert process.stdout.readline() == "went on 7\n"
        assert look(process.pid).how == INSIDE
        socket = opened_socket(process.pid)
        wait_until(lambda: files_beside(socket) == [socket.name])
        assert ends(process) == (0, "", "")


def test_process_whose_own_modules_hide_the_modules_of_python_says_so_and_prints_nothing(
    tmp_path: Path,
) -> None:
    (tmp_path / "json.py").write_text("raise ImportError('not that one')")
    with python(waiting_program("sys.stdin.readline()"), cwd=tmp_path) as process:
        found = look(process.pid)
        assert found.how == OUTSIDE
        assert "ImportError: not that one" in found.why_outside
        assert raw_reading(process.pid) == {"reason": "not-loaded"}
        assert ends(process) == (0, "went on 7\n", "")


@pytest.mark.parametrize(("held_s", "how"), [(0.3, INSIDE), (3.0, OUTSIDE)])
def test_process_that_is_sampled_is_inspected_a_moment_later(held_s: float, how: str) -> None:
    with python(waiting_program("sys.stdin.readline()")) as process:
        wait_until(lambda: state_of(process.pid) == "S")
        is_held, is_over = threading.Event(), threading.Event()

        def hold() -> None:
            borrowed = ptrace_thread._BorrowedThread(process.pid)
            is_held.set()
            is_over.wait(held_s)
            borrowed.give_back()

        holder = threading.Thread(target=hold)
        holder.start()
        is_held.wait()
        try:
            assert look(process.pid).how == how
        finally:
            is_over.set()
            holder.join()
        assert ends(process) == (0, "went on 7\n", "")


def test_python_that_ends_is_read_from_outside_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(injection, "OPENING_S", 0.5)
    with python(ENDING) as process:
        wait_until(lambda: state_of(process.pid) == "S")
        assert look(process.pid).how == OUTSIDE
        wait_until(lambda: thread_count(process.pid) == 1)
        assert ends(process) == (0, "went on\n", "")


def test_files_of_processes_that_have_ended_are_removed_a_day_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        tempfile.TemporaryDirectory(dir="/tmp") as shared,
        python(WAITING) as process,
        python(WAITING) as other,
    ):
        monkeypatch.setattr(answer_folder, "_SHARED_FOLDER", shared)
        left = opened_socket(process.pid)
        folder = left.parent
        assert ends(process) == (0, "went on\n", "")
        assert left.exists()
        # A day of many killed processes leaves thousands, in any order.
        recent = [folder / f"{2**22 + number}-0-recent" for number in range(1100)]
        old = [left, *(folder / f"{2**22 + number}-0-old" for number in range(20))]
        yesterday = time.time() - 86_401
        for file in recent + old[1:]:
            file.touch()
        for file in old:
            os.utime(file, (yesterday, yesterday))
        assert look(other.pid).how == INSIDE
        assert not any(file.exists() for file in old)
        assert all(file.exists() for file in recent)
        assert ends(other) == (0, "went on\n", "")


def test_process_that_forks_is_inspected_and_its_children_end_well() -> None:
    with python(FORKING) as process:
        for _ in range(40):
            # Each look starts a thread of its own then, at another moment of a fork.
            opened_socket(process.pid).unlink()
        assert look(process.pid).how == INSIDE
        assert ends(process) == (0, "went on True\n", "")


@pytest.mark.parametrize("way", ["lock with a limit", "sleep", "select", "poll", "epoll"])
def test_process_whose_wait_was_interrupted_by_a_sample_is_inspected(way: str) -> None:
    with python(waiting_program(WAYS[way])) as process:
        wait_until(lambda: state_of(process.pid) == "S")
        # Some waits continue by another system call from then on.
        assert dump(process.pid, TOOLS).reason == ""
        wait_until(lambda: state_of(process.pid) == "S")
        assert look(process.pid).how == INSIDE
        assert ends(process) == (0, "went on 7\n", "")


def test_process_whose_only_thread_opens_a_file_that_does_not_come_is_inspected(
    tmp_path: Path,
) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with python(waiting_program(f"open({str(pipe)!r}).close()")) as process:
        wait_until(lambda: state_of(process.pid) == "S")
        assert look(process.pid).how == INSIDE
        pipe.open("w").close()
        assert ends(process) == (0, "went on 7\n", "")


@needs_namespaces
def test_process_with_a_tmp_of_its_own_is_inspected() -> None:
    with in_mount_namespace("mount -t tmpfs none /tmp") as process:
        found = look(process.pid)
        assert (found.how, found.why_outside) == (INSIDE, "")
        assert "fit" in [frame.function for frame in found.stack]
        [socket] = Path(f"/proc/{process.pid}/root/tmp/eagleray-inspect-0").iterdir()
        assert socket.name.startswith(f"{process.pid}-")
        assert not Path("/tmp/eagleray-inspect-0", socket.name).exists()
        assert ends(process) == (0, "went on\n", "")


@needs_namespaces
@pytest.mark.parametrize(
    "mounts",
    ["mount -t tmpfs -o ro none /tmp", "mount -t tmpfs none /tmp && touch /tmp/eagleray-inspect-0"],
)
def test_process_whose_tmp_is_of_no_use_is_read_from_outside(mounts: str) -> None:
    with in_mount_namespace(mounts) as process:
        found = look(process.pid)
        assert found.how == OUTSIDE
        assert "fit" in [frame.function for frame in found.stack]
        assert "/tmp" in found.why_outside and "Errno" not in found.why_outside
        assert raw_reading(process.pid) == {"reason": "folder"}
        assert ends(process) == (0, "went on\n", "")


def files_beside(socket: Path) -> list[str]:
    return [file.name for file in socket.parent.glob(f"{socket.name}*")]


@contextmanager
def program(code: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    with started([sys.executable, "-c", code, *arguments]) as process:
        yield process


@contextmanager
def in_mount_namespace(mounts: str) -> Iterator[subprocess.Popen[str]]:
    """A waiting process that sees other file systems: `unshare` and the shell become it."""
    command = f'{mounts} && exec "$@"'
    # The checkout, and with it the virtual environment, may be in /tmp.
    python = os.path.realpath(sys.executable)
    words = ["unshare", "--mount", "sh", "-c", command, "sh", python, "-c", WAITING]
    with started(words) as process:
        yield process


@contextmanager
def started(command: list[str]) -> Iterator[subprocess.Popen[str]]:
    """A process that has printed "ready"."""
    pipe = subprocess.PIPE
    process = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)
    try:
        assert process.stdout is not None and process.stdout.readline() == "ready\n"
        yield process
    finally:
        process.kill()
        process.communicate()
