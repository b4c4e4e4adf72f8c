"""The command in a terminal's place: started, read while it runs, interrupted."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import weakref
from pathlib import Path
from typing import Any

from tests.asked import START, ask
from tests.ray_cluster import REPOSITORY, wait_for

PLAIN = REPOSITORY / "tests" / "runs" / "programs" / "plain.py"


class Terminal:
    """One `eagleray …`, whose output goes to a file; `end` is for those that do not end by themselves."""

    def __init__(self, folder: Path, *arguments: str, env: dict[str, str] | None = None) -> None:
        self._out, self._err = self._unnamed_file(), self._unnamed_file()
        self.process = subprocess.Popen(
            [sys.executable, str(START), "cli", *arguments],
            cwd=folder,
            # Its output is a file, in which lines would otherwise appear late.
            env={**os.environ, "PYTHONUNBUFFERED": "1", **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=self._out,
            stderr=self._err,
            start_new_session=True,
        )

    def output(self) -> str:
        return _text(self._out)

    def errors(self) -> str:
        return _text(self._err)

    def wait_output(self, text: str) -> None:
        wait_for(f"“{text}” in the output", lambda: text in self.output() or self._over())
        assert text in self.output(), self.output() + self.errors()

    def interrupt(self) -> None:
        os.kill(self.process.pid, signal.SIGINT)

    def interrupt_hard(self) -> None:
        """Ends what still runs, with its program, as a test that failed has to."""
        while self.process.poll() is None:
            self.interrupt()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout=2)

    def code(self) -> int:
        return self.process.wait(timeout=90)

    def run_id(self) -> str:
        """The id of the run, which the command says first."""
        wait_for("the id of the run", lambda: "Run " in self.errors() or self._over())
        return self.errors().partition("Run ")[2].partition(":")[0]

    def _over(self) -> bool:
        return self.process.poll() is not None

    def _unnamed_file(self) -> int:
        """A file that is closed with this terminal, and leaves nothing."""
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
        weakref.finalize(self, os.close, descriptor)
        return descriptor


def _text(descriptor: int) -> str:
    # The program writes at the offset of the descriptor, which this doesn't move.
    return os.pread(descriptor, os.fstat(descriptor).st_size, 0).decode(errors="replace")


def eagleray(folder: Path, *arguments: str) -> str:
    """The output of a command that ends by itself, and well."""
    terminal = Terminal(folder, *arguments)
    assert terminal.code() == 0, terminal.errors()
    return terminal.output()


def listed() -> list[dict[str, Any]]:
    done = ask(os.environ, "runs", "--json")
    assert done.returncode == 0, done.stderr
    rows: list[dict[str, Any]] = json.loads(done.stdout)
    return rows


def row(run: str) -> dict[str, Any]:
    return next(item for item in listed() if item["id"] == run)
