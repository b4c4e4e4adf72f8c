"""The table of requests: which are forwarded, and that it agrees with debugpy and with our capabilities."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path
from typing import Any

import pytest
from eagleray.adapter.sessions.dap_requests import TABLE, Unfit, checked
from eagleray.adapter.sessions.record import SessionRecord

PASSED: list[tuple[str, Any, Any]] = [
    ("threads", None, {}),
    ("threads", {"extra": 1}, {}),
    ("next", {"threadId": 1.0, "granularity": None}, {"threadId": 1}),
    ("source", {"sourceReference": 0, "source": {"path": "a"}}, {"sourceReference": 0, "source": {"path": "a"}}),
    (
        "setBreakpoints",
        {"source": {"path": "a", "checksums": []}, "breakpoints": [{"line": 2, "mode": "x"}]},
        {"source": {"path": "a"}, "breakpoints": [{"line": 2}]},
    ),
]  # fmt: skip
REFUSED = [
    ("next", {"threadId": True}, "“arguments.threadId” must be of type integer."),
    ("next", {"threadId": 1.5}, "“arguments.threadId” must be of type integer."),
    ("next", {"threadId": 2**60}, "“arguments.threadId” must be of type integer."),
    ("next", {}, "“arguments.threadId” is missing."),
    ("next", 5, "“arguments” must be an object."),
    ("evaluate", {"expression": ["x"]}, "“arguments.expression” must be of type string."),
    ("setBreakpoints", {"source": {}}, "“arguments.source” must have a path or a sourceReference."),
    (
        "setBreakpoints",
        {"source": {"path": "a"}, "breakpoints": [{"line": 1}, {}]},
        "“arguments.breakpoints[1].line” is missing.",
    ),
    ("terminate", {}, "Eagleray doesn't end or restart a worker of Ray."),
    (None, {}, "The request “None” is not supported."),
    (["next"], {}, "The request “['next']” is not supported."),
]


@pytest.mark.parametrize(("command", "arguments", "passed"), PASSED)
def test_only_listed_arguments_are_forwarded(command: str, arguments: Any, passed: Any) -> None:
    assert checked(command, arguments) == passed


@pytest.mark.parametrize(("command", "arguments", "text"), REFUSED)
def test_unfit_requests_are_refused_with_a_reason(command: Any, arguments: Any, text: str) -> None:
    with pytest.raises(Unfit) as caught:
        checked(command, arguments)
    assert str(caught.value) == text


def test_debugpy_handles_every_request_of_the_table() -> None:
    spec = importlib.util.find_spec("debugpy")
    assert spec is not None and spec.origin is not None
    bundle = Path(spec.origin).parent / "_vendored" / "pydevd" / "_pydevd_bundle"
    text = (bundle / "pydevd_process_net_command_json.py").read_text()
    handled = set(re.findall(r"def on_(\w+)_request\(", text))
    assert {command.lower() for command in TABLE} <= handled


def test_offered_capabilities_agree_with_the_table() -> None:
    requests = [
        *("supportsSetVariable", "supportsSetExpression", "supportsFunctionBreakpoints"),
        *("supportsCompletionsRequest", "supportsExceptionInfoRequest", "supportsModulesRequest"),
        *("supportsGotoTargetsRequest", "supportsStepInTargetsRequest"),
    ]
    others = ["supportsCancelRequest", "supportsReadMemoryRequest", "supportsDebuggerProperties"]
    record = SessionRecord(capabilities=dict.fromkeys([*requests, *others], True))
    offered = {name for name, value in record.offered_capabilities().items() if value}
    assert {request.capability for request in TABLE.values()} - {""} == set(requests)
    assert set(requests) <= offered
    assert not set(others) & offered
