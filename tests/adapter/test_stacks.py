"""The owners of frames, and which frames are folded."""

from __future__ import annotations

import pytest
from eagleray.adapter.sessions.stacks import (
    FrameOwners,
    fold,
    fold_traceback,
    is_noise,
    is_own_thread,
)
from eagleray.adapter.sessions.stops import exception_info, without_note

RAY = "/venv/lib/python3.11/site-packages/ray"
DEBUGPY = "/venv/lib/python3.11/site-packages/debugpy"
OWNERS = FrameOwners({"ray": RAY, "debugpy": DEBUGPY, "pydevd": f"{DEBUGPY}/_vendored/pydevd"})

WAITS = f"{RAY}/util/debugpy.py"
CORE = f"{RAY}/_private/worker.py"
COMPILED = "python/ray/_raylet.pyx"
RLLIB = f"{RAY}/rllib/env/env.py"
TRAIN = f"{RAY}/train/_internal/session.py"
MINE = "/home/me/train.py"
OTHER = "/venv/lib/python3.11/site-packages/verl/worker.py"

# The stack from the top, and what is left of it: "-" before a folded frame.
STACKS = [
    ("mine", [MINE], [MINE]),
    ("the debugger on top goes", [WAITS, f"{RAY}/util/rpdb.py", MINE, CORE], [MINE, "-" + CORE]),
    ("what breakpoint() called goes", [OTHER, MINE, WAITS, MINE, CORE], [MINE, "-" + CORE]),
    ("pydevd below is folded", [MINE, f"{DEBUGPY}/x.py"], [MINE, f"-{DEBUGPY}/x.py"]),
    ("pydevd on top goes", [f"{DEBUGPY}/_vendored/pydevd/pydevd.py", MINE], [MINE]),
    ("Ray's core on top goes", [CORE, COMPILED, MINE], [MINE]),
    (
        "the core below is folded",
        [MINE, CORE, COMPILED, OTHER],
        [MINE, "-" + CORE, "-" + COMPILED, OTHER],
    ),
    ("an installed library is the person's", [OTHER, MINE], [OTHER, MINE]),
    ("Ray Train below is folded", [MINE, TRAIN, CORE], [MINE, "-" + TRAIN, "-" + CORE]),
    (
        "who stops in RLlib reads RLlib",
        [RLLIB, CORE, RLLIB, TRAIN],
        [RLLIB, "-" + CORE, RLLIB, "-" + TRAIN],
    ),
    ("only Ray's core", [CORE, COMPILED], [CORE, COMPILED]),
    ("nothing", [], []),
]


@pytest.mark.parametrize(("stack", "expected"), [s[1:] for s in STACKS], ids=[s[0] for s in STACKS])
def test_fold_removes_and_marks_frames(stack: list[str], expected: list[str]) -> None:
    folded = fold([{"id": n, "source": {"path": path}} for n, path in enumerate(stack)], OWNERS)
    actual = [
        ("-" if f.get("presentationHint") == "subtle" else "") + f["source"]["path"] for f in folded
    ]
    assert actual == expected


def test_installed_package_of_the_stop_is_not_deemphasized() -> None:
    """debugpy marks every installed package."""
    paths = [OTHER, "/venv/lib/python3.11/site-packages/torch/nn.py", OTHER, MINE]
    hints = ["subtle", "subtle", "subtle", "normal"]
    frames = [
        {"id": n, "source": {"path": path}, "presentationHint": hint}
        for n, (path, hint) in enumerate(zip(paths, hints, strict=True))
    ]
    actual = [frame.get("presentationHint") for frame in fold(frames, OWNERS)]
    assert actual == [None, "subtle", None, "normal"]


def test_frames_without_a_source_belong_to_the_user() -> None:
    assert fold([{"id": 1}], OWNERS) == [{"id": 1}]


def test_frames_of_ray_are_recognized_without_roots() -> None:
    unknown = FrameOwners({})
    assert unknown.library("/x/site-packages/ray/_private/worker.py") == "ray"
    assert unknown.library("/home/ray/project/train.py") == ""
    assert unknown.is_debugger("/x/site-packages/ray/util/debugpy.py")


def test_internal_threads_and_variables_are_recognized() -> None:
    assert [name for name in ("MainThread", "PythonGCThread", "ray_print_logs", "AsyncIO Thread: default")
            if is_own_thread(name)] == ["PythonGCThread", "ray_print_logs"]  # fmt: skip
    rows = [{"name": "(return) set_trace"}, {"name": "(return) loss"}, {"name": "set_trace"}]
    assert [row["name"] for row in rows if is_noise(row)] == ["(return) set_trace"]


def test_note_of_debugpy_is_removed_from_exception_names() -> None:
    note = "ValueError\n       (note: full exception trace is shown but execution is paused at: f)"
    info = {"exceptionId": note, "details": {"typeName": note, "message": "bad"}, "text": note}
    bare = {
        "exceptionId": "ValueError",
        "details": {"typeName": "ValueError", "message": "bad"},
        "text": "ValueError",
    }
    assert without_note(info) == bare


def test_exception_details_have_only_properties_of_the_protocol() -> None:
    details = {"typeName": "ValueError", "message": "bad", "source": "/x/train.py"}
    info = exception_info({"exceptionId": "ValueError", "details": details}, str)
    assert info["details"] == {"typeName": "ValueError", "message": "bad"}
    assert exception_info({"exceptionId": "ValueError"}, str) == {"exceptionId": "ValueError"}


def traceback_of(*paths: str) -> str:
    """A traceback, outermost frame first, as pydevd writes it."""
    return "".join(f'  File "{path}", line 7, in f\n    f()\n' for path in paths)


BUILT = "/venv/lib/python3.11/site-packages/python/ray/_raylet.pyx"


@pytest.mark.parametrize(
    ("frames", "shown"),
    [
        ([MINE], [MINE]),
        ([BUILT, COMPILED, CORE, MINE, OTHER], [MINE, OTHER]),
        ([TRAIN, CORE, MINE], [MINE]),
        ([CORE, RLLIB, CORE, RLLIB], [RLLIB, RLLIB]),
        ([CORE, COMPILED], [CORE, COMPILED]),
    ],
)
def test_traceback_of_an_exception_lacks_frames_that_the_call_stack_folds(
    frames: list[str], shown: list[str]
) -> None:
    head = "Traceback (most recent call last):\n"
    text = fold_traceback(head + traceback_of(*frames), OWNERS)
    assert text == head + traceback_of(*shown)


def test_traceback_keeps_the_messages_of_its_exceptions() -> None:
    cause = "ValueError: bad\nin two lines\n"
    then = "\nThe above exception was the direct cause of the following exception:\n\n"
    error = "ray.exceptions.RayTaskError(ValueError): bad\n"
    text = fold_traceback(
        traceback_of(MINE, CORE) + cause + then + traceback_of(MINE, CORE) + error, OWNERS
    )
    assert text == traceback_of(MINE) + cause + then + traceback_of(MINE) + error


def test_exception_without_a_traceback_keeps_its_text() -> None:
    details = {"stackTrace": "no frames"}
    info = exception_info({"details": details}, lambda text: fold_traceback(text, OWNERS))
    assert info["details"] == {"stackTrace": "no frames"}
