"""Reads values in a worker that a debugger has stopped; this text runs there after the modules of `inside/` up to `views`.

What may wait, a copy from a GPU or code of a library, runs in a thread of its own, which is given up after a time.
"""

from __future__ import annotations

import json
import sys
import threading

from .inside.descriptions import described
from .inside.limits import Refused, begin, end
from .inside.memory import Unreadable, of_tensor
from .inside.objects import of_exception
from .inside.views import MOST_CELLS, ValueReading, is_dataframe, rounded, view_answer, view_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Numbers that are summed up: with numpy, and without.
_MOST_BY_NUMPY, _MOST_IN_PYTHON = 2**23, 2**19
# debugpy warns about an evaluation that takes longer than 3 s (`PYDEVD_WARN_EVALUATION_TIMEOUT`).
_CPU_S, _WAITING_S = 0.7, 1.0
_MOST_ROWS_COUNTED = 2_000_000
_PAGE = 50
_OUTPUT = "eagleray"
_waiting: list[Any] = []


class StoppedReading(ValueReading):
    """Copies bounded parts from a device, lets numpy add up copies of ours, and pandas read its dataframes."""

    def __init__(self) -> None:
        self.library = sys.modules.get("numpy")
        self.most = _MOST_IN_PYTHON if self.library is None else _MOST_BY_NUMPY

    def copied(self, tensor: Any, index: Any) -> Any:
        device = of_tensor(tensor, "device")
        if str(device) == "meta":
            raise Unreadable("A tensor of the device meta has no numbers")
        # A copy would end the recording of a CUDA graph with an error.
        if device.type == "cuda" and sys.modules["torch"].cuda.is_current_stream_capturing():
            raise Unreadable("This thread records a CUDA graph, so nothing is copied from the GPU")

        def copy() -> Any:
            return tensor.detach()[index].to("cpu")

        return in_thread(copy, f"{device} gave no answer within {_WAITING_S:g} s: it may hang")

    def table(self, value: Any, question: dict[str, Any]) -> dict[str, Any] | None:
        if not is_dataframe(value):
            return None
        late = f"pandas gave no answer within {_WAITING_S:g} s"
        record: dict[str, Any] = in_thread(lambda: _table(value, question), late)
        return record


def in_thread(function: Callable[[], Any], late: str) -> Any:
    """The value of a function that may wait for long.  Raises Unreadable with `late` after a time.

    A thread that still waits then is left alone; none is started beside it.
    """
    if any(thread.is_alive() for thread in _waiting):
        raise Unreadable("An earlier reading still waits")
    results: list[Any] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            results.append(function())
        except BaseException as error:
            errors.append(error)

    thread: Any = threading.Thread(target=run, name="Eagleray", daemon=True)
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    thread.start()
    thread.join(_WAITING_S)
    _waiting[:] = [thread]
    if errors:
        if isinstance(errors[0], (Refused, Unreadable)):
            raise errors[0]
        raise Unreadable(_text_of(errors[0]))
    if not results:
        raise Unreadable(late)
    return results[0]


def _text_of(error: BaseException) -> str:
    args = of_exception(error, "args")
    text = args[0] if len(args) == 1 and type(args[0]) is str else described(error)
    return f"{type(error).__name__}: {text}"[:400]


def _table(value: Any, question: dict[str, Any]) -> dict[str, Any]:
    """Columns with type and missing values, and some rows.  Only the library's own functions of it are called."""
    pandas = sys.modules["pandas"]
    frame = value if type(value) is pandas.DataFrame else pandas.DataFrame(value)
    height, width = frame.shape
    first = max(0, min(height - 1, question.get("row") or 0))
    left = max(0, min(width - 1, question.get("column") or 0))
    rows = max(1, min(question.get("rows") or _PAGE, 200))
    columns = max(1, min(question.get("columns") or _PAGE, MOST_CELLS // rows))
    part = frame.iloc[first : first + rows, left : left + columns]
    names = [described(name, 3) for name in part.columns]
    counted = min(height, _MOST_ROWS_COUNTED // max(1, len(names)))
    nulls = frame.iloc[:counted, left : left + columns].isna().sum().tolist()
    return {
        "shape": [height, width],
        "table": {
            "row": first,
            "column": left,
            "counted": counted,
            "columns": [
                {"name": name, "dtype": str(dtype), "nulls": missing}
                for name, dtype, missing in zip(names, part.dtypes, nulls)
            ],
            "index": [described(label, 3)[:60] for label in part.index],
            "cells": [[_cell(each) for each in row] for row in part.itertuples(index=False)],
        },
    }


def _cell(value: Any) -> Any:
    return rounded(value) if type(value) in (int, float) else described(value, 2)[:60]


def answer_stopped(
    question: dict[str, Any], global_names: dict[str, Any], local_names: dict[str, Any]
) -> dict[str, Any]:
    """The answer to a question about a frame, with `error` if there is none."""
    reading = StoppedReading()
    begin(bool, _CPU_S)
    try:
        if question.get("allow_all"):
            value = in_thread(
                # The user has allowed it.
                lambda: eval(question["expression"], global_names, local_names),  # noqa: S307
                "The expression takes too long",
            )
            return view_of(value, question, reading)
        return view_answer(question, global_names, local_names, reading)
    except Refused as refused:
        return {"error": str(refused), "refused": True}
    except Unreadable as unreadable:
        return {"error": str(unreadable)}
    except BaseException as error:
        return {"error": _text_of(error)}
    finally:
        end()


def send_stopped(
    send: Callable[[dict[str, Any]], Any],
    call: int,
    text: str,
    global_names: dict[str, Any],
    local_names: dict[str, Any],
) -> None:
    """Answers the question in `text`, and sends the answer as an event, which is not forwarded to editors."""
    answer = json.dumps(answer_stopped(json.loads(text), global_names, local_names))
    data = {"call": call, "answer": answer}
    body = {"category": "telemetry", "output": _OUTPUT, "data": data}
    send({"type": "event", "event": "output", "body": body})
