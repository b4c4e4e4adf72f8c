"""Whether a stack unwinds: ends Python, a process group or an object of the user, or handles an exception."""

from __future__ import annotations

import re

from .frames import is_collective, is_users
from .source_blocks import handler_at

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .frames import PythonFrame

# Not `release_cache` or `finalize_gradients`, which belong to a step.
_TEARDOWN = re.compile(
    r"(^|[._])((destroy|shutdown|tear_?down|cleanup)(_\w+)?|clean_up|finalize|close|release|__exit__|__aexit__|__del__)$",
    re.IGNORECASE,
)
_EXIT_OF_PYTHON = re.compile(r"(^|\.)(_shutdown|_python_exit|_exit_function|_run_exitfuncs)$")
# The outermost frame of a program, and of a thread.
_BEGIN = re.compile(r"<module>$|(^|\.)_run_module_as_main$|(^|\.)_bootstrap$")
# A stack of more frames may have been cut off.
_MOST_FRAMES = 100
# `Popen._launch` forks a child of `multiprocessing`, whose stack begins with its parent's (Python 3.10 to 3.14).
_FORK = re.compile(r"(^|/)multiprocess(ing)?/popen_fork\.py$")
LOADER_LOOP = re.compile(
    r"(^|/)(torch/utils/data/_utils|torchdata/stateful_dataloader)/worker\.py$"
)
_EXIT_METHODS = re.compile(r"(^|\.)__a?exit__$")


def since_fork(frames: Sequence[PythonFrame]) -> Sequence[PythonFrame]:
    """The `frames` of a process without those in which its parent has forked it."""
    launched = [
        at
        for at, frame in enumerate(frames)
        if (frame.function.endswith("_launch") and _FORK.search(frame.file))
        or any(LOADER_LOOP.search(below.file) for below in frames[at + 1 : at + 2])
    ]
    return frames[launched[-1] + 1 :] if launched else frames


def is_tearing_down(frames: Sequence[PythonFrame]) -> bool:
    """Whether `frames` end a process group, an object of the user, or Python itself.

    On gloo a process group is ended by its destructor, in the frame after `destroy_process_group` has returned
    (measured with torch 2.13); so the names of the user's own functions count, too, if they are the innermost.
    """
    innermost_users = [frame for frame in frames if is_users(frame)][-1:]
    return is_at_exit(frames) or any(
        _TEARDOWN.search(frame.function)
        for frame in [*innermost_users, *filter(is_collective, frames)]
    )


def is_at_exit(frames: Sequence[PythonFrame]) -> bool:
    """Whether `frames`, frames of a main thread, are in the exit of Python: the program has reached its end."""
    return any(_EXIT_OF_PYTHON.search(frame.function) for frame in frames[:2])


def is_exit_function(frames: Sequence[PythonFrame]) -> bool:
    """Whether `frames` belong to a function that Python calls at its exit: no frame of the program is around it.

    This is also true of a program that embeds Python.
    """
    return 0 < len(frames) < _MOST_FRAMES and not _BEGIN.search(frames[0].function)


def handler_of(frames: Sequence[PythonFrame]) -> str:
    """In which block the call of `frames` is: `__exit__`, `finally`, `except`, or "" in none.

    The end of a function with `contextlib.contextmanager` is an `__exit__`, too.
    """
    for at, frame in reversed([*enumerate(frames)]):
        if is_users(frame):
            if any(_EXIT_METHODS.search(each.function) for each in frames[max(at - 1, 0) : at + 1]):
                return "__exit__"
            if handler := handler_at(frame.file, frame.line):
                return handler
    return ""
