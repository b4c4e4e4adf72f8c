"""Asks the user on the terminal: the questions of ssh, and confirmations."""

from __future__ import annotations

import asyncio
import contextlib
import os
import sys
import termios
from collections.abc import Iterator

from eagleray.adapter_client.routes import AdapterRoutes
from eagleray.common import tasks
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.protocol.adapter_control import SshQuestion

TERMINAL = "/dev/tty"


class TerminalQuestions:
    """Asks the questions of ssh one after another until `close`; without a terminal ssh gets no answer and fails."""

    def __init__(self, routes: AdapterRoutes) -> None:
        self._routes = routes
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._terminal_lock = asyncio.Lock()
        self._end = routes.asks(self._on_question, self._on_over) if has_terminal() else None

    async def close(self) -> None:
        if self._end is not None:
            self._end()
        running = list(self._tasks.values())
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)

    def _on_question(self, question: SshQuestion) -> None:
        task = tasks.owned(self._ask(question), "question", lambda _: self._decline(question))
        self._tasks[question.id] = task
        task.add_done_callback(lambda _: self._forget(question.id, task))

    def _forget(self, question_id: int, task: asyncio.Task[None]) -> None:
        if self._tasks.get(question_id) is task:
            del self._tasks[question_id]

    def _on_over(self, question_id: int) -> None:
        task = self._tasks.get(question_id)
        if task is not None:
            task.cancel()

    def _decline(self, question: SshQuestion) -> None:
        """The connection must not wait for an answer that doesn't come."""
        declining = self._routes.answer(question.id, None)
        self._tasks[question.id] = tasks.owned(declining, "no answer", tasks.only_logged)

    async def _ask(self, question: SshQuestion) -> None:
        async with self._terminal_lock:
            lines = [printable(line, 500) for line in question.prompt.splitlines()]
            prompt = f"{question.ssh}: " + "\n".join(lines).rstrip()
            if question.kind == "notice":
                print(prompt, file=sys.stderr, flush=True)
                return
            more = " (yes/no) " if question.kind == "confirm" and "yes" not in prompt else " "
            typed = await read_line(prompt + more, secret=question.kind == "secret")
        await self._routes.answer(question.id, typed)


def has_terminal() -> bool:
    """Whether the user can answer on a terminal."""
    try:
        os.close(os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY))
    except OSError:
        return False
    return sys.stdin.isatty() or sys.stderr.isatty()


async def read_line(prompt: str, *, secret: bool) -> str | None:
    """Returns a line typed on the terminal, None at its end; can be cancelled, unlike a read in a thread."""
    loop = asyncio.get_running_loop()
    terminal = os.open(TERMINAL, os.O_RDWR | os.O_NOCTTY)
    readable = asyncio.Event()
    try:
        os.write(terminal, prompt.encode())
        with _echo_off(terminal) if secret else contextlib.nullcontext():
            loop.add_reader(terminal, readable.set)
            # The terminal hands out whole lines.
            await readable.wait()
            line = os.read(terminal, 4096)
        if secret:
            os.write(terminal, b"\n")
        return line.decode("utf-8", "replace").rstrip("\r\n") if line else None
    finally:
        loop.remove_reader(terminal)
        os.close(terminal)


@contextlib.contextmanager
def _echo_off(terminal: int) -> Iterator[None]:
    before = termios.tcgetattr(terminal)
    quiet = [*before]
    quiet[3] &= ~termios.ECHO
    termios.tcsetattr(terminal, termios.TCSAFLUSH, quiet)
    try:
        yield
    finally:
        termios.tcsetattr(terminal, termios.TCSAFLUSH, before)


async def confirmed(question: str) -> bool:
    """Whether the user types yes; without a terminal the answer is no."""
    if not has_terminal():
        return False
    typed = await read_line(
        f"{printable(question, 4000)}\n{t('Continue? (yes/no)')} ", secret=False
    )
    return (typed or "").strip().lower() in ("y", "yes")
