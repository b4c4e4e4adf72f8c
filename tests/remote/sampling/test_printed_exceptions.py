"""The exception at the end of a log: of the right process, the first of its chain, and only if nothing much follows."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from eagleray.remote.sampling import printed_exceptions, proc
from eagleray.remote.sampling.printed_exceptions import last_exception, log_of, printed_by
from hypothesis import given
from hypothesis import strategies as st

LIBRARY = "/venv/lib/python3.11/site-packages/torch/nn/modules.py"
ONE = f"""step 3
Traceback (most recent call last):
  File "/home/me/train.py", line 80, in fit
    loss = self.model(batch)
           ^^^^^^^^^^^^^^^^^
  File "{LIBRARY}", line 7, in forward
    raise ValueError(1)
ValueError: shape 3
"""
CHAIN = (
    ONE
    + """
During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/home/me/train.py", line 99, in clean
    self.close()
RuntimeError: connection closed
"""
)
MARKED = "".join(f"[rank1]: {line}\n" for line in ONE.splitlines()[1:])


def said(text: str, rank: int = 0, *, is_shared: bool = False) -> tuple[str, str, int] | None:
    found = last_exception(text, rank, is_shared=is_shared)
    if found is None:
        return None
    return (found.text, *(found.place[1:] if found.place else ("", 0)))


SHAPE = "ValueError: shape 3", "/home/me/train.py", 80


@pytest.mark.parametrize(
    ("text", "exception"),
    [
        ("", None),
        ("step 1\nstep 2\n", None),
        (ONE, SHAPE),
        # The first exception of a chain.
        (CHAIN, SHAPE),
        (
            ONE + "step 4\n" + CHAIN.replace("shape 3", "shape 4"),
            ("ValueError: shape 4", *SHAPE[1:]),
        ),
        # Handled long ago, or cut off.
        (ONE + "step\n" * 51, None),
        (ONE.partition("ValueError:")[0], None),
        # A progress bar has no line end.
        (ONE.replace("step 3\n", " 10%|#  |\r 20%|## |"), SHAPE),
        (
            ONE.replace("ValueError: shape 3", "KeyboardInterrupt"),
            ("KeyboardInterrupt", *SHAPE[1:]),
        ),
        (MARKED, None),
        (
            "Fatal Python error: Segmentation fault\n\nThread 0x1 (most recent call first):\n"
            f'  File "{LIBRARY}", line 3 in forward\n  File "/home/me/train.py", line 5 in fit\n',
            ("Fatal Python error: Segmentation fault", "/home/me/train.py", 5),
        ),
    ],
)
def test_exception_that_counts(text: str, exception: tuple[str, str, int] | None) -> None:
    assert said(text) == exception


def test_log_of_several_ranks_tells_only_what_names_the_rank() -> None:
    lines = MARKED.splitlines(keepends=True)
    # Lines of another rank come in between.
    mixed = "".join(f"{line}[rank0]: step 7\n" for line in lines) + ONE
    assert said(mixed, 1, is_shared=True) == SHAPE
    assert said(mixed, 0, is_shared=True) is None
    assert said("[default1]:" + MARKED.replace("\n", "\n[default1]:"), 1, is_shared=True) == SHAPE


PARTS = [
    *'x :\n\t"',
    "Traceback (most recent call last):\n",
    "E: x\n",
    '  File "f", line 1, in g\n',
]


@given(st.lists(st.sampled_from(PARTS)))
def test_any_log_is_read(parts: list[str]) -> None:
    found = last_exception("".join(parts), 0)
    assert found is None or (found.text.strip() and "\n" not in found.text)


PRINTS = "import sys, time; print({!r}, file=sys.stderr, flush=True); time.sleep(600)"


def test_only_a_file_without_other_writers_is_the_log_of_a_process(tmp_path: Path) -> None:
    path = tmp_path / "rank.err"
    with path.open("wb") as file:
        process = subprocess.Popen(
            [sys.executable, "-c", PRINTS.format("x" * 70_000 + "\n" + ONE)], stderr=file
        )
    try:
        while not path.read_text().endswith("shape 3\n\n"):
            assert process.poll() is None
        log = log_of(process.pid)
        assert log is not None
        found = printed_by(process.pid, 0, log, proc.all_processes())
        assert found is not None and found.text == "ValueError: shape 3"
        with path.open("ab") as file:
            other = subprocess.Popen([sys.executable, "-c", "input()"], stdin=-1, stderr=file)
        with other:
            assert printed_by(process.pid, 0, log, proc.all_processes()) is None
            assert other.stdin is not None
            other.stdin.close()
        # The file is another one now.
        path.rename(tmp_path / "old")
        path.write_text(ONE)
        assert printed_by(process.pid, 0, log, proc.all_processes()) is None
    finally:
        process.kill()
        process.wait()


def test_pipe_or_file_of_another_user_is_not_read(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    assert printed_exceptions.tail_at(str(pipe)) == ""
    if os.geteuid() == 0:
        foreign = tmp_path / "foreign"
        foreign.write_text(ONE)
        os.chown(foreign, 12345, -1)
        assert printed_exceptions.tail_at(str(foreign)) == ""
    assert printed_exceptions.tail_at(str(tmp_path / "none")) == ""
