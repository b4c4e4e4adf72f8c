"""The watcher of a worker that its framework has put under nsys: leaves that nsys alone and copies its reports.

NeMo RL, verl and RLinf record the steps of `--steps` like this.
"""

from __future__ import annotations

from . import framework_nsys, node_processes, node_reports
from .session import NsysRecording
from .watcher import NsysWatcher

TYPE_CHECKING = False
if TYPE_CHECKING:
    import socket
    from typing import Any


class FrameworkNsysWatcher(NsysWatcher):
    """Copies each report that the framework's nsys writes, and records on request beside them."""

    def __init__(self, begin: dict[str, Any], folder: str, listener: socket.socket) -> None:
        super().__init__(begin, folder, listener)
        framework = begin["framework"]
        self._front = node_processes.NodeProcess(framework["front"])
        self._output: str = framework["output"]
        self._arguments: list[str] = framework["arguments"]
        self._copied: set[str] = set()
        # Reports of an earlier worker with the same pid are not this one's.
        self._copied.update(path for path, size in self._framework_reports() if size)

    def _introduce(self) -> None:
        """Begins at once: the worker is under nsys already."""
        self._begin()

    def _begin_recording(self) -> None:
        in_ranges = any(
            "capture-range" in argument or argument == "-c" for argument in self._arguments
        )
        self._state = "armed" if in_ranges else "recording"
        path = f"{self._output}{node_reports.REPORT}"
        self._session.recording = NsysRecording(path, self._arguments, in_ranges)
        self._publish()

    def _why_untimed(self, recording: NsysRecording) -> str:
        by_framework = recording.path.startswith(self._output)
        why = "its framework records it until Stop is said" if by_framework else ""
        return super()._why_untimed(recording) or why

    def _poll_living(self) -> None:
        super()._poll_living()
        for path, _ in self._framework_reports():
            if path in self._copied or not self._growing.may_be_whole(path):
                continue
            if not self._nsys.can_read(path, self._folder):
                self._copy(path)
                self._publish()

    def _poll_range(self, recording: NsysRecording) -> None:
        """Does nothing: reports of ranges may have other names, so `_poll_living` finds them."""

    def _finish(self, recording: NsysRecording, refused: str = "") -> None:
        """Completes a recording on request, or copies the framework's last reports."""
        if not recording.path.startswith(self._output):
            super()._finish(recording, refused)
            return
        for path, size in self._framework_reports():
            if size and path not in self._copied:
                self._copy(path)
        if not self._reports:
            super()._finish(recording, refused)

    def _framework_reports(self) -> list[tuple[str, int]]:
        paths = framework_nsys.reports_of(self._output)
        return [(path, node_reports.size_of(path)) for path in paths]

    def _copy(self, path: str) -> None:
        self._copied.add(path)
        recording = NsysRecording(self._next_path(), self._arguments, in_ranges=True)
        try:
            node_reports.copy_report(path, recording.path)
        except OSError as error:
            self._problem = f"the report {path} cannot be copied: {error.strerror}"
            return
        super()._finish(recording)
