"""Questions of ssh to the user, received from the askpass helper that ssh starts.

ssh starts a program for each question and reads the answer from its output.  Ours is a script of one line in
a private folder; it runs `askpass_helper`, which speaks to the socket here.  The question is shown as it
is; the answer goes to ssh alone: it is never stored, and never logged.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
import shlex
import sys
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Literal

from eagleray import __version__
from eagleray.common import private_socket
from eagleray.common.paths import home, private_folder
from eagleray.protocol import jsonlines
from eagleray.routes.ssh.askpass_helper import SOCKET_VARIABLE

_LONGEST_PROMPT = 4000
_HOST_KEY = re.compile(r"\(yes/no")
_HIDDEN = re.compile(r"passw|passphrase|\bPIN\b", re.IGNORECASE)
_SHOWN = re.compile(
    r"verification code|one-time code|authenticat\w+ code|passcode|\botp\b|option|choice|user ?name|log ?in( as)?:",
    re.IGNORECASE,
)


def kind(prompt: str, hint: str) -> QuestionKind:
    """Returns the kind of a question; `hint` is SSH_ASKPASS_PROMPT, which OpenSSH 8.0 doesn't set yet."""
    if hint == "none":
        return "notice"
    if hint == "confirm" or _HOST_KEY.search(prompt):
        return "confirm"
    # ssh doesn't say whether the answer may be visible (SSH_ASKPASS_PROMPT is `confirm`, `none` or unset, man ssh);
    # only answers to known harmless questions are shown.
    return "text" if _SHOWN.search(prompt) and not _HIDDEN.search(prompt) else "secret"


class Askpass:
    """Listens in `folder` for the questions of the ssh processes that were started with its environment."""

    def __init__(self, folder: Path, name: str, ask: AskUser) -> None:
        self._folder = folder
        self._path = folder / f"{name}.sock"
        self._ask = ask
        self._server: private_socket.Served | None = None
        self._helpers: set[asyncio.StreamWriter] = set()
        self.was_used = False
        self.was_cancelled = False

    @property
    def is_open(self) -> bool:
        """Whether the user is being asked now."""
        return bool(self._helpers)

    async def start(self) -> dict[str, str]:
        """Begins to listen; returns the environment variables for an ssh process."""
        self._server = await private_socket.serve(self._path, self._serve)
        return {
            "SSH_ASKPASS": str(_script(self._folder)),
            "SSH_ASKPASS_REQUIRE": "force",
            # Before 8.4 ssh uses a helper only where it sees a display, and no terminal.
            "DISPLAY": os.environ.get("DISPLAY") or ":0",
            SOCKET_VARIABLE: str(self._path),
        }

    def close(self) -> None:
        """Cancels all questions: a helper may outlive the ssh that started it."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for writer in self._helpers:
            # That ends its reader, and then its question.
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Serves one helper; its end (ssh was killed, the key was touched) cancels the question."""
        asking: asyncio.Task[str | None] | None = None
        self._helpers.add(writer)
        self.was_used = True
        try:
            question = jsonlines.decode(await reader.readline())
            prompt = _shown(str(question["prompt"]))
            asking = asyncio.ensure_future(self._put(prompt, kind(prompt, str(question["hint"]))))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if asking.done():
                writer.write(jsonlines.encode({"text": asking.result()}))
                await writer.drain()
        except (OSError, ValueError, KeyError):
            # The helper was killed and needs no answer; nothing is logged.
            pass
        finally:
            self._helpers.discard(writer)
            if asking is not None:
                asking.cancel()
            writer.close()

    async def _put(self, prompt: str, how: QuestionKind) -> str | None:
        if self.was_cancelled:
            # ssh asks for a password three times, whatever the answer (NumberOfPasswordPrompts, man ssh_config).
            return None
        answer = await self._ask(prompt, how)
        if answer is None and how != "notice":
            self.was_cancelled = True
        return answer


def without_askpass(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns `environment` for an ssh that must not ask: neither us nor a window of the user's desktop."""
    left_out = {"SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", SOCKET_VARIABLE}
    others = {name: value for name, value in environment.items() if name not in left_out}
    return {**others, "SSH_ASKPASS_REQUIRE": "never"}


def _shown(prompt: str) -> str:
    """Returns the prompt, which may come from a server, without control characters."""
    clean = "".join(c if c.isprintable() or c == "\n" else " " for c in prompt[:_LONGEST_PROMPT])
    return clean.strip()


def _script(folder: Path) -> Path:
    """Returns the helper as the executable file that ssh needs; in the home where `folder` is mounted noexec."""
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        folder = private_folder(home() / "run")
    path = folder / f"askpass-{__version__}"
    start = Path(__file__).resolve().parents[3] / "eagleray_start.py"
    command = shlex.join([sys.executable, "-I", "-S", str(start), "askpass"])
    text = f'#!/bin/sh\nexec {command} "$@"\n'
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.read_text() == text:
            return path
    # Two processes may write it at the same time, and ssh may be starting it.
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.chmod(0o700)
    new.replace(path)
    return path


QuestionKind = Literal["text", "secret", "confirm", "notice"]

# Asks the user: the prompt and its kind.  Returns None if the user cancelled or no window can ask.
# Cancelling the call removes the question.
AskUser = Callable[[str, QuestionKind], Awaitable[str | None]]

# Returns how the connection to that ssh destination asks.
AskUserFor = Callable[[str], AskUser]
