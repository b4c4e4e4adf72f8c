"""Fuzzes a held worker's socket with requests of DAP: wrong types, orders, commands and frames.

The property: the worker is still held where it was, every request was answered, and the next client gets
everything.  `fuzz(seed, seconds)` starts what it needs; a failure names the seed of its session.
"""

from __future__ import annotations

import itertools
import json
import random
import shutil
import socket
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from eagleray.adapter.sessions.dap_requests import TABLE, Kind

from tests.adapter.harness import PROGRAMS, AdapterProcess, Program
from tests.dap_client import DapClient

LOOP = str(PROGRAMS / "loop.py")
# These resume the worker, so that they are only sent with an invalid thread.
MOVING = ("continue", "next", "stepIn", "stepOut", "goto", "pause")
# Requests of the protocol that are not supported, or unknown.
OTHERS = (
    *("loadedSources", "cancel", "breakpointLocations", "dataBreakpointInfo", "disassemble"),
    *("readMemory", "reverseContinue", "stepBack", "terminate", "restart", "terminateThreads"),
    *("pydevdAuthorize", "setDebuggerProperty", "debugpySystemInfo", "runInTerminal", "", "nosuch"),
    *("configurationdone", "SETBREAKPOINTS", "__class__", "attach ", "\u00e9\u4e16"),
)
BEGINNINGS = ("initialize", "attach", "launch", "configurationDone")
STRINGS = (
    "loss",
    "step",
    "train",
    LOOP,
    "x ==",
    "1/0",
    "repl",
    "hover",
    "uncaught",
    "",
    "\0",
    "{",
    "\u4e16",
)
JUNK: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1.5, 2**31, 2**70, 1e308, "", "\0", "main", "\ud800", "a" * 70000),
    *([], {}, [[]], [{}], {"a": 1}, [None], {"path": LOOP}, {"path": None}, [1, "x"]),
)
# pydevd passes the arguments of a request as keyword arguments.
KEYS = ("self", "seq", "update_ids_from_dap", "kwargs", "__restart", "arguments", "type")
FRAMES = (
    b"Content-Length: 5\r\n\r\n{...}",
    b"Content-Length: -4\r\n\r\n",
    b"Content-Length: 1e9\r\n\r\n",
    b"\r\n\r\n",
    b"GET / HTTP/1.1\r\n\r\n",
    b"Content-Length: 4\r\n\r\nnull",
    b'Content-Length: 18\r\n\r\n{"type":"request"}',
    b"Content-Length: 100\r\n\r\n{",
    b"\xff\xfe\x00" * 50,
)


class Requests:
    """Commands and arguments, from one source of randomness."""

    def __init__(self, random_: random.Random) -> None:
        self._random = random_

    def some(self, count: int) -> Iterator[tuple[Any, Any]]:
        for _ in range(count):
            yield self._request()

    def _request(self) -> tuple[Any, Any]:
        chance = self._random.random()
        if chance < 0.1:
            return self._random.choice(JUNK), self._random.choice(JUNK)
        if chance < 0.25:
            return self._random.choice(OTHERS), self._random.choice(JUNK)
        if chance < 0.32:
            return self._random.choice(BEGINNINGS), self._random.choice(JUNK)
        command = self._random.choice(sorted(TABLE))
        arguments = self._value(TABLE[command].arguments)
        if self._random.random() < 0.6:
            arguments = self._mutated(arguments)
        if command in MOVING:
            unfit = [junk for junk in JUNK if not isinstance(junk, (int, float))]
            arguments = {**(arguments if isinstance(arguments, dict) else {})}
            arguments["threadId"] = self._random.choice(unfit)
        return command, arguments

    def _value(self, kind: Kind) -> Any:
        if kind == "string":
            return self._random.choice(STRINGS)
        if kind == "integer":
            return self._random.choice((0, 1, 2, 3, 10, 11, 12, 99, 9999, 10**9, -1))
        if kind == "boolean":
            return self._random.random() < 0.5
        if isinstance(kind, list):
            return [self._value(kind[0]) for _ in range(self._random.randrange(4))]
        assert not isinstance(kind, str)
        return {
            name.rstrip("?"): self._value(inner)
            for name, inner in kind.items()
            if not name.endswith("?") or self._random.random() < 0.6
        }

    def _mutated(self, value: Any) -> Any:
        if isinstance(value, dict) and value and self._random.random() < 0.8:
            key = self._random.choice(sorted(value))
            how = self._random.random()
            if how < 0.2:
                return {name: inner for name, inner in value.items() if name != key}
            if how < 0.35:
                return {**value, self._random.choice(KEYS): self._random.choice(JUNK)}
            return {**value, key: self._mutated(value[key])}
        if isinstance(value, list) and value and self._random.random() < 0.7:
            return [self._mutated(value[0]), *value[1:]]
        return self._random.choice(JUNK)


def session(path: str, seed: int) -> None:
    """One misbehaving client, whose messages depend on `seed` alone."""
    source = random.Random(seed)
    if source.random() < 0.15:
        rude(path, source)
        return
    client = DapClient.unix(path)
    if source.random() < 0.8:
        client.attach()
    requests = list(Requests(source).some(source.randrange(3, 25)))
    sent = [client.send_raw(*case) for case in requests]
    for number, case in zip(sent, requests, strict=True):
        try:
            client.response(number)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {case!r:.300} was not answered") from error
    if source.random() < 0.3:
        client.response(client.send_raw("disconnect", source.choice(({}, {"restart": 1}, [], "x"))))
    client.close()


def rude(path: str, source: random.Random) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.connect(path)
        with suppress(OSError):
            sock.sendall(source.choice(FRAMES))
            sock.shutdown(socket.SHUT_WR)
            while sock.recv(65536):
                pass


def check(path: str, seed: int) -> None:
    """Asserts that the worker is held in its first step, and a new client gets everything."""
    why = f"after the session of seed {seed}"
    client = DapClient.unix(path)
    client.attach()
    client.wait_for("stopped")
    top = client.stack()[0]
    assert (top["name"], top["line"]) == ("train", 10), why
    # A client may have given the variables other values, even functions, which debugpy groups.
    assert client.variables(top["id"]), why
    assert client.evaluate("40 + 2", top["id"]) == "42", why
    assert client.set_breakpoints(LOOP, [12])[0]["verified"], why
    assert client.request("threads")["threads"], why
    client.request("disconnect")
    client.close()


def run(seconds: float, seed: int) -> tuple[int, list[str]]:
    """For `npm run fuzz`: the number of sessions, and the failure of the last one."""
    done: list[int] = []
    try:
        fuzz(seed, seconds, on_session=done.append)
    except AssertionError as error:
        return len(done), [f"  {error}\n  python -m tests.fuzz --target dap-requests --seed {seed}"]
    return len(done), []


def fuzz(
    seed: int,
    seconds: float,
    sessions: int = 0,
    on_session: Callable[[int], object] = lambda _: None,
) -> int:
    """Runs sessions from `seed` on, for `seconds` or up to a number of them; returns their number."""
    home = Path(tempfile.mkdtemp(prefix="er-", dir="/tmp"))
    adapter = AdapterProcess(home)
    end = time.monotonic() + seconds
    try:
        with Program("loop.py", "2") as worker:
            worker.wait_paused()
            path = str(adapter.control.attach(worker)["socket"])
            for count in itertools.count(1):
                on_session(count)
                session(path, seed + count)
                check(path, seed + count)
                state = adapter.control.worker() or {}
                assert state.get("state") == "stopped", f"seed {seed + count}: {json.dumps(state)}"
                assert "step 0" not in worker.output(), f"seed {seed + count}: it has moved"
                if count == sessions or (not sessions and time.monotonic() > end):
                    return count
            raise AssertionError("never reached")
    finally:
        adapter.end()
        shutil.rmtree(home, ignore_errors=True)
