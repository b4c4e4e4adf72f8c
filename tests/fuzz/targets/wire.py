"""Parsers of what comes over connections: the adapter's, the debug proxy's, the bridge's, and JSON-RPC params."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import json
import random
import struct
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import cattrs
from eagleray.adapter.runs.breakpoint_table import BreakpointTable
from eagleray.adapter.runs.process_info import mappings, read_process_info
from eagleray.adapter.sessions.record import SessionRecord
from eagleray.adapter.sessions.sources import PathRules
from eagleray.adapter.sessions.stacks import FrameOwners, fold, is_noise, take_stacks
from eagleray.adapter.sessions.stops import stop_of
from eagleray.clusters import messages as clusters
from eagleray.common.errors import EaglerayError
from eagleray.common.file_checks import FileChecks
from eagleray.debug.workers import messages as workers
from eagleray.protocol import dap, route_spec
from eagleray.protocol.adapter_control import AttachParams, RouteState, WorkerState
from eagleray.protocol.dap import NotDap
from eagleray.protocol.records import read
from eagleray.protocol.runs import AdapterRunState, Breakpoint, LineBreakpoint, RunRegister
from eagleray.remote.scripts import bridge
from eagleray.routes.ssh.mux import MuxError, _Packet
from eagleray.wire.requests import Wire

from tests.fuzz.target import Target

STOPPED = {
    "seq": 3,
    "type": "event",
    "event": "stopped",
    "body": {"reason": "breakpoint", "threadId": 1, "allThreadsStopped": True},
}
ANSWER = {
    "seq": 4,
    "type": "response",
    "request_seq": 1,
    "success": True,
    "command": "initialize",
    "body": {"supportsConfigurationDoneRequest": True},
}
REQUEST = {"seq": 1, "type": "request", "command": "initialize", "arguments": {"clientID": "x"}}
FRAMES = [
    {"id": 1, "name": "step", "line": 3, "source": {"path": "/pkg/ray/util/debugpy.py"}},
    {"id": 2, "name": "train", "line": 9, "source": {"path": "/home/a/train.py", "name": "t"}},
    {"id": 3, "name": "run", "line": 1, "source": {"path": "/x/site-packages/ray/rllib/a.py"}},
]
HELLO = {
    "worker_id": "ab" * 28,
    "session": "session_1",
    "pid": 17,
    "kind": "worker",
    "name": "policy",
    "class": "Policy",
    "rank": "3",
    "python": "3.11.7",
    "state": "free",
    "hold_s": 600.0,
    "matches": True,
    "files": {"/home/a/train.py": "/pkg/a/train.py", "/home/a/x/b.py": "/pkg/a/x/b.py"},
    "held": [0, 18],
    "profile": {"state": "recording"},
}
WORDS = ("Content-Length: ", "content-length:", "\r\n\r\n", "Content-Length: -1", '"seq"', '"body"')


def pieces(data: bytes) -> Iterator[bytes]:
    """The bytes as a connection may deliver them, the same each time."""
    rand = random.Random(zlib.crc32(data))
    at = 0
    while at < len(data):
        size = rand.choice((1, 2, 7, 100, 5000))
        yield data[at : at + size]
        at += size


def framed(*messages: dict[str, Any]) -> bytes:
    return b"".join(dap.encode(message) for message in messages)


@cache
def a_loop() -> asyncio.AbstractEventLoop:
    """A stream wants one, though nothing here waits."""
    loop = asyncio.new_event_loop()
    atexit.register(loop.close)
    return loop


def read_dap(data: bytes) -> None:
    """However the bytes are cut, the messages are the same; what was read can be written and read again."""

    async def all_of(parts: list[bytes]) -> list[dict[str, Any]]:
        reader = asyncio.StreamReader(loop=a_loop())
        for part in parts:
            reader.feed_data(part)
        reader.feed_eof()
        found = []
        while (message := await dap.read(reader)) is not None:
            found.append(message)
        return found

    found = _run(all_of([data]))
    assert same(found, _run(all_of(list(pieces(data)))))
    assert len(_run(all_of([framed(*found)]))) == len(found)


def same(one: object, other: object) -> bool:
    """Equal as JSON, where NaN equals itself."""
    return json.dumps(one) == json.dumps(other)


def _run(doing: Any) -> Any:
    """Returns the result of a coroutine that waits for nothing."""
    try:
        doing.send(None)
    except StopIteration as done:
        return done.value
    raise AssertionError("it waits for more than it was given")


class NoTransport:
    def write(self, data: bytes) -> None:
        """Does nothing: no client listens."""


def bridge_mux(data: bytes) -> None:
    got: list[tuple[int, int, bytes]] = []
    mux = bridge.BridgeMux(NoTransport(), lambda *frame: got.append(frame))  # type: ignore[arg-type]  # It only writes.
    for number in range(3):
        bridge.BridgeStream(mux, number)
    for piece in pieces(data):
        mux.feed(piece)
    assert all(len(payload) <= bridge.LARGEST for _, _, payload in got)


class HomeFiles(FileChecks):
    """Files that need not be looked up."""

    def answer(self, path: str) -> bool:
        return path.startswith("/home/a/")


def run_hello(said: Any) -> None:
    if isinstance(said, dict):
        found = read_process_info(said)
        assert len(found.name) <= 201 and len(found.held) <= 256 and found.hold_s > 0
        rules = PathRules(mappings(found.files), HomeFiles())
        for path in ("/pkg/a/train.py", "/pkg/a/../../etc/passwd", "/pkg/a/x/../y"):
            assert ".." not in rules.to_local(path).split("/") or ".." in json.dumps(said)


def worker_events(said: Any) -> None:
    """The adapter reads stops, stacks and breakpoints of a debugger that may say anything."""
    if not isinstance(said, list):
        return
    for one in (each for each in said if isinstance(each, dict)):
        record = SessionRecord()
        record.add_stop(dict(one))
        take_stacks(dict(one))
        record.offered_capabilities()
        is_noise(one)
    frames = [one for one in said if isinstance(one, dict)]
    folded = fold(frames, FrameOwners({"ray": "/pkg/ray", "debugpy": "/pkg/debugpy"}))
    for one in frames:
        stop_of(one, folded, 1, "")
    lines = BreakpointTable([Breakpoint("/a", [LineBreakpoint(3)])])
    lines.answered("w", "/a", frames)
    for one in frames:
        lines.changed("w", one)
    lines.forget("w")
    json.dumps(lines.states(), default=vars)


def protocol_records(said: Any) -> None:
    """A record that is accepted is the same when it is read again."""
    for kind in (RunRegister, AttachParams, AdapterRunState, WorkerState, RouteState):
        with contextlib.suppress(ValueError, EaglerayError):
            text = json.dumps(read(kind, said), default=vars)
            assert json.dumps(read(kind, json.loads(text)), default=vars) == text


def route(said: Any) -> None:
    """A route that is accepted isn't an option, no shell syntax, and the same when it is read again."""
    found = route_spec.of_json(said)
    assert route_spec.of_json(route_spec.to_json(found)) == found
    for text in (found.ssh, found.job, found.node):
        assert not text.startswith("-") and not set(text) & set(" \t\n\0'\"`$;|&<>()\\")


def mux_packet(data: bytes) -> None:
    packet = _Packet(0, data)
    for index in range(3):
        packet.number(index)
        packet.text(index)


def params(
    kind: type[Any], then: Callable[[Any], object] = lambda _: None
) -> Callable[[Any], None]:
    """Structured params survive being made plain and structured again."""
    wire = Wire()

    def check(said: Any) -> None:
        found = wire.structured(said, kind)
        json.dumps(wire.plain(found))
        then(found)

    return check


REGISTER = {
    "run": "r1",
    "secret": "00",
    "breakpoints": [{"path": "/home/a/train.py", "lines": [{"line": 3, "condition": "x > 1"}]}],
    "mappings": [{"remote": "/pkg", "local": "/home/a"}],
}
ROUTE_STATE = {
    "route": {"ssh": "login", "job": "1", "node": "n1"},
    "state": "ready",
    "reason": "",
    "message": "",
    "since_s": 1,
}
MUX = (
    bridge.HEAD.pack(2, bridge.OPENED, 1)
    + b"ab\n"
    + bridge.HEAD.pack(3, bridge.DATA, 1)
    + b"abc\n"
    + bridge.HEAD.pack(4, bridge.CREDIT, 2)
    + struct.pack(">I", 7)
    + b"\n"
    + bridge.HEAD.pack(0, bridge.CLOSE, 2)
    + b"\n"
)
STRUCTURE = (cattrs.BaseValidationError, ValueError, TypeError)

TARGETS = [
    Target("dap", "bytes", read_dap, [framed(STOPPED, ANSWER), framed(REQUEST)], (NotDap,), WORDS),
    Target("bridge-mux", "bytes", bridge_mux, [MUX], (bridge.BadFrame,)),
    Target(
        "ssh-mux-packet", "bytes", mux_packet, [struct.pack(">III", 1, 3, 2) + b"ab"], (MuxError,)
    ),
    Target("run-hello", "value", run_hello, [HELLO, {**HELLO, "kind": "driver", "held": []}]),
    Target(
        "worker-events",
        "value",
        worker_events,
        [[STOPPED["body"], *FRAMES], [{"id": 1, "line": 4, "verified": True}]],
    ),
    Target("protocol-records", "value", protocol_records, [REGISTER, ROUTE_STATE]),
    Target(
        "routes",
        "value",
        route,
        [{"ssh": "a@login", "job": "12_3", "node": "n-1"}, {}],
        (EaglerayError,),
    ),
    Target(
        "params-attach",
        "value",
        params(workers.SearchLogs),
        [{"cluster": "c", "worker_ids": ["w"], "pattern": "x", "regex": True, "match_case": False}],
        STRUCTURE,
    ),
    Target(
        "params-access",
        "value",
        params(clusters.Access),
        [{"cluster": "c", "token": "t", "headers": {"a": "b"}}],
        STRUCTURE,
    ),
]
