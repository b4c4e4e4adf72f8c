"""Questions of ssh, taken from the askpass helper that it starts and put to the person.

ssh starts a program for each question and reads the answer from its output.  Ours is a script of one line in
a private folder; it runs `askpass_helper`, which speaks to the socket here.  What is asked is shown as it
is; what is answered goes to ssh alone: it is never kept, and never logged.
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
    """How to ask; `hint` is SSH_ASKPASS_PROMPT, which OpenSSH 8.0 does not yet set."""
    if hint == "none":
        return "notice"
    if hint == "confirm" or _HOST_KEY.search(prompt):
        return "confirm"
    # ssh does not say whether what is typed may be seen; only what is known to be harmless is shown.
    return "text" if _SHOWN.search(prompt) and not _HIDDEN.search(prompt) else "secret"


class Askpass:
    """Listens in `folder` for the questions of the ssh processes that have `environment`."""

    def __init__(self, folder: Path, name: str, ask: AskUser) -> None:
        self._folder = folder
        self._path = folder / f"{name}.sock"
        self._ask = ask
        self._server: private_socket.Served | None = None
        self._helpers: set[asyncio.StreamWriter] = set()
        self.asked = False
        self.was_cancelled = False

    @property
    def is_open(self) -> bool:
        """Whether the person is being asked now."""
        return bool(self._helpers)

    async def start(self) -> dict[str, str]:
        """Begins to listen; what an ssh process needs in its environment."""
        self._server = await private_socket.serve(self._path, self._serve)
        return {
            "SSH_ASKPASS": str(_script(self._folder)),
            "SSH_ASKPASS_REQUIRE": "force",
            # Before 8.4 ssh uses a helper only where it sees a display, and no terminal.
            "DISPLAY": os.environ.get("DISPLAY") or ":0",
            SOCKET_VARIABLE: str(self._path),
        }

    def close(self) -> None:
        """Ends all questions: a helper may outlive the ssh that started it."""
        if self._server is not None:
            self._server.stop()
            self._server = None
        for writer in self._helpers:
            # Its reader ends with it, and then its question.
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One helper; its end (ssh was killed, the key was touched) ends the question."""
        asking: asyncio.Task[str | None] | None = None
        self._helpers.add(writer)
        self.asked = True
        try:
            said = jsonlines.decode(await reader.readline())
            prompt = _shown(str(said["prompt"]))
            asking = asyncio.ensure_future(self._put(prompt, kind(prompt, str(said["hint"]))))
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({asking, gone}, return_when=asyncio.FIRST_COMPLETED)
            gone.cancel()
            if asking.done():
                writer.write(jsonlines.encode({"text": asking.result()}))
                await writer.drain()
        except (OSError, ValueError, KeyError):
            # A helper that was killed has no use for an answer; nothing of it is logged.
            pass
        finally:
            self._helpers.discard(writer)
            if asking is not None:
                asking.cancel()
            writer.close()

    async def _put(self, prompt: str, how: QuestionKind) -> str | None:
        if self.was_cancelled:
            # ssh asks for a password three times, whatever it was given.
            return None
        answer = await self._ask(prompt, how)
        if answer is None and how != "notice":
            self.was_cancelled = True
        return answer


def without(environment: Mapping[str, str]) -> dict[str, str]:
    """`environment` for an ssh that is to ask nobody: not us, and not a window of the person's desktop."""
    left_out = {"SSH_ASKPASS", "SSH_ASKPASS_REQUIRE", SOCKET_VARIABLE}
    kept = {name: value for name, value in environment.items() if name not in left_out}
    return {**kept, "SSH_ASKPASS_REQUIRE": "never"}


def _shown(prompt: str) -> str:
    """The prompt, which a server may have written, without anything that steers a terminal."""
    clean = "".join(c if c.isprintable() or c == "\n" else " " for c in prompt[:_LONGEST_PROMPT])
    return clean.strip()


def _script(folder: Path) -> Path:
    """The helper as the one executable file that ssh wants; in the home where `folder` may run nothing."""
    if os.statvfs(folder).f_flag & getattr(os, "ST_NOEXEC", 0):
        folder = private_folder(home() / "run")
    path = folder / f"askpass-{__version__}"
    start = Path(__file__).resolve().parents[3] / "eagleray_start.py"
    command = shlex.join([sys.executable, "-I", "-S", str(start), "askpass"])
    text = f'#!/bin/sh\nexec {command} "$@"\n'
    with contextlib.suppress(OSError, UnicodeDecodeError):
        if path.read_text() == text:
            return path
    # Two processes may write it at the same time, and ssh may be about to run it.
    new = path.with_name(f"{path.name}.{os.getpid()}")
    new.write_text(text)
    new.chmod(0o700)
    new.replace(path)
    return path


QuestionKind = Literal["text", "secret", "confirm", "notice"]

# The prompt and its kind; None is the answer when it was cancelled or nobody is there to be asked.
# Whoever no longer needs the answer cancels the call, and the question disappears.
AskUser = Callable[[str, QuestionKind], Awaitable[str | None]]

# How the connection to that ssh destination asks.
AskUserFor = Callable[[str], AskUser]
