"""Answers the questions of a client."""

from __future__ import annotations

import _thread
import hashlib
import sys

from .awaited import awaits
from .descriptions import LONGEST_VALUE, access_of, children, described
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
    is_own_thread,
    locals_of,
    main_ident,
    thread_names,
)
from .operations import Refused

TYPE_CHECKING = False
if TYPE_CHECKING:
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

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._stop: Any = None

    def close(self) -> None:
        if self._stop is not None:
            self._stop.release()
            self._stop = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self, "on_" + question["op"])(question)
            return answer
        except Refused as refused:
            return {"error": str(refused), "refused": True}
        except FrameEnded as ended:
            return {"error": str(ended), "ended": True}
        except BaseException as error:
            return {"error": f"{type(error).__name__}: {error}"[:LONGEST_VALUE]}

    def on_threads(self, _question: dict[str, Any]) -> dict[str, Any]:
        names = thread_names()
        main = main_ident()
        own = _thread.get_ident()
        exceptions = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
        return {
            "threads": [
                {
                    "id": ident,
                    "name": names.get(ident, ""),
                    "is_main": ident == main,
                    "exception": handled_exception(exceptions.get(ident)),
                    "stack": [frame_row(frame) for frame in frames_of(top)],
                }
                for ident, top in sys._current_frames().items()
                if ident != own and not is_own_thread(frames_of(top))
            ]
        }

    def on_variables(self, question: dict[str, Any]) -> dict[str, Any]:
        """The local variables of a frame, or its global ones, those with data first."""
        held = [frame_at(question)]
        if question.get("scope") == "globals":
            names = data_first(held[0].f_globals)
        else:
            names = list(locals_of(held).items())
        return {"variables": [self._variable(name, value) for name, value in names]}

    def on_forget(self, _question: dict[str, Any]) -> dict[str, Any]:
        self._values.clear()
        return {}

    def on_source(self, question: dict[str, Any]) -> dict[str, Any]:
        """The text of a file whose code runs in some thread, as this process sees it."""
        path = question["path"]
        tops = sys._current_frames().values()
        if not any(frame.f_code.co_filename == path for top in tops for frame in frames_of(top)):
            raise FrameEnded("No thread runs code of this file any more")
        with open(path, "rb") as file:
            content = file.read(LONGEST_SOURCE)
        return {
            "text": content.decode("utf-8", "replace"),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    def on_children(self, question: dict[str, Any]) -> dict[str, Any]:
        value = self._values[question["reference"] - 1]
        return {
            "variables": [self._variable(name, child) for name, child in children(value)],
            "access": access_of(value),
        }

    def on_evaluate(self, question: dict[str, Any]) -> dict[str, Any]:
        held = [frame_at(question)]
        expression, names, others = question["expression"], locals_of(held), held[0].f_globals
        if question.get("allow_all"):
            value = eval(expression, others, names)  # noqa: S307 -- the user has allowed it
        else:
            value = evaluate(expression, others, names)
        return self._variable(expression, value)

    def on_stop(self, question: dict[str, Any]) -> dict[str, Any]:
        """Stops a thread, by default the main thread, at its next line of Python code; `code` is that of `stopping.py`."""
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
        return {"exceptions": held_exceptions()}

    def on_awaits(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"awaits": awaits()}

    def on_collectives(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"record": flight_record()}

    def _variable(self, name: str, value: Any) -> dict[str, Any]:
        has_children = next(iter(children(value)), None) is not None
        has_children = has_children and len(self._values) < MOST_VALUES
        if has_children:
            self._values.append(value)
        return {
            "name": name,
            "value": described(value),
            "type": type.__dict__["__qualname__"].__get__(type(value)),
            "reference": len(self._values) if has_children else 0,
        }
