"""Stacks of gdb and pystack."""

from __future__ import annotations

import pytest
from eagleray.observe.hangs.texts import lines

from tests.observe.hangs.given_dumps import (
    BARRIER,
    PYSTACK,
    dumps_in,
    given,
    process,
)

GDB = """\
Thread 2 (Thread 0x7f2a4bfff640 (LWP 4243) "python3"):
Traceback (most recent call first):
  <built-in method acquire of _thread.lock object at remote 0x7f2a50a0c0>
  File "/work/load.py", line 31, in fetch
    return (self.lock.acquire())
  File "/usr/lib/python3.10/threading.py", line 953, in run
    self._target(*self._args, **self._kwargs)

Thread 1 (Thread 0x7f2a51d3c1c0 (LWP 4242) "python3"):
Traceback (most recent call first):
  File "/work/train.py", line 12, in <module>
    thread.join()
"""


def test_threads_of_gdb_have_no_lines_of_source_among_their_frames() -> None:
    (dump,) = dumps_in(GDB)
    assert [[frame.function for frame in each.frames] for each in dump.threads] == [
        ["run", "fetch", "lock 0x7f2a50a0c0.acquire"],
        ["<module>"],
    ]


def test_native_backtrace_of_gdb_is_in_the_picture() -> None:
    text = (
        "(gdb) bt\n#0  __lll_lock_wait () at ../sysdeps/lowlevellock.S:135\n"
        "#1  0x00007fc733b1b7b1 in __kmp_lock_suspend_mx () from /x/libiomp5.so\n"
        "#2  0x00007fc70f72ee95 in at::set_num_threads(int) () from /x/libtorch_cpu.so\n"
    )
    taken = given("-", stdin=(process(900, "t.py", *BARRIER) + text).encode())
    assert taken.verdict.sentence.startswith("Process 900 waits in barrier")
    assert (
        "[unknown process 2] at::set_num_threads(int) (libtorch_cpu.so) > __kmp_lock_suspend_mx (libiomp5.so)"
        " > __lll_lock_wait (lowlevellock.S)" in list(lines(taken))
    )
    (row,) = given("-", stdin=f"$ gdb -p 7740\n{text}".encode()).ranks
    assert row.pid == 7740


def test_threads_of_pystack_have_their_names() -> None:
    worker = PYSTACK.replace("2204 (python3.12)", "2209 (req-worker)").replace("<module>", "run")
    main = PYSTACK.replace("<module>", "start")
    taken = given("-", stdin=f"$ pystack remote --locals 2204\n{worker}\n{main}".encode())
    assert [row.pid for row in taken.ranks] == [2204]
    assert [each.thread for each in taken.threads] == ["req-worker"]


FULL_GDB = """\
#4 Frame 0x7f1a, for file /w/load.py, line 177, in get (self=<Queue at remote 0x7f19>)
    self.not_empty.wait(remaining)
#12 Frame 0x5592, for file /w/train.py, line 412, in train (epoch=31)
"""


OLD_GDB = """\
#2 <built-in method acquire of thread.lock object at remote 0x7f0a>
#4 file '/w/load.py', in 'get'
#12 file '/w/train.py', in 'train'
"""


@pytest.mark.parametrize(
    ("text", "functions"),
    [(PYSTACK, ["<module>", "collect"]), (FULL_GDB, ["train", "get"]), (OLD_GDB, ["train", "get"])],
)
def test_further_forms_are_read(text: str, functions: list[str]) -> None:
    (dump,) = dumps_in(text)
    assert [frame.function for frame in dump.threads[0].frames] == functions


def test_stack_of_a_single_thread_and_native_frames_of_pystack_are_read() -> None:
    (single,) = dumps_in('Stack (most recent call first):\n  File "/a/t.py", line 3 in f\n')
    assert [frame.function for frame in single.threads[0].frames] == ["f"]
    native = '    (C) File "./x.c", line 3, in dl_iterate_phdr (/usr/lib/libc.so.6)\n'
    (dump,) = dumps_in(PYSTACK + native)
    assert (len(dump.threads[0].frames), dump.natives[0][0].function) == (2, "dl_iterate_phdr")


def test_process_that_gdb_has_attached_to_has_its_pid() -> None:
    (row,) = given("-", stdin=f"$ gdb -p 7740 -ex py-bt\n{FULL_GDB}".encode()).ranks
    assert row.pid == 7740
