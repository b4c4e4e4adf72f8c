"""The reason of a failed run, from what Python, Ray, torchrun, hydra and rich print in a failure."""

from __future__ import annotations

import subprocess
import sys

import pytest
from eagleray.runs.failure_reason import reason_in
from eagleray.runs.terminal_output import tail_in

# Programs and the reason that follows from what Python prints.
PROGRAMS = {
    "members of a group": (
        """
class Gone(Exception): pass
raise ExceptionGroup("title", [ValueError("a"), Gone("b")])
""",
        "Gone: b",
    ),
    "nested groups": (
        """
class Gone(Exception): pass
raise BaseExceptionGroup("title", [Gone("x"), BaseExceptionGroup("inner", [KeyboardInterrupt()])])
""",
        "KeyboardInterrupt",
    ),
    "task group": (
        """
import asyncio
async def failing(text): raise ValueError(text)
async def main():
    async with asyncio.TaskGroup() as group:
        group.create_task(failing("a\\nsecond line"))
asyncio.run(main())
""",
        "ValueError: a",
    ),
    "notes": (
        """
class Gone(Exception): pass
error = Gone("boom")
error.add_note("Note: shard 7\\n  of 8")
raise error
""",
        "Gone: boom",
    ),
    "class within a function": (
        """
def f():
    class Gone(Exception): pass
    raise Gone("boom")
f()
""",
        "f.<locals>.Gone: boom",
    ),
    "chain": (
        """
class Gone(Exception): pass
try: {}["x"]
except KeyError as error: raise Gone("boom") from error
""",
        "Gone: boom",
    ),
    "message on the next line": (
        """raise AssertionError("\\nNot equal to tolerance rtol=1e-07")""",
        "AssertionError: Not equal to tolerance rtol=1e-07",
    ),
    "syntax": ("x = = 1", "SyntaxError: invalid syntax"),
    "message on several lines": (
        """raise RuntimeError("Error(s) in loading state_dict for M:\\n\\tMissing key(s)")""",
        "RuntimeError: Error(s) in loading state_dict for M: Missing key(s)",
    ),
    "errors of finalizers and tasks": (
        """
import asyncio, threading
class Finalized:
    def __del__(self): raise AttributeError("in a finalizer")
Finalized.kept = Finalized()
async def task():
    try: raise OSError("first")
    except OSError: raise KeyError("task")
async def main():
    main.kept = asyncio.create_task(task())
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    raise ValueError("boom")
asyncio.run(main())
""",
        "ValueError: boom",
    ),
    "error of a thread": (
        """
import sys, threading
class Gone(Exception): pass
def f(): raise Gone("in a thread")
thread = threading.Thread(target=f)
thread.start(); thread.join(); sys.exit(1)
""",
        "Gone: in a thread",
    ),
    "error of a logger": (
        """
import logging
class Gone(Exception): pass
try: raise Gone("boom")
finally:
    logging.warning("%d", "x")
""",
        "Gone: boom",
    ),
    "finalizer, then a message": (
        """
import argparse
class Finalized:
    def __del__(self): raise AttributeError("in a finalizer")
Finalized()
argparse.ArgumentParser("a.py").error("bad")
""",
        "a.py: error: bad",
    ),
    "logged and handled, then a message": (
        """
import logging, sys
def f():
    try: {}["x"]
    except KeyError:
        try: raise OSError("refused")
        except OSError: logging.exception("retry")
f()
sys.exit("No checkpoint found in /data/ckpt")
""",
        "No checkpoint found in /data/ckpt",
    ),
    "logged last": (
        """
import logging, sys
def f():
    logging.error("retry")
    try: raise OSError("refused")
    except OSError: logging.exception("failed")
f()
sys.exit(1)
""",
        "OSError: refused",
    ),
    "message of a logger, then an exception and another message": (
        """
import atexit, logging, sys
atexit.register(print, "Synced 3 files", file=sys.stderr)
logging.error("no luck")
raise OSError("refused")
""",
        "OSError: refused",
    ),
    "exit with a message": ("raise SystemExit('no data in /x')", "no data in /x"),
    "crash": (
        "import faulthandler, ctypes; faulthandler.enable(); ctypes.string_at(0)",
        "Fatal Python error: Segmentation fault",
    ),
}
TORCHRUN = """\
[rank1]: Traceback (most recent call last):
[rank1]:   File "train.py", line 3, in <module>
[rank1]:     raise Gone("boom")
[rank1]: __main__.Gone: boom
[rank0]: Traceback (most recent call last):
[rank0]:   File "train.py", line 4, in <module>
[rank0]:     dist.barrier()
[rank0]: RuntimeError: [/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:553] Connection closed by peer
W1129 09:20:03.899000 19884 torch/distributed/elastic/multiprocessing/api.py:1028] Sending process 20028 closing signal SIGTERM
E1129 09:20:03.964000 19884 torch/distributed/elastic/multiprocessing/api.py:1002] failed (exitcode: 1) local_rank: 1
Traceback (most recent call last):
  File "<frozen runpy>", line 198, in _run_module_as_main
  File "/lib/torch/distributed/launcher/api.py", line 383, in launch_agent
    raise ChildFailedError(
"""
TABLE = """\
torch.distributed.elastic.multiprocessing.errors.ChildFailedError:\x20
============================================================
train.py FAILED
------------------------------------------------------------
Failures:
[1]:
  time      : 2026-11-29_09:20:03
  rank      : 0 (local_rank: 0)
  exitcode  : -15 (pid: 20028)  (SIGTERM)
  traceback : Signal 15 (SIGTERM) received by PID 20028
------------------------------------------------------------
Root Cause (first observed failure):
[0]:
  time      : 2026-11-29_09:20:03
  rank      : 1 (local_rank: 1)
  exitcode  : 1 (pid: 20029)
  error_file: <N/A>
  traceback : To enable traceback see: https://pytorch.org/docs/stable/elastic/errors.html
============================================================
"""
HYDRA = "Set the environment variable HYDRA_FULL_ERROR=1 for a complete stack trace.\n"
OUTPUTS = {
    "torchrun": (TORCHRUN + TABLE, "__main__.Gone: boom"),
    "torchrun whose ranks print elsewhere": (
        TABLE,
        "torch.distributed.elastic.multiprocessing.errors.ChildFailedError: train.py FAILED",
    ),
    "Ray's task": (
        """\
Traceback (most recent call last):
  File "p.py", line 15, in <module>
    ray.get(f.remote())
ray.exceptions.RayTaskError(Gone): \x1b[36mray::f()\x1b[39m (pid=23749, ip=192.0.2.2)
  File "p.py", line 5, in f
    def f(): raise Gone("boom")
             ^^^^^^^^^^^^^^^^^^
Gone: boom
\x1b[33m(raylet)\x1b[0m Lease: 7
""",
        "Gone: boom",
    ),
    "Ray's actor, and its own lines": (
        """\
ray.exceptions.ActorDiedError: The actor died because of an error raised in its creation task, \x1b[36mray::A.__init__()\x1b[39m (pid=2, ip=192.0.2.2, actor_id=75, repr=<p.A object at 0x7f>)
           ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
  File "p.py", line 8, in __init__
    def __init__(self): raise Gone("start")
Gone: start
\x1b[36m(A pid=2)\x1b[0m Exception raised in creation task: \x1b[36mray::A.__init__()\x1b[39m (pid=2)
\x1b[36m(A pid=2)\x1b[0m   File "p.py", line 8, in __init__
\x1b[36m(A pid=2)\x1b[0m Gone: start
""",
        "Gone: start",
    ),
    "lines of several workers": (
        """\
\x1b[36m(A pid=2)\x1b[0m Traceback (most recent call last):
\x1b[36m(B pid=3)\x1b[0m Step: 7
\x1b[36m(A pid=2)\x1b[0m   File "p.py", line 8, in g
\x1b[36m(A pid=2)\x1b[0m p.Gone: boom\x1b[32m [repeated 2x across cluster] (Ray deduplicates logs by default.)\x1b[0m
\x1b[36m(B pid=3)\x1b[0m Step: 8
""",
        "p.Gone: boom",
    ),
    "hydra's program": (
        "Error executing job with overrides: []\nTraceback (most recent call last):\n"
        f'  File "h.py", line 5, in main\n    raise Gone("boom")\nmain.<locals>.Gone: boom\n\n{HYDRA}',
        "main.<locals>.Gone: boom",
    ),
    "hydra's override": (
        "Could not override 'b'.\nTo append to your config use +b=1\nKey 'b' is not in struct\n"
        f"    full_key: b\n    object_type=dict\n\n{HYDRA}",
        "Could not override 'b'.",
    ),
    "rich": (
        """\
╭───────────────────── Traceback (most recent call last) ──────────────────────╮
│ /tmp/ty.py:4 in main                                                         │
│                                                                              │
│   3 def main(n: int = 1):                                                    │
│ ❱ 4 │   raise Gone("boom")                                                   │
╰──────────────────────────────────────────────────────────────────────────────╯
Gone: boom
more
""",
        "Gone: boom",
    ),
    "typer's usage": (
        """\
Usage: ty.py [OPTIONS]
Try 'ty.py --help' for help.
╭─ Error ──────────────────────────────────────────────────────────────────────╮
│ Invalid value for '--n': Input should be a valid integer, unable to parse    │
│ string as an integer                                                         │
╰──────────────────────────────────────────────────────────────────────────────╯
""",
        "Invalid value for '--n': Input should be a valid integer, unable to parse string as an integer",
    ),
}


@pytest.mark.parametrize("case", PROGRAMS)
def test_reason_is_what_python_prints_last(case: str) -> None:
    program, reason = PROGRAMS[case]
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60
    )
    assert ran.returncode != 0
    assert tail_in(ran.stderr).reason == reason, ran.stderr


@pytest.mark.parametrize("case", OUTPUTS)
def test_reason_is_found_between_lines_of_libraries(case: str) -> None:
    text, reason = OUTPUTS[case]
    assert tail_in(text).reason == reason


def test_long_line_of_digits_is_read_once() -> None:
    # Reading on from each of them would outlast the time limit of a test.
    assert reason_in(["7" * 2**20]) == "7" * 2**20
