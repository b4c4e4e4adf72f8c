"""Of which classes this process has created actors, with their modules: said to who gathers, since Ray tells nobody.

A later preview of patterns knows by it what fits `module.class`.
"""

from __future__ import annotations

import contextlib
import os
import socket
import threading

from .. import ray_worker

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ..settings import RunSettings

# Who creates more has made classes up, one for each actor.
MOST = 200
ENDING = ".classes.json"


class CreatedClasses:
    """Called by the program's threads after each actor that they create; only a new class costs anything."""

    def __init__(self, settings: RunSettings) -> None:
        self._run = settings.run
        self._profile = settings.profile
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forked)
        self._names: list[str] = []
        self._known: set[tuple[str, str]] = set()
        self._mark = os.urandom(4).hex()
        self._written = ""

    def note(self, module: str, qualified: str) -> None:
        """Raises nothing: where it cannot be written, nobody hears of it."""
        if self._profile is None or (module, qualified) in self._known or len(self._known) >= MOST:
            return
        with self._lock:
            if (module, qualified) not in self._known:
                self._known.add((module, qualified))
                self._names.append(f"{module}:{qualified}")
                with contextlib.suppress(OSError):
                    self._write(self._profile.reports)

    def _write(self, shared: str) -> None:
        """One file, whose name is another when it says more: a name that was read once need not be read again."""
        from . import node_reports

        session_dir = ray_worker.session_dir()
        if not session_dir and not os.path.isdir(shared):
            # It is not connected to a cluster; the next class writes this one, too.
            return
        folder = node_reports.folder_for(shared, session_dir, self._run)
        who = f"{node_reports.plain(socket.gethostname())}.{os.getpid()}-{self._mark}"
        path = os.path.join(folder, f"{who}.{len(self._names)}{ENDING}")
        node_reports.write_json(path, {"run": self._run, "classes": self._names})
        before, self._written = self._written, path
        if before:
            os.unlink(before)

    def _forked(self) -> None:
        """A child has a file of its own; that of its parent stays."""
        self._lock = threading.Lock()
        self._written = ""
