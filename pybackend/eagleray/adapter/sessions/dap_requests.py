"""The requests of DAP clients that are forwarded to debugpy, and the arguments that each may have.

debugpy trusts its client: after a request without a handler it answers nothing more, and an argument of the wrong
type ends it, which resumes the worker.  So only requests in this table reach it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Union

from eagleray.common.l10n import t
from eagleray.protocol.dap import Arguments, Source

# A type, a list of a type (`[STRING]`), or an object by its properties, of which optional ones end with "?".
Kind = Union[str, "list[Kind]", "Mapping[str, Kind]"]
Object = Mapping[str, Kind]

STRING, INTEGER, BOOLEAN = "string", "integer", "boolean"
_FORMAT: Object = {"hex?": BOOLEAN}
_FRAME_FORMAT: Object = {
    "hex?": BOOLEAN,
    "parameters?": BOOLEAN,
    "parameterTypes?": BOOLEAN,
    "parameterNames?": BOOLEAN,
    "parameterValues?": BOOLEAN,
    "line?": BOOLEAN,
    "module?": BOOLEAN,
    "includeAll?": BOOLEAN,
}
_SOURCE: Object = {
    "name?": STRING,
    "path?": STRING,
    "sourceReference?": INTEGER,
    "presentationHint?": STRING,
    "origin?": STRING,
}
_BREAKPOINT: Object = {
    "line": INTEGER,
    "column?": INTEGER,
    "condition?": STRING,
    "hitCondition?": STRING,
    "logMessage?": STRING,
}
_STEP: Object = {"threadId": INTEGER, "singleThread?": BOOLEAN, "granularity?": STRING}


@dataclass(frozen=True)
class RequestRule:
    """`capability`: the one that allows clients to send it, "" where the protocol has none.

    `stopped`: debugpy answers only for a thread that has stopped, in that thread (1.8.22, `pydevd_api.py`).
    """

    arguments: Object = field(default_factory=dict)
    capability: str = ""
    stopped: bool = False


TABLE: dict[str, RequestRule] = {
    "completions": RequestRule(
        {"frameId?": INTEGER, "text": STRING, "column": INTEGER, "line?": INTEGER},
        "supportsCompletionsRequest",
    ),
    "continue": RequestRule({"threadId": INTEGER, "singleThread?": BOOLEAN}),
    "evaluate": RequestRule(
        {
            "expression": STRING,
            "frameId?": INTEGER,
            "line?": INTEGER,
            "column?": INTEGER,
            "source?": _SOURCE,
            "context?": STRING,
            "format?": _FORMAT,
        }
    ),
    "exceptionInfo": RequestRule(
        {"threadId": INTEGER}, "supportsExceptionInfoRequest", stopped=True
    ),
    "goto": RequestRule(
        {"threadId": INTEGER, "targetId": INTEGER}, "supportsGotoTargetsRequest", stopped=True
    ),
    "gotoTargets": RequestRule(
        {"source": _SOURCE, "line": INTEGER, "column?": INTEGER}, "supportsGotoTargetsRequest"
    ),
    "modules": RequestRule(
        {"startModule?": INTEGER, "moduleCount?": INTEGER}, "supportsModulesRequest"
    ),
    "next": RequestRule(_STEP),
    "pause": RequestRule({"threadId": INTEGER}),
    "scopes": RequestRule({"frameId": INTEGER}),
    "setBreakpoints": RequestRule(
        {
            "source": _SOURCE,
            "breakpoints?": [_BREAKPOINT],
            "lines?": [INTEGER],
            "sourceModified?": BOOLEAN,
        }
    ),
    "setExceptionBreakpoints": RequestRule(
        {
            "filters": [STRING],
            "exceptionOptions?": [
                {"path?": [{"negate?": BOOLEAN, "names": [STRING]}], "breakMode": STRING}
            ],
        }
    ),
    "setExpression": RequestRule(
        {"expression": STRING, "value": STRING, "frameId?": INTEGER, "format?": _FORMAT},
        "supportsSetExpression",
    ),
    "setFunctionBreakpoints": RequestRule(
        {"breakpoints": [{"name": STRING, "condition?": STRING, "hitCondition?": STRING}]},
        "supportsFunctionBreakpoints",
    ),
    "setVariable": RequestRule(
        {"variablesReference": INTEGER, "name": STRING, "value": STRING, "format?": _FORMAT},
        "supportsSetVariable",
    ),
    "source": RequestRule({"source?": _SOURCE, "sourceReference": INTEGER}),
    "stackTrace": RequestRule(
        {
            "threadId": INTEGER,
            "startFrame?": INTEGER,
            "levels?": INTEGER,
            "format?": _FRAME_FORMAT,
        }
    ),
    "stepIn": RequestRule({**_STEP, "targetId?": INTEGER}),
    "stepInTargets": RequestRule({"frameId": INTEGER}, "supportsStepInTargetsRequest"),
    "stepOut": RequestRule(_STEP),
    "threads": RequestRule(),
    "variables": RequestRule(
        {
            "variablesReference": INTEGER,
            "filter?": STRING,
            "start?": INTEGER,
            "count?": INTEGER,
            "format?": _FORMAT,
        }
    ),
}

# The request of our own client, which DAP lacks: a value, or short texts of variables, as `inside/views.py` has them.
VIEW_REQUEST = "eagleray.view"
_NUMBERS = ("row", "rows", "row_step", "column", "columns", "column_step")
VIEW_RULE = RequestRule(
    {
        "frameId": INTEGER,
        "expression?": STRING,
        "names?": [STRING],
        "at?": [INTEGER],
        "allow_all?": BOOLEAN,
        "no_statistics?": BOOLEAN,
        **{f"{name}?": INTEGER for name in _NUMBERS},
    }
)

# With these debugpy would end the worker, or its own adapter (1.8.22, `request_terminate_process`).
_ENDING = ("terminate", "restart", "terminateThreads", "restartFrame")


class Unfit(Exception):
    """A request that is not forwarded; its text is for the client."""


def checked(command: object, arguments: object) -> Arguments:
    """The arguments for debugpy, without those that the table does not name; raises Unfit."""
    if not isinstance(command, str) or command not in (*TABLE, VIEW_REQUEST):
        if command in _ENDING:
            raise Unfit(t("Eagleray doesn't end or restart a worker of Ray."))
        raise Unfit(t("The request “{command}” is not supported.", command=str(command)[:80]))
    request = TABLE.get(command, VIEW_RULE)
    fit: Arguments = _checked(
        request.arguments, {} if arguments is None else arguments, "arguments"
    )
    if "source" in fit and command in ("setBreakpoints", "gotoTargets"):
        _check_source(fit["source"])
    return fit


def _checked(kind: Kind, value: Any, path: str) -> Any:
    if isinstance(kind, str):
        return _simple(kind, value, path)
    if isinstance(kind, list):
        if not isinstance(value, list):
            raise Unfit(t("“{path}” must be a list.", path=path))
        return [_checked(kind[0], item, f"{path}[{n}]") for n, item in enumerate(value)]
    if not isinstance(value, dict):
        raise Unfit(t("“{path}” must be an object.", path=path))
    fit = {}
    for property_, property_kind in kind.items():
        name = property_.rstrip("?")
        inner = value.get(name)
        if inner is not None:
            fit[name] = _checked(property_kind, inner, f"{path}.{name}")
        elif not property_.endswith("?"):
            raise Unfit(t("“{path}” is missing.", path=f"{path}.{name}"))
    return fit


def _simple(kind: str, value: Any, path: str) -> Any:
    if kind == INTEGER and isinstance(value, float) and value.is_integer():
        # JSON does not distinguish integers; some clients write all numbers as floats.
        value = int(value)
    fits = {
        STRING: isinstance(value, str),
        INTEGER: isinstance(value, int) and not isinstance(value, bool) and abs(value) < 2**53,
        BOOLEAN: isinstance(value, bool),
    }
    if not fits[kind]:
        raise Unfit(t("“{path}” must be of type {type}.", path=path, type=kind))
    return value


def _check_source(source: Source) -> None:
    path = source.get("path", "")
    if not (path or source.get("sourceReference")) or "\0" in path:
        raise Unfit(t("“arguments.source” must have a path or a sourceReference."))
