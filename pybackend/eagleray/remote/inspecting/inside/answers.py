"""Answers the questions of a client."""

from __future__ import annotations

import contextlib
import hashlib
import itertools
import sys

from ...injected.outside_files import content_of
from .arrays import Array
from .awaited import awaits
from .descriptions import LONGEST_VALUE, access_of, child_count, children, described
from .exceptions import held_exceptions
from .expressions import evaluate
from .flight_record import flight_record
from .frames import (
    STOP_FILE,
    FrameEnded,
    data_first,
    frame_at,
    frame_row,
    frames_of,
    handled_exception,
    has_more,
    is_own_thread,
    locals_of,
    main_first,
    main_ident,
    other_threads,
    thread_names,
)
from .limits import ClientGone, Refused, begin, check, end
from .memory import Unreadable
from .objects import MOST_CHILDREN, name_of, of_exception, qualified_name_of, text_of
from .views import view_answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

# More than anyone expands by hand; each is held in the memory of the program.
MOST_VALUES = 20_000
LONGEST_SOURCE = 2 * 2**20
# Its names, once it is there.
_STOPPING: dict[str, Any] = {}


class Answers:
    """Answers the questions of one client.

    Values that it has been told of keep their number, and stay in the memory of the program, until it says `forget` or is
    gone.  A thread that it has stopped is released when it is gone.
    """

    def __init__(self, is_gone: Callable[[], bool] = bool) -> None:
        self._is_gone = is_gone
        self._values: list[Any] = []
        self._stop: Any = None

    def close(self) -> None:
        if self._stop is not None:
            self._stop.release()
            self._stop = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        begin(self._is_gone)
        try:
            answer: dict[str, Any] = getattr(self, "on_" + question["op"])(question)
            return answer
        except Refused as refused:
            return {"error": str(refused), "refused": True}
        except Unreadable as unreadable:
            return {"error": str(unreadable)}
        except FrameEnded as ended:
            return {"error": str(ended), "ended": True}
        except ClientGone:
            raise
        except BaseException as error:
            # Also SystemExit, which an audit hook of the program may raise anywhere.
            return {"error": _text_of_error(error)[:LONGEST_VALUE]}
        finally:
            end()

    def on_threads(self, _question: dict[str, Any]) -> dict[str, Any]:
        """The threads, with `is_cut` where the stack has more frames, or time was up."""
        names = thread_names()
        main = main_ident()
        exceptions = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
        tops = other_threads()
        threads = []
        for ident in main_first(main, tops):
            try:
                frames = frames_of(tops[ident])
                is_cut = has_more(frames)
            except Refused:
                frames, is_cut = [], True
            if not is_own_thread(frames):
                threads.append(
                    {
                        "id": ident,
                        "name": names.get(ident, ""),
                        "is_main": ident == main,
                        "exception": handled_exception(exceptions.get(ident)),
                        "stack": list(map(frame_row, frames)),
                        "is_cut": is_cut,
                    }
                )
        return {"threads": threads}

    def on_variables(self, question: dict[str, Any]) -> dict[str, Any]:
        """The local variables of a frame, or its global ones; of many, those with data first."""
        held = [frame_at(question)]
        if question.get("scope") == "globals":
            return self._variables(*data_first(held[0].f_globals))
        local = locals_of(held)
        if len(local) > MOST_CHILDREN:
            return self._variables(*data_first(local))
        return self._variables(list(local.items()), len(local))

    def on_forget(self, _question: dict[str, Any]) -> dict[str, Any]:
        self._values.clear()
        return {}

    def on_source(self, question: dict[str, Any]) -> dict[str, Any]:
        """The text of a file whose code runs in some thread, as this process sees it."""
        path = question["path"]
        tops = other_threads().values()
        if not any(
            text_of(frame.f_code.co_filename) == path for top in tops for frame in frames_of(top)
        ):
            raise FrameEnded("No thread runs code of this file any more")
        content = content_of(path, LONGEST_SOURCE)
        return {
            "text": content.decode("utf-8", "replace"),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    def on_children(self, question: dict[str, Any]) -> dict[str, Any]:
        value = self._values[question["reference"] - 1]
        listed = self._variables(children(value), child_count(value))
        return {**listed, "access": access_of(value)}

    def on_evaluate(self, question: dict[str, Any]) -> dict[str, Any]:
        held = [frame_at(question)]
        expression, names, others = question["expression"], locals_of(held), held[0].f_globals
        if question.get("allow_all"):
            value = eval(expression, others, names)  # noqa: S307 -- the user has allowed it
            # It may have taken long.
            begin(self._is_gone)
        else:
            value = evaluate(question["tree"], others, names)
        return self._variable(expression, value)

    def on_view(self, question: dict[str, Any]) -> dict[str, Any]:
        """A value as `views.py` describes it, or short texts of many; a GPU isn't waited for."""
        held = [frame_at(question)]
        return view_answer(question, held[0].f_globals, locals_of(held))

    def on_stop(self, question: dict[str, Any]) -> dict[str, Any]:
        """Stops a thread, by default the main thread, at its next line of Python code; `code` is the code of
        `thread_stop.py`.
        """
        self.close()
        if not _STOPPING:
            _STOPPING["__name__"] = "eagleray_stop"
            exec(compile(question["code"], STOP_FILE, "exec"), _STOPPING)  # noqa: S102 -- our own code
        stop = _STOPPING["ThreadStop"](question.get("thread") or main_ident())
        stop.begin()
        self._stop = stop
        return self.on_stop_state(question)

    def on_stop_state(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Whether the thread is `stopped`, and whether the stop is `pending`: neither means that it is released."""
        if self._stop is None:
            return {"stopped": False, "pending": False}
        state: dict[str, Any] = self._stop.state()
        return state

    def on_step(self, question: dict[str, Any]) -> dict[str, Any]:
        """Lets the stopped thread run to its next line: `kind` is "over", "in" or "out"."""
        if self._stop is None:
            return {"stopped": False, "pending": False}
        self._stop.step(question["kind"], question.get("skipped", ""))
        return self.on_stop_state(question)

    def on_release(self, _question: dict[str, Any]) -> dict[str, Any]:
        self.close()
        return {}

    def on_exceptions(self, _question: dict[str, Any]) -> dict[str, Any]:
        return held_exceptions()

    def on_awaits(self, _question: dict[str, Any]) -> dict[str, Any]:
        return awaits()

    def on_collectives(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"record": flight_record()}

    def _variables(self, pairs: Iterable[tuple[str, Any]], count: int) -> dict[str, Any]:
        """The first of `count` variables, as many as there is time for; `left_out` is the number of the others."""
        listed: list[dict[str, Any]] = []
        with contextlib.suppress(Refused):
            for name, value in itertools.islice(pairs, MOST_CHILDREN):
                check()
                listed.append(self._variable(name, value))
        return {"variables": listed, "left_out": max(0, count - len(listed))}

    def _variable(self, name: str, value: Any) -> dict[str, Any]:
        has_children = child_count(value) > 0 and len(self._values) < MOST_VALUES
        if has_children:
            self._values.append(value)
        return {
            "name": name,
            "value": described(value),
            "type": qualified_name_of(value.kind if type(value) is Array else type(value)),
            "reference": len(self._values) if has_children else 0,
        }


def _text_of_error(error: BaseException) -> str:
    """The error on one line; only texts of its arguments are taken, no `__str__` is called."""
    args = of_exception(error, "args")
    if len(args) == 1 and type(args[0]) is str:
        return f"{name_of(type(error))}: {args[0]}"
    return described(error)
