"""Variables that are read from another thread stay as they are, and what they held leaves the memory with them."""

import subprocess
from pathlib import Path

import eagleray
import pytest

from tests.adapter.harness import EVERY_PYTHON

# Until its frame is read, `work` waits: in a function that it calls, in itself, or in a trace function, which Python calls
# with the frame.  Such a function keeps no other trace in the frame.
PROGRAM = """
import gc, sys, threading, weakref
from eagleray.remote.inspecting.inside.frames import frames_of, locals_of

class Large: pass
waits, read = threading.Event(), threading.Event()

def wait():
    waits.set()
    read.wait(30)

def lock():
    gate = threading.Lock()
    gate.acquire()
    return gate

def work(way, gate):
    large = Large()
    watched = weakref.ref(large)
    if way == "traced":
        sys.settrace(trace)
        wait_not()
        sys.settrace(None)
    elif way == "call":
        wait()
    else:
        waits.set()
        gate.acquire()
    assert large is watched()
    large = None
    gc.collect()
    assert watched() is None, gc.get_referrers(watched())

def wait_not(kept=7):
    return kept

def trace(frame, event, arg):
    if frame.f_code.co_name == "wait_not":
        sys.settrace(None)
        wait()

def run(way, gate):
    failed.append(way)
    work(way, gate)
    failed.remove(way)

failed = []
for way in ("call", "itself", "traced"):
    waits.clear(); read.clear()
    gate = lock()
    thread = threading.Thread(target=run, args=(way, gate))
    thread.start()
    waits.wait(30)
    name = "wait_not" if way == "traced" else "work"
    while True:
        frames = frames_of(sys._current_frames()[thread.ident])
        held = [frame for frame in frames if frame.f_code.co_name == name]
        if way != "itself" or frames[0] is held[0]:
            break
    del frames
    if way == "traced":
        assert locals_of(held) == {"kept": 7}
    else:
        assert set(locals_of(held)) == {"way", "gate", "large", "watched"}
    del held
    read.set(); gate.release()
    thread.join()
    assert not failed, failed
"""


@pytest.mark.parametrize("interpreter", EVERY_PYTHON)
def test_read_variables_stay_and_are_released(interpreter: str) -> None:
    done = subprocess.run(
        [interpreter, "-c", PROGRAM],
        env={"PYTHONPATH": str(Path(eagleray.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
