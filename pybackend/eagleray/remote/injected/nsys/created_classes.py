"""Records the classes of which this process creates actors, with their modules, which Ray doesn't report.

The preview of later profiles matches patterns of `module.class` with them.
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

# A program that creates more makes up a class for each actor.
MOST = 200
ENDING = ".classes.json"


class CreatedClasses:
    """Called by the program's threads after each actor that they create; only a new class costs time."""

    def __init__(self, settings: RunSettings) -> None:
        self._run = settings.run
        self._profile = settings.profile
        self._lock = threading.Lock()
        os.register_at_fork(after_in_child=self._forked)
        self._names: list[str] = []
        self._recorded: set[tuple[str, str]] = set()
        self._mark = os.urandom(4).hex()
        self._written = ""

    def note(self, module: str, qualified: str) -> None:
        """Adds a class; errors while writing it are ignored."""
        if (
            self._profile is None
            or (module, qualified) in self._recorded
            or len(self._recorded) >= MOST
        ):
            return
        with self._lock:
            if (module, qualified) not in self._recorded:
                self._recorded.add((module, qualified))
                self._names.append(f"{module}:{qualified}")
                with contextlib.suppress(OSError):
                    self._write(self._profile.reports)

    def _write(self, shared: str) -> None:
        """Writes one file, with a new name for each new content, so that a name needs to be read only once."""
        from . import node_reports

        session_dir = ray_worker.session_dir()
        if not session_dir and not os.path.isdir(shared):
            # The process isn't connected to a cluster yet; the next class writes this one, too.
            return
        folder = node_reports.folder_for(shared, session_dir, self._run)
        process = f"{node_reports.plain(socket.gethostname())}.{os.getpid()}-{self._mark}"
        path = os.path.join(folder, f"{process}.{len(self._names)}{ENDING}")
        node_reports.write_json(path, {"run": self._run, "classes": self._names})
        before, self._written = self._written, path
        if before:
            os.unlink(before)

    def _forked(self) -> None:
        """A child gets a file of its own; its parent's stays."""
        self._lock = threading.Lock()
        self._written = ""
