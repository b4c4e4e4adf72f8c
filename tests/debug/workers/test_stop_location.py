"""Where workers stop, from stacks that py-spy recorded of Ray 2.60 (`recorded/`)."""

from __future__ import annotations

from pathlib import Path

import pytest
from eagleray.debug.workers.model import Location, StopLocation
from eagleray.debug.workers.stop_location import stop_in_dump
from eagleray.tools.pyspy import Dump, Frame, Stack, parse_json, parse_text
from hypothesis import given
from hypothesis import strategies as st

RECORDED = Path(__file__).parent / "recorded"
POST_MORTEM = StopLocation("post-mortem")


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        ("actor", StopLocation("breakpoint", Location("prog.py", 11, "PolicyWorker.train"))),
        ("actor-init", StopLocation("breakpoint", Location("prog.py", 34, "Init.__init__"))),
        ("async-actor", StopLocation("breakpoint", Location("prog.py", 22, "AsyncOne.run"))),
        ("threaded-actor", StopLocation("breakpoint", Location("prog.py", 28, "Threaded.run"))),
        ("task", StopLocation("breakpoint", Location("prog.py", 51, "nested"))),
        ("driver", StopLocation("breakpoint", Location("prog.py", 64, "<module>"))),
        ("post-mortem", POST_MORTEM),
    ],
)
def test_trace_of_the_dashboard(name: str, stop: StopLocation) -> None:
    dump = parse_text((RECORDED / f"trace-{name}.txt").read_text())
    assert dump is not None
    assert stop_in_dump(dump) == stop


@pytest.mark.parametrize(
    ("name", "stop"),
    [
        (
            "actor",
            StopLocation("breakpoint", Location("/home/me/code/prog.py", 11, "PolicyWorker.train")),
        ),
        ("driver", StopLocation("breakpoint", Location("/home/me/code/prog.py", 64, "<module>"))),
        ("post-mortem", POST_MORTEM),
    ],
)
def test_dump_of_our_own(name: str, stop: StopLocation) -> None:
    dump = parse_json(1, (RECORDED / f"dump-{name}.json").read_bytes(), "/home/me/code")
    assert dump is not None
    assert stop_in_dump(dump) == stop


def test_title_tells_a_dump_of_another_process() -> None:
    dump = parse_text((RECORDED / "trace-actor.txt").read_text())
    assert dump is not None and (dump.pid, dump.title) == (7967, "ray::PolicyWorker.train")
    assert stop_in_dump(dump, "ray::") is not None
    assert stop_in_dump(dump, "python") is None


def test_worker_that_does_not_wait_stops_nowhere() -> None:
    running = Dump(1, "", (Stack("MainThread", (Frame("train", "/code/train.py", 3),)),))
    assert stop_in_dump(running) is None


def test_function_called_set_trace_elsewhere_is_the_person_s_own() -> None:
    own = Dump(1, "", (Stack("MainThread", (Frame("set_trace", "/code/pdb.py", 3),)),))
    assert stop_in_dump(own) is None


def test_hostile_path_is_made_printable() -> None:
    frames = (Frame("set_trace", "/v/ray/util/debugpy.py", 94), Frame("f\x1b[1m", "/c/a\nb.py", 2))
    stop = stop_in_dump(Dump(1, "", (Stack("", frames),)))
    assert stop is not None and stop.location == Location("/c/a b.py", 2, "f [1m")


@pytest.mark.parametrize("text", ["", "Profiling is disabled", "<html>", "Process x: y", "{}"])
def test_something_else_is_not_a_trace(text: str) -> None:
    assert parse_text(text) is None


@pytest.mark.parametrize(
    "text", [b"", b"{}x", b"[1]", b'[{"frames": 3}]', b"null", b"\xff", b'["a"]']
)
def test_something_else_is_not_a_dump(text: bytes) -> None:
    assert parse_json(1, text) is None


def test_long_line_of_brackets_is_read_in_linear_time(monkeypatch: pytest.MonkeyPatch) -> None:
    head = "Process 1: ray::x\nThread 0x7F (idle)\n"
    frames = "    f (a.py:3)\n    <lambda> (/a (b)/c.py:4)\n    g (x:y.py:5)\n"
    endless = "    " + " (" * 200_000 + "\n    " + "f (a.py:" + "9" * 5000 + ")\n"
    dump = parse_text(head + endless + frames)
    assert dump is not None and dump.stacks[0].frames == (
        Frame("f", "a.py", 3),
        Frame("<lambda> (/a", "b)/c.py", 4),
        Frame("g", "x:y.py", 5),
    )
    assert parse_text(head + "    (a.py:3)\n    f (a.py:)\n    f (:3)\nf (a.py:3)") == Dump(
        1, "ray::x", (Stack("", ()),)
    )


@given(st.text())
def test_any_text_is_read_without_an_error(text: str) -> None:
    dump = parse_text("Process 1: ray::x\n" + text)
    assert dump is None or stop_in_dump(dump) is None or stop_in_dump(dump) is not None
