"""A small synchronous DAP client for tests: requests, answers, and waiting for events.

    client = DapClient.unix(attached["socket"])
    client.attach(breakpoints={"/path/prog.py": [12]})   # initialize … configurationDone
    stopped = client.wait_for("stopped")
    frames = client.request("stackTrace", threadId=stopped["body"]["threadId"])["stackFrames"]
    client.request("continue", threadId=1)
    client.leave()                                        # the toolbar's Disconnect

Every wait has a generous limit and says on failure what it waited for and what came instead.
"""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

Message = dict[str, Any]
LIMIT = 60.0


class RequestFailed(Exception):
    """A response with success false; `response` is the whole message."""

    def __init__(self, response: Message) -> None:
        super().__init__(f"{response['command']}: {response.get('message')}")
        self.response = response


class DapClient:
    """One connection.  A thread of its own reads it; `messages` keeps all that came, in order."""

    def __init__(self, sock: socket.socket) -> None:
        self.messages: list[Message] = []
        self.waited_for = 0
        self.closed = False
        self._sock = sock
        self._seq = 0
        self._seen = 0
        self._sent: list[tuple[int, Message]] = []
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @classmethod
    def unix(cls, path: str) -> DapClient:
        sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        sock.settimeout(LIMIT)
        sock.connect(path)
        sock.settimeout(None)
        return cls(sock)

    @classmethod
    def tcp(cls, host: str, port: int) -> DapClient:
        sock = socket.create_connection((host, port), LIMIT)
        sock.settimeout(None)
        return cls(sock)

    def send(self, command: str, **arguments: Any) -> int:
        """Sends a request and returns its sequence number at once."""
        return self.send_raw(command, arguments)

    def send_raw(self, command: Any, arguments: Any) -> int:
        """As `send`, with arguments that may be of any type."""
        with self._changed:
            self._seq += 1
            seq = self._seq
        message = {"seq": seq, "type": "request", "command": command, "arguments": arguments}
        with self._changed:
            self._sent.append((len(self.messages), message))
        raw = json.dumps(message).encode()
        self._sock.sendall(f"Content-Length: {len(raw)}\r\n\r\n".encode() + raw)
        return seq

    def response(self, seq: int, limit: float = LIMIT) -> Message:
        """The whole response to request `seq`, whether it succeeded or not."""
        return self._wait(
            lambda m: m["type"] == "response" and m["request_seq"] == seq,
            f"response to {seq}",
            limit,
            0,
        )

    def request(self, command: str, *, limit: float = LIMIT, **arguments: Any) -> Message:
        """Sends a request and returns the body of its response; raises RequestFailed."""
        response = self.response(self.send(command, **arguments), limit)
        if not response["success"]:
            raise RequestFailed(response)
        body: Message = response.get("body") or {}
        return body

    def wait_for(
        self, event: str, where: Callable[[Message], bool] | None = None, limit: float = LIMIT
    ) -> Message:
        """The next event of that name (after the one that was waited for last) whose body fits `where`."""

        def fits(m: Message) -> bool:
            named = m["type"] == "event" and m["event"] == event
            return named and (where is None or where(m.get("body") or {}))

        return self.wait_message(fits, f"event {event}", limit)

    def wait_message(
        self, fits: Callable[[Message], bool], what: str, limit: float = LIMIT
    ) -> Message:
        """The next message of any kind that fits, after the one that was waited for last."""
        return self._wait(fits, what, limit, self._seen, remember=True)

    def attach(
        self,
        breakpoints: dict[str, list[int]] | None = None,
        exceptions: Sequence[str] = (),
        **arguments: Any,
    ) -> Message:
        """Sends VS Code's requests on attach, up to the answer to configurationDone; returns the capabilities."""
        capabilities = self.request("initialize", adapterID="eagleray", clientID="test", pathFormat="path",
                                    linesStartAt1=True, columnsStartAt1=True)  # fmt: skip
        attach = self.send("attach", **arguments)
        self.wait_for("initialized")
        for path, lines in (breakpoints or {}).items():
            self.set_breakpoints(path, lines)
        self.request("setFunctionBreakpoints", breakpoints=[])
        self.request("setExceptionBreakpoints", filters=list(exceptions))
        self.request("configurationDone")
        answer = self.response(attach)
        if not answer["success"]:
            raise RequestFailed(answer)
        return capabilities

    def set_breakpoints(self, path: str, lines: list[int]) -> list[Message]:
        body = self.request(
            "setBreakpoints",
            source={"path": path},
            breakpoints=[{"line": line} for line in lines],
            lines=lines,
            sourceModified=False,
        )
        found: list[Message] = body["breakpoints"]
        return found

    def stack(self, thread_id: int = 1) -> list[Message]:
        frames: list[Message] = self.request("stackTrace", threadId=thread_id)["stackFrames"]
        return frames

    def evaluate(self, expression: str, frame_id: int | None = None) -> str:
        where = {} if frame_id is None else {"frameId": frame_id}
        result: str = self.request("evaluate", expression=expression, context="repl", **where)[
            "result"
        ]
        return result

    def variables(self, frame_id: int) -> dict[str, str]:
        """The local variables of a frame, as texts."""
        scopes = self.request("scopes", frameId=frame_id)["scopes"]
        found = self.request("variables", variablesReference=scopes[0]["variablesReference"])
        return {v["name"]: v["value"] for v in found["variables"]}

    def leave(self) -> None:
        """The toolbar's Disconnect: the worker runs on."""
        self.request("disconnect", restart=False, terminateDebuggee=False, suspendDebuggee=False)
        self.close()

    def close(self) -> None:
        """Ends the connection without a word, as a killed editor does."""
        # shutdown wakes the reading thread, close alone does not.
        with contextlib.suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        self._sock.close()
        self._reader.join(LIMIT)

    def wait_closed(self, limit: float = LIMIT) -> None:
        """Waits until the other side has closed the connection."""
        self._reader.join(limit)
        assert self.closed, "the connection is still open"

    def events(self, name: str) -> list[Message]:
        with self._changed:
            return [m for m in self.messages if m["type"] == "event" and m["event"] == name]

    def traffic(self) -> list[Message]:
        """All that was sent and received; a request stands before the first message after it."""
        with self._changed:
            mixed = list(self.messages)
            for position, message in reversed(self._sent):
                mixed.insert(position, message)
            return mixed

    def _wait(
        self,
        fits: Callable[[Message], bool],
        what: str,
        limit: float,
        start: int,
        remember: bool = False,
    ) -> Message:
        until = time.monotonic() + limit
        with self._changed:
            position = start
            while True:
                while position < len(self.messages):
                    position += 1
                    if fits(self.messages[position - 1]):
                        if remember:
                            self._seen = position
                        self.waited_for = max(self.waited_for, position + len(self._sent))
                        return self.messages[position - 1]
                left = until - time.monotonic()
                if self.closed or left <= 0:
                    why = "the connection was closed" if self.closed else f"{limit:g} s went by"
                    tail = "\n".join(json.dumps(m)[:300] for m in self.messages[-12:])
                    raise AssertionError(f"no {what}: {why}; the last messages:\n{tail}")
                self._changed.wait(left)

    def _read(self) -> None:
        stream = self._sock.makefile("rb")
        try:
            while header := stream.readline():
                length = 0
                while header.strip():
                    name, _, value = header.partition(b":")
                    if name.lower() == b"content-length":
                        length = int(value)
                    header = stream.readline()
                message = json.loads(stream.read(length))
                with self._changed:
                    self.messages.append(message)
                    self._changed.notify_all()
        except (OSError, ValueError):
            pass
        with self._changed:
            self.closed = True
            self._changed.notify_all()
