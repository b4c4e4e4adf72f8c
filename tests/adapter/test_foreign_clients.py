"""DAP clients other than VS Code: no request, in any order, loses a stop."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.adapter.harness import PROGRAMS, AdapterProcess, ControlClient, Program
from tests.dap_client import DapClient, RequestFailed

Start = Callable[..., Program]
LOOP = str(PROGRAMS / "loop.py")
KEY = {"session": "session_1", "worker_id": "w1"}


@contextmanager
def session(path: str) -> Iterator[DapClient]:
    client = DapClient.unix(path)
    client.attach()
    client.wait_for("stopped")
    yield client
    client.close()


def is_served(path: str) -> bool:
    """Whether a new client gets everything of a worker that has stopped in its first step."""
    with session(path) as client:
        frame = client.stack()[0]
        assert client.variables(frame["id"])["loss"] == "1.0"
        assert client.evaluate("step", frame["id"]) == "0"
        assert client.set_breakpoints(LOOP, [11])[0]["verified"]
        client.set_breakpoints(LOOP, [])
    return True


# Requests of the protocol that debugpy has no handler for, and its own that are not for clients.
UNSUPPORTED = [
    ("loadedSources", {}),
    ("cancel", {"requestId": 1}),
    ("breakpointLocations", {"source": {"path": LOOP}, "line": 1}),
    ("dataBreakpointInfo", {"name": "loss"}),
    ("setDataBreakpoints", {"breakpoints": []}),
    ("setInstructionBreakpoints", {"breakpoints": []}),
    ("disassemble", {"memoryReference": "0", "instructionCount": 1}),
    ("readMemory", {"memoryReference": "0", "count": 1}),
    ("writeMemory", {"memoryReference": "0", "data": ""}),
    ("reverseContinue", {"threadId": 1}),
    ("stepBack", {"threadId": 1}),
    ("runInTerminal", {"cwd": "/", "args": ["true"]}),
    ("startDebugging", {"configuration": {}, "request": "attach"}),
    ("locations", {"locationReference": 1}),
    ("setDebuggerProperty", {"multiThreadsSingleNotification": False}),
    ("pydevdAuthorize", {"debugServerAccessToken": "x"}),
    ("pydevdSystemInfo", {}),
    ("noSuchCommand", {}),
]
# Requests that would end debugpy's reader, or that it would never answer.
UNFIT: list[tuple[str, Any]] = [
    ("setBreakpoints", {"source": {"name": "loop.py"}, "breakpoints": [{"line": 11}]}),
    ("setBreakpoints", {"source": {"path": 5}, "breakpoints": []}),
    ("setBreakpoints", {"source": {"path": "a\0b"}, "breakpoints": []}),
    ("setBreakpoints", {"source": {"path": LOOP}, "breakpoints": "x"}),
    ("setBreakpoints", {"source": {"path": LOOP}, "breakpoints": [{"condition": "x"}]}),
    ("setBreakpoints", {"source": {"sourceReference": 77}, "breakpoints": [{"line": 1}]}),
    ("setFunctionBreakpoints", {"breakpoints": [{}]}),
    ("setExceptionBreakpoints", {"filters": 5}),
    ("setExceptionBreakpoints", {"filters": [], "exceptionOptions": [{"path": [{}]}]}),
    ("completions", {"text": "lo", "column": "x", "frameId": 1}),
    ("evaluate", {"expression": 5}),
    ("gotoTargets", {"line": 11}),
    ("goto", {"threadId": 99, "targetId": 0}),
    ("exceptionInfo", {"threadId": 99}),
    ("source", {"source": {"path": LOOP}}),
    ("stackTrace", {"threadId": {}}),
    ("variables", {"variablesReference": None}),
    ("setVariable", {"variablesReference": 1, "name": [], "value": "1"}),
    ("next", [1]),
    ("stepIn", "1"),
    ("continue", {"threadId": "main"}),
]


def test_requests_that_debugpy_cannot_handle_are_refused(
    control: ControlClient, program: Start
) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    with session(path) as client:
        for command, arguments in UNSUPPORTED:
            with pytest.raises(RequestFailed, match="is not supported"):
                client.request(command, **arguments)
    assert is_served(path)


def test_unfit_arguments_are_refused(control: ControlClient, program: Start) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    with session(path) as client:
        for command, arguments in UNFIT:
            response = client.response(client.send_raw(command, arguments))
            assert not response["success"], (command, arguments)
            assert response["message"]
    assert is_served(path)


# Calls debugpy's handler with requests that the adapter would not send.
HANDLED = """(lambda requests: [
    getattr(requests, "on_%s_request" % name.lower())(None, type("Request", (), {"seq": 1, "command": name}))
    .as_dict["message"] for name in ("loadedSources", "setBreakpoints")
])(__import__("pydevd").get_global_debugger().reader.process_net_command_json.__self__)"""


def test_debugpy_refuses_requests_that_it_cannot_handle(
    control: ControlClient, program: Start
) -> None:
    """Covers requests that the table may miss, or that another version of debugpy raises for."""
    path = control.attach(program("loop.py", "2"))["socket"]
    with session(path) as client:
        value = client.evaluate(HANDLED.replace("\n", " "), client.stack()[0]["id"])
        assert "loadedSources is not supported" in value and "AttributeError" in value
    assert is_served(path)


def test_client_without_initialize_controls_nothing(control: ControlClient, program: Start) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    stranger = DapClient.unix(path)
    for command in ("attach", "threads", "next", "configurationDone", "evaluate"):
        with pytest.raises(RequestFailed, match="initialize"):
            stranger.request(command, threadId=1, expression="1")
    stranger.request("disconnect", terminateDebuggee=False, suspendDebuggee=False)
    assert (control.worker() or {})["state"] == "stopped"
    assert is_served(path)
    stranger.close()


def test_superseded_client_controls_nothing(control: ControlClient, program: Start) -> None:
    worker = program("loop.py", "2")
    path = control.attach(worker)["socket"]
    with session(path) as old, session(path) as new:
        text = old.wait_for("output")["body"]["output"]
        assert text == "Another client is debugging this worker now.\n"
        old.wait_for("terminated")
        for command in ("next", "continue", "evaluate", "initialize", "configurationDone"):
            with pytest.raises(RequestFailed, match="Another client"):
                old.request(command, threadId=1, expression="1", adapterID="x")
        old.request("disconnect", terminateDebuggee=False, suspendDebuggee=False)
        assert new.stack()[0]["line"] == 10
        assert worker.output() == ""


def test_disconnected_client_controls_nothing(control: ControlClient, program: Start) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    with session(path) as client:
        client.request("disconnect")
        with pytest.raises(RequestFailed, match="has ended"):
            client.request("next", threadId=1)
    assert is_served(path)


MALFORMED = [
    b"Content-Length: 12\r\n\r\n{not json !!}",
    b"Content-Length: -1\r\n\r\n",
    b"Content-Length: 99999999999\r\n\r\n",
    b"Content-Length: 2\r\n\r\n[]",
    b"Content-Type: x\r\n\r\n{}",
    b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
]


def test_malformed_frame_closes_the_connection_with_a_reason(
    control: ControlClient, program: Start
) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    for frame in MALFORMED:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as rude:
            rude.connect(path)
            rude.settimeout(60)
            rude.sendall(frame)
            value = rude.makefile("rb").read().decode()
        assert "This is not the Debug Adapter Protocol" in value
    assert is_served(path)


def test_step_into_a_wrapped_method_enters_it(control: ControlClient, program: Start) -> None:
    path = control.attach(program("wrapped.py"))["socket"]
    with session(path) as client:
        places = []
        for command in ("stepIn", "next", "next", "next"):
            client.request(command, threadId=1)
            client.wait_for("stopped")
            top = client.stack()[0]
            places.append((top["name"], top["line"]))
    names = [name for name, _ in places]
    assert names == ["Actor.helper", "Actor.helper", "Actor.train", "Actor.train"] or names == [
        "helper",
        "helper",
        "train",
        "train",
    ]
    assert len(set(places)) == len(places)


def test_breakpoints_that_cannot_be_hit_are_not_verified(
    control: ControlClient, program: Start
) -> None:
    path = control.attach(program("loop.py", "1"))["socket"]
    requested = [
        {"line": 11, "condition": "this is (not python"},
        {"line": 12},
        {"line": 0},
        {"line": 9999},
        {"line": 11, "hitCondition": "often"},
        {"line": 11, "logMessage": "loss is {loss"},
        {"line": 11, "logMessage": "loss is {lo ss}"},
        {"line": 15},
    ]
    with session(path) as client:
        response = client.request("setBreakpoints", source={"path": LOOP}, breakpoints=requested)
        rows = response["breakpoints"]
        assert [row["verified"] for row in rows] == [
            number == 1 for number in range(len(requested))
        ]
        assert rows[1]["line"] == 12
        texts = [row.get("message", "") for row in rows]
        assert "isn't valid Python" in texts[0]
        assert texts[2] == "Lines begin at 1."
        assert (
            texts[3] == f"The worker's file has {len(Path(LOOP).read_text().splitlines())} lines."
        )
        assert texts[7] == "Line 15 has no code. Use line 16."
        assert "hit count" in texts[4] and "brace" in texts[5] and "log message" in texts[6]
        client.request("continue", threadId=1)
        client.wait_for("stopped")
        assert client.stack()[0]["line"] == 12


def test_worker_keeps_running_when_its_debugger_dies(
    adapter: AdapterProcess, control: ControlClient, program: Start
) -> None:
    worker = program("waiting.py")
    path = control.attach(worker)["socket"]
    with session(path) as client:
        client.send(
            "evaluate",
            expression="__import__('pydevd').get_global_debugger().reader.sock.shutdown(2)",
            frameId=client.stack()[0]["id"],
        )
        event = client.wait_for("output", lambda body: "debugger" in body["output"])
        assert "keeps running" in event["body"]["output"]
        client.wait_for("terminated")
    assert control.worker() is None
    worker.wait_output("running")


def test_request_that_fails_in_its_thread_is_answered(
    control: ControlClient, program: Start
) -> None:
    path = control.attach(program("loop.py", "2"))["socket"]
    with session(path) as client:
        frame = client.stack()[0]["id"]
        reference = client.request("evaluate", expression="[1]", frameId=frame)
        # A number of a thread, but of none of its frames.
        with pytest.raises(RequestFailed):
            client.request(
                "completions", text="lo", column=1, frameId=reference["variablesReference"]
            )
    assert is_served(path)
