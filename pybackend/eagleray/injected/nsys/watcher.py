"""The watcher of a worker under nsys, which records when it is told and says when a report is whole.

It outlives the worker until nsys has written the last report, and waits for that no longer than its limits.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import shutil
import signal
import socket
import sys
import time

from . import node_processes, node_reports
from .databases import DatabaseExports
from .node_processes import NodeProcess
from .private_folders import remove_left
from .profile_settings import ProfileSettings
from .program import NsysError, NsysProgram
from .session import GrowingReports, NsysSession, entry, placed
from .watcher_clients import WatcherClient, serve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .session import NsysRecording

LOOK_S = 0.25
# So long a worker may take to begin under nsys, and nsys to write when the worker has ended.
BEGIN_S = 120.0
END_S = 1800.0
# What a worker knows of itself only when Ray has told it.
WHO = ("actor_id", "worker_id", "name", "rank", "gpus")


def main() -> None:
    """Runs with the watcher's private folder and the number of its listening socket as the last arguments.

    The folder contains `begin.json`, which `launch` has written.
    """
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(number, signal.SIG_IGN)
    folder, listener = sys.argv[-2], socket.socket(fileno=int(sys.argv[-1]))
    remove_left(os.path.dirname(folder))
    try:
        with open(os.path.join(folder, "begin.json"), encoding="utf-8") as stream:
            begin = json.load(stream)
        watcher_for(begin, folder, listener).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def watcher_for(begin: dict[str, Any], folder: str, listener: socket.socket) -> Watcher:
    """The watcher for this worker; few workers are under an nsys of their framework, and only those need that module."""
    if "framework" not in begin:
        return Watcher(begin, folder, listener)
    from .framework_watcher import FrameworkWatcher

    return FrameworkWatcher(begin, folder, listener)


class Watcher:
    """All of one worker, on one thread; those who call it have threads of their own."""

    def __init__(self, begin: dict[str, Any], folder: str, listener: socket.socket) -> None:
        self._known: dict[str, Any] = begin["known"]
        self._reports_folder: str = begin["reports"]
        self._profile = ProfileSettings(begin["profile"])
        self._folder = folder
        self._nsys = NsysProgram(begin["nsys"], os.environ)
        self._known["nsys_version"] = self._nsys.version()
        self._session = NsysSession(self._nsys, begin["session"], self._profile)
        version = self._known["nsys_version"]
        self._databases = DatabaseExports(self._nsys, version, self._profile.reader, folder)
        self._todo: queue.Queue[tuple[WatcherClient, dict[str, Any]]] = queue.Queue()
        self._callers: list[WatcherClient] = []
        self._state = self._told = "armed"
        self._said: str = begin["said"]
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
        serve(listener, self._todo)

    def run(self) -> None:
        """Until nothing more can come."""
        while not self._is_over:
            with contextlib.suppress(queue.Empty):
                caller, line = self._todo.get(timeout=LOOK_S)
                self._take(caller, line)
            self._look()

    # --- who calls -------------------------------------------------------------------------------

    def _take(self, caller: WatcherClient, line: dict[str, Any]) -> None:
        op = line.get("op")
        if op == "front":
            self._front, self._starter = NodeProcess(int(line["pid"])), caller
            self._introduce()
        elif op == "worker" and self._waiting is None:
            self._known["pid"], self._waiting = int(line["pid"]), caller
            self._introduce()
        elif op == "waits":
            self._begin()
        elif op == "left" and caller is self._starter and not self._worker.pid:
            self._give_up()
        elif op == "proxy":
            self._callers.append(caller)
            caller.send(self._line())
        elif op == "who":
            self._known.update({key: line[key] for key in WHO if line.get(key)})
            self._tell()
        elif op == "record":
            self._record(float(line.get("seconds") or 0))
        elif op == "stop_recording":
            self._stop()

    def _introduce(self) -> None:
        """A worker under nsys begins when who has started it leaves its place to it; either may come first."""
        if self._starter is not None and self._waiting is not None:
            self._starter.send({"event": "started", "pid": self._known["pid"]})

    def _begin(self) -> None:
        """The worker waits until what is to be recorded from its start is recorded."""
        self._worker = NodeProcess(self._known["pid"])
        self._stem = node_reports.stem(self._known)
        self._begin_recording()
        if self._waiting is not None:
            self._waiting.send({"event": "go"})

    def _begin_recording(self) -> None:
        if self._profile.when == "steps":
            self._record(0, in_ranges=True)
        elif self._profile.when != "on-demand":
            self._record(self._profile.seconds if self._profile.when == "seconds" else 0)
        else:
            self._tell()

    def _give_up(self) -> None:
        """Who has started nsys is the worker itself now, and says why."""
        node_processes.kill(self._session.processes())
        self._is_over = True

    def _shown_state(self) -> str:
        """Who waits for reports waits for the databases of them, too."""
        is_writing = self._state == "armed" and self._databases.is_busy
        return "writing" if is_writing else self._state

    def _line(self) -> dict[str, Any]:
        self._told = self._shown_state()
        shown = {"state": self._told, "said": self._said, "problem": self._problem}
        return {"event": "profile", "profile": {**shown, "reports": self._reports}}

    def _tell(self) -> None:
        """What has changed, to who listens and to the file beside the reports."""
        line = self._line()
        if self._worker.pid:
            path = os.path.join(self._reports_folder, f"{self._stem}.worker.json")
            with contextlib.suppress(OSError):
                where = {"folder": self._reports_folder}
                node_reports.write_json(path, {**self._known, **where, **line["profile"]})
        self._callers = [one for one in self._callers if one.send(line)]

    # --- recording -------------------------------------------------------------------------------

    def _record(self, seconds: float, in_ranges: bool = False) -> None:
        """The later word says when it ends: one that goes on does so after these seconds, or without any when told."""
        if self._session.recording is not None:
            self._problem = self._cannot_time(self._session.recording)
            if not self._problem:
                self._end_after(seconds)
            self._tell()
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
        self._tell()

    def _end_after(self, seconds: float) -> None:
        self._ends_at = time.monotonic() + seconds if seconds > 0 else 0.0

    def _cannot_time(self, recording: NsysRecording) -> str:
        """Why this one does not end after some seconds, "" if it can."""
        return "it is recorded where the program itself says so" if recording.in_ranges else ""

    def _next_path(self) -> str:
        self._count += 1
        number = f".{self._count}" if self._count > 1 else ""
        return os.path.join(self._reports_folder, f"{self._stem}{number}{node_reports.REPORT}")

    def _stop(self) -> None:
        if self._session.recording is None:
            return
        self._state = "writing"
        self._tell()
        recording, problem = self._session.recording, ""
        try:
            self._session.end()
        except NsysError as error:
            problem = str(error)
            if not self._worker.is_alive:
                # It has ended meanwhile, and nsys writes the report for that.
                return
            self._session.recording = None
        self._keep(recording, problem)
        self._state = "armed"
        self._tell()

    def _keep(self, recording: NsysRecording, refused: str = "") -> None:
        """The report is whole when it can be read, which is then said by the file beside it."""
        lost = placed(recording)
        problem = lost and f"{lost} ({refused})" if refused else lost
        if not lost:
            unread = self._nsys.can_read(recording.path, self._folder)
            problem = f"the report cannot be read: {unread}" if unread else ""
        try:
            said = entry(recording, self._known, problem)
            node_reports.write_json(f"{recording.path}.json", said, is_durable=True)
            if not lost:
                self._reports.append(os.path.basename(recording.path))
            if not problem:
                self._databases.make(recording.path, said)
        except OSError as error:
            problem = problem or f"what belongs to the report cannot be written: {error.strerror}"
        if recording.in_ranges and lost and not self._worker.is_alive:
            problem = "the program began no range in which to record (torch.cuda.profiler.start)"
        self._problem = problem

    # --- looking ---------------------------------------------------------------------------------

    def _look(self) -> None:
        if not self._worker.pid:
            self._is_over = self._is_over or time.monotonic() > self._limit
            return
        if self._worker.is_alive:
            self._limit = time.monotonic() + END_S
            self._look_at_living()
        else:
            self._end()
        if self._shown_state() != self._told:
            self._tell()

    def _look_at_living(self) -> None:
        recording = self._session.recording
        if recording is not None and recording.in_ranges:
            self._look_for_range(recording)
        elif recording is not None and self._ends_at and time.monotonic() > self._ends_at:
            self._stop()

    def _look_for_range(self, recording: NsysRecording) -> None:
        """A report that the program's own calls have ended is there once it no longer grows and can be read."""
        path = recording.path
        if self._growing.may_be_whole(path) and not self._nsys.can_read(path, self._folder):
            self._session.recording = None
            self._keep(recording)
            self._tell()

    def _end(self) -> None:
        """The worker has ended; nsys writes what it has, and is not waited for without a limit."""
        if self._state != "writing" and self._session.recording is not None:
            self._state = "writing"
            self._tell()
        working = [self._front.pid] if self._front.is_alive else []
        working += self._session.processes()
        is_late = time.monotonic() > self._limit
        if working and not is_late:
            return
        node_processes.kill(working)
        recording, self._session.recording = self._session.recording, None
        if recording is not None:
            late = f"nsys was at work {END_S:g} s after the worker had ended" if is_late else ""
            self._keep(recording, late)
        if self._databases.is_busy:
            self._databases.end_by(self._limit)
            return
        self._state = "ended"
        self._tell()
        self._is_over = True
