"""A worker that its framework has put under nsys itself: that stays as it is, and its reports are taken along."""

from __future__ import annotations

from . import framework_nsys, node_processes, node_reports
from .session import NsysRecording
from .watcher import Watcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any


class FrameworkWatcher(Watcher):
    """Takes each report that the framework's own nsys writes, and records what somebody asks for beside them."""

    def __init__(self, begin: dict[str, Any], folder: str, listener: socket.socket) -> None:
        super().__init__(begin, folder, listener)
        framework = begin["framework"]
        self._front = node_processes.NodeProcess(framework["front"])
        self._output: str = framework["output"]
        self._words: list[str] = framework["words"]
        self._taken: set[str] = set()
        # What lies there from an earlier worker of the same number is not this one's.
        self._taken.update(path for path, size in self._theirs() if size)

    def _introduce(self) -> None:
        """Nobody else would be the worker, so that nothing has to be waited for."""
        self._begin()

    def _begin_recording(self) -> None:
        in_ranges = any("capture-range" in word or word == "-c" for word in self._words)
        self._state = "armed" if in_ranges else "recording"
        path = f"{self._output}{node_reports.REPORT}"
        self._session.recording = NsysRecording(path, self._words, in_ranges)
        self._tell()

    def _cannot_time(self, recording: NsysRecording) -> str:
        is_theirs = recording.path.startswith(self._output)
        theirs = "its framework records it until Stop is said" if is_theirs else ""
        return super()._cannot_time(recording) or theirs

    def _look_at_living(self) -> None:
        super()._look_at_living()
        for path, _ in self._theirs():
            if path in self._taken or not self._growing.may_be_whole(path):
                continue
            if not self._nsys.can_read(path, self._folder):
                self._take_theirs(path)
                self._tell()

    def _look_for_range(self, recording: NsysRecording) -> None:
        """Theirs are looked for by all the names that they may get."""

    def _keep(self, recording: NsysRecording, refused: str = "") -> None:
        """The last of theirs, or one that somebody asked for."""
        if not recording.path.startswith(self._output):
            super()._keep(recording, refused)
            return
        for path, size in self._theirs():
            if size and path not in self._taken:
                self._take_theirs(path)
        if not self._reports:
            super()._keep(recording, refused)

    def _theirs(self) -> list[tuple[str, int]]:
        paths = framework_nsys.reports_of(self._output)
        return [(path, node_reports.size_of(path)) for path in paths]

    def _take_theirs(self, path: str) -> None:
        self._taken.add(path)
        recording = NsysRecording(self._next_path(), self._words, in_ranges=True)
        try:
            node_reports.brought(path, recording.path)
        except OSError as error:
            self._problem = f"the report {path} cannot be copied: {error.strerror}"
            return
        super()._keep(recording)
