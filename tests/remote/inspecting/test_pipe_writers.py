"""A process that waits for room in a pipe isn't stopped: its write would return early, and lose the rest."""

from __future__ import annotations

from eagleray.remote.inspecting.process_answers import raw_reading
from eagleray.remote.sampling import proc
from eagleray.remote.sampling.pyspy_dumps import dump, native_threads
from eagleray.tools.pyspy import PySpy

from tests.remote.inspecting.test_processes import TOOLS, ends, look, python, wait_until

# The reader begins when the program is told to.
PROGRAM = """
import os, sys, threading
reading, writing = os.pipe()
def reader():
    sys.stdin.readline()
    while os.read(reading, 4096):
        pass
threading.Thread(target=reader).start()
print("ready", flush=True)
sent = os.write(writing, b"x" * 300_000)
os.close(writing)
print(sent, flush=True)
"""


async def test_whole_write_arrives_after_pictures_and_inspections() -> None:
    with python(PROGRAM) as process:
        pid = process.pid
        wait_until(lambda: proc.writes_to_pipe(pid))
        assert dump(pid, TOOLS).how == "py-spy nonblocking"
        assert native_threads(pid, TOOLS).reason == "pipe-write"
        assert await PySpy().dump(pid) is not None
        look(pid, "sent")
        raw_reading(pid)
        assert ends(process) == (0, "300000\n", "")


def test_process_without_such_a_write_is_stopped_for_its_stack() -> None:
    with python("print('ready', flush=True); input()") as process:
        wait_until(lambda: proc.waits_in(process.pid) != "")
        assert not proc.writes_to_pipe(process.pid)
        assert dump(process.pid, TOOLS).how == "py-spy blocking"
