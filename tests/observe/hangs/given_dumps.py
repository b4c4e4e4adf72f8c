"""Dumps as tools write them, and the picture of them."""

from __future__ import annotations

import io
from collections import deque
from collections.abc import Iterator
from pathlib import Path

from eagleray.observe.hangs.model import Picture
from eagleray.observe.hangs.pasted.dumps_in_text import DumpedProcess, dumps_in_lines
from eagleray.observe.hangs.pasted.given_files import GivenFiles
from eagleray.observe.hangs.pasted.pasted import picture_of

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


def dumps_in(text: str) -> Iterator[DumpedProcess]:
    return dumps_in_lines(text.splitlines(), deque())


def stacks(dump: DumpedProcess) -> dict[str, list[str]]:
    return {
        thread.name: [f"{frame.function} {frame.file}:{frame.line}" for frame in thread.frames]
        for thread in dump.threads
    }


def given(*paths: Path | str, stdin: bytes = b"") -> Picture:
    return picture_of(GivenFiles([str(path) for path in paths], io.BytesIO(stdin)))


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


PYSTACK = """\
Traceback for thread 2204 (python3.12) [Has the GIL] (most recent call last):
    (Python) File "/w/nightly.py", line 96, in <module>
        main()
    (Python) File "/w/nightly.py", line 71, in collect
        gateway.call()
"""
