"""The watcher of a worker under nsys: begins and ends recordings on request, and records when a report is complete.

It outlives the worker until nsys has written the last report, within limits.
"""

from __future__ import annotations

import contextlib
import os
import queue
import socket
import time

from ..profile_settings import ProfileSettings
from . import node_processes, node_reports
from .databases import NodeDatabases
from .node_processes import NodeProcess
from .program import NsysError, NsysProgram
from .session import GrowingReports, NsysSession, place_report, report_entry
from .watcher_clients import WatcherClient, serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .session import NsysRecording

POLL_INTERVAL_S = 0.25
# The limits until a worker begins under nsys, and until nsys has written its report after the worker's end.
BEGIN_S = 120.0
END_S = 1800.0
# Facts about the worker that are known only once it has connected to Ray.
INFO = ("actor_id", "worker_id", "name", "rank", "gpus")


class NsysWatcher:
    """Watches one worker, on one thread; each client is read by a thread of its own."""

    def __init__(self, begin: dict[str, Any], folder: str, listener: socket.socket) -> None:
        self._facts: dict[str, Any] = begin["worker"]
        self._reports_folder: str = begin["reports"]
        self._profile = ProfileSettings(begin["profile"])
        self._folder = folder
        self._nsys = NsysProgram(begin["nsys"], os.environ)
        self._facts["nsys_version"] = self._nsys.version()
        self._session = NsysSession(self._nsys, begin["session"], self._profile)
        version = self._facts["nsys_version"]
        self._databases = NodeDatabases(self._nsys, version, self._profile.reader, folder)
        self._requests: queue.Queue[tuple[WatcherClient, dict[str, Any]]] = queue.Queue()
        self._clients: list[WatcherClient] = []
        self._state = self._published = "armed"
        self._message: str = begin["said"]
        self._problem = ""
        self._reports: list[str] = []
        self._count = 0
        self._starter: WatcherClient | None = None
        self._waiting: WatcherClient | None = None
        self._front = self._worker = NodeProcess()
        self._ends_at = 0.0
        self._limit = time.monotonic() + BEGIN_S
        self._is_over = False
        self._growing = GrowingReports()
        serve(listener, self._requests)

    def run(self) -> None:
        """Runs until no further report can come."""
        while not self._is_over:
            with contextlib.suppress(queue.Empty):
                caller, line = self._requests.get(timeout=POLL_INTERVAL_S)
                self._handle(caller, line)
            self._poll()

    # --- clients ---------------------------------------------------------------------------------

    def _handle(self, caller: WatcherClient, line: dict[str, Any]) -> None:
        op = line.get("op")
        if op == "front":
            self._front, self._starter = NodeProcess(int(line["pid"])), caller
            self._introduce()
        elif op == "worker" and self._waiting is None:
            self._facts["pid"], self._waiting = int(line["pid"]), caller
            self._introduce()
        elif op == "waits":
            self._begin()
        elif op == "left" and caller is self._starter and not self._worker.pid:
            self._give_up()
        elif op == "proxy":
            self._clients.append(caller)
            caller.send(self._line())
        elif op == "who":
            self._facts.update({key: line[key] for key in INFO if line.get(key)})
            self._publish()
        elif op == "record":
            self._record(float(line.get("seconds") or 0))
        elif op == "stop_recording":
            self._stop()

    def _introduce(self) -> None:
        """Notifies the starter that the worker runs under nsys; either of them may connect first."""
        if self._starter is not None and self._waiting is not None:
            self._starter.send({"event": "started", "pid": self._facts["pid"]})

    def _begin(self) -> None:
        """Starts the worker, once a recording from its start is on."""
        self._worker = NodeProcess(self._facts["pid"])
        self._stem = node_reports.stem(self._facts)
        self._begin_recording()
        if self._waiting is not None:
            self._waiting.send({"event": "go"})

    def _begin_recording(self) -> None:
        if self._profile.when == "steps":
            self._record(0, in_ranges=True)
        elif self._profile.when != "on-demand":
            self._record(self._profile.seconds if self._profile.when == "seconds" else 0)
        else:
            self._publish()

    def _give_up(self) -> None:
        """Ends nsys, because the process that has started it continues as the worker."""
        node_processes.kill(self._session.processes())
        self._is_over = True

    def _shown_state(self) -> str:
        """The state, which is "writing" until the databases of the reports are complete, too."""
        is_writing = self._state == "armed" and self._databases.is_busy
        return "writing" if is_writing else self._state

    def _line(self) -> dict[str, Any]:
        self._published = self._shown_state()
        shown = {"state": self._published, "said": self._message, "problem": self._problem}
        return {"event": "profile", "profile": {**shown, "reports": self._reports}}

    def _publish(self) -> None:
        """Sends the state to the clients and writes it to the file beside the reports."""
        line = self._line()
        if self._worker.pid:
            path = os.path.join(self._reports_folder, f"{self._stem}.worker.json")
            with contextlib.suppress(OSError):
                where = {"folder": self._reports_folder}
                node_reports.write_json(path, {**self._facts, **where, **line["profile"]})
        self._clients = [client for client in self._clients if client.send(line)]

    # --- recording -------------------------------------------------------------------------------

    def _record(self, seconds: float, in_ranges: bool = False) -> None:
        """Begins a recording.  A running one then ends after `seconds`, or on request if they are 0."""
        if self._session.recording is not None:
            self._problem = self._why_untimed(self._session.recording)
            if not self._problem:
                self._end_after(seconds)
            self._publish()
            return
        try:
            node_reports.checked(self._reports_folder)
            self._session.begin(self._next_path(), in_ranges)
        except NsysError as error:
            self._problem = f"nsys does not record: {error}"
        except OSError as error:
            self._problem = f"nsys does not record into {self._reports_folder}: {error.strerror}"
        else:
            self._problem = ""
            self._state = "armed" if in_ranges else "recording"
            self._end_after(seconds)
        self._publish()

    def _end_after(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds if seconds > 0 else 0.0

    def _why_untimed(self, recording: NsysRecording) -> str:
        """Why this recording can't end after some seconds, "" if it can."""
        return "it is recorded where the program itself says so" if recording.in_ranges else ""

    def _next_path(self) -> str:
        self._count += 1
        number = f".{self._count}" if self._count > 1 else ""
        return os.path.join(self._reports_folder, f"{self._stem}{number}{node_reports.REPORT}")

    def _stop(self) -> None:
        if self._session.recording is None:
            return
        self._state = "writing"
        self._publish()
        recording, problem = self._session.recording, ""
        try:
            self._session.end()
        except NsysError as error:
            problem = str(error)
            if not self._worker.is_alive:
                # The worker has ended meanwhile, so nsys writes the report.
                return
            self._session.recording = None
        self._finish(recording, problem)
        self._state = "armed"
        self._publish()

    def _finish(self, recording: NsysRecording, refused: str = "") -> None:
        """Completes a recording: writes the file beside the report once nsys can read the report."""
        missing = place_report(recording)
        problem = missing and f"{missing} ({refused})" if refused else missing
        if not missing:
            unread = self._nsys.can_read(recording.path, self._folder)
            problem = f"the report cannot be read: {unread}" if unread else ""
        try:
            description = report_entry(recording, self._facts, problem)
            node_reports.write_json(f"{recording.path}.json", description, is_durable=True)
            if not missing:
                self._reports.append(os.path.basename(recording.path))
            if not problem:
                self._databases.make(recording.path, description)
        except OSError as error:
            problem = problem or f"what belongs to the report cannot be written: {error.strerror}"
        if recording.in_ranges and missing and not self._worker.is_alive:
            problem = "the program began no range in which to record (torch.cuda.profiler.start)"
        self._problem = problem

    # --- polling ---------------------------------------------------------------------------------

    def _poll(self) -> None:
        if not self._worker.pid:
            self._is_over = self._is_over or time.monotonic() > self._limit
            return
        if self._worker.is_alive:
            self._limit = time.monotonic() + END_S
            self._poll_living()
        else:
            self._end()
        if self._shown_state() != self._published:
            self._publish()

    def _poll_living(self) -> None:
        recording = self._session.recording
        if recording is not None and recording.in_ranges:
            self._poll_range(recording)
        elif recording is not None and self._ends_at and time.monotonic() > self._ends_at:
            self._stop()

    def _poll_range(self, recording: NsysRecording) -> None:
        """Completes a report that the program's own calls have ended, once it no longer grows and can be read."""
        path = recording.path
        if self._growing.may_be_whole(path) and not self._nsys.can_read(path, self._folder):
            self._session.recording = None
            self._finish(recording)
            self._publish()

    def _end(self) -> None:
        """Waits, within a limit, until nsys has written its report after the worker's end."""
        if self._state != "writing" and self._session.recording is not None:
            self._state = "writing"
            self._publish()
        working = [self._front.pid] if self._front.is_alive else []
        working += self._session.processes()
        is_late = time.monotonic() > self._limit
        if working and not is_late:
            return
        node_processes.kill(working)
        recording, self._session.recording = self._session.recording, None
        if recording is not None:
            late = f"nsys was at work {END_S:g} s after the worker had ended" if is_late else ""
            self._finish(recording, late)
        if self._databases.is_busy:
            self._databases.end_by(self._limit)
            return
        self._state = "ended"
        self._publish()
        self._is_over = True
