"""The stack that faulthandler writes, as a sampler reads it; tests/remote/injected has the signal itself."""

from __future__ import annotations

from eagleray.remote.sampling.frames import PythonFrame
from eagleray.remote.sampling.stack_by_signal import parse


def test_frames_are_outermost_first_and_their_names_unescaped() -> None:
    text = """Stack (most recent call first):
  File "/w/a.py", line 12 in wait
  File "/w/gr\\xf6\\xdfe \\u4e2d\\U0001f600.py", line ??? in <module>
"""
    assert parse(text) == (
        PythonFrame("<module>", "/w/größe \u4e2d\U0001f600.py", 0),
        PythonFrame("wait", "/w/a.py", 12),
    )


def test_file_whose_name_looks_like_a_frame_is_one_frame() -> None:
    text = """Stack (most recent call first):
  File "/w/a", line 3 in b.py", line 12 in wait
"""
    assert parse(text) == (PythonFrame("wait", '/w/a", line 3 in b.py', 12),)


def test_only_the_last_stack_counts_and_other_text_is_none() -> None:
    stack = 'Stack (most recent call first):\n  File "/w/a.py", line {} in wait\n  ...\n'
    assert parse(stack.format(1) + stack.format(2)) == (PythonFrame("wait", "/w/a.py", 2),)
    assert parse("") == parse("x\n") == parse('  File "/w/a.py", line 1 in wait\n') == ()
    assert parse("Stack (most recent call first):\n  <no Python frame>\n") == ()
