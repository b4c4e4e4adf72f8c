"""Golden conversations between an editor and the adapter, with what varies replaced."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.adapter.harness import PROGRAMS
from tests.dap_client import DapClient

# debugpy sends these before or after its responses.
UNORDERED = ("continued", "thread", "module")

GOLDEN = Path(__file__).parent / "golden"


class Conversation:
    """Collects the messages of several editors, and compares them with a golden text."""

    def __init__(self, name: str) -> None:
        self._file = GOLDEN / f"{name}.txt"
        self._lines: list[str] = []
        self._heard: dict[int, int] = {}

    def note(self, text: str) -> None:
        self._lines.append(f"# {text}")

    def hear(self, client: DapClient) -> None:
        """Adds the client's messages since the last call, up to the last one that it waited for."""
        start = self._heard.get(id(client), 0)
        end = max(client.waited_for, start)
        for message in client.traffic()[start:end]:
            if message.get("event") not in UNORDERED:
                self._lines.append(line_of(message))
        self._heard[id(client)] = end

    def compare(self) -> None:
        text = "\n".join(self._lines) + "\n"
        if os.environ.get("UPDATE_EXPECT") == "1":
            self._file.parent.mkdir(exist_ok=True)
            self._file.write_text(text)
        assert self._file.exists(), f"no golden text; UPDATE_EXPECT=1 writes it:\n{text}"
        assert text == self._file.read_text()


def line_of(message: dict[str, Any]) -> str:
    """A message on one line: direction, name, and its body without values that vary."""
    kind = message["type"]
    if kind == "request":
        return f"-> {message['command']} {stable(message.get('arguments') or {})}"
    if kind == "event":
        return f"<- event {message['event']} {stable(message.get('body') or {})}"
    verdict = "" if message["success"] else f" FAILED: {stable(message.get('message'))}"
    return f"<- {message['command']}{verdict} {stable(message.get('body') or {})}"


def stable(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, ensure_ascii=False)
    text = text.replace(str(PROGRAMS), "<programs>")
    text = re.sub(r'("pid"|"processId"|"systemProcessId"): \d+', r"\1: <pid>", text)
    text = re.sub(r'("variablesReference"): [1-9]\d*', r"\1: <reference>", text)
    return re.sub(
        r'("frameId"): \d+',
        r"\1: <frame>",
        re.sub(r'("id"): \d+(?=, "line")', r"\1: <frame>", text),
    )
