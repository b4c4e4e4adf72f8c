"""The folders of runs: plan, secret key, state and output."""

from __future__ import annotations

import contextlib
import fcntl
import json
import logging
import os
import re
import secrets
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import cattrs
from attrs import frozen

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON, EaglerayError
from eagleray.common.paths import private_folder, run_folder
from eagleray.runs import model
from eagleray.runs.errors import unknown_run
from eagleray.runs.model import ProcessIdentity, RunPlan, RunState

_UNREADABLE = (*UNREADABLE_JSON, cattrs.BaseValidationError)

_ID = re.compile(r"[0-9a-f]{12}")

log = logging.getLogger(__name__)


@frozen
class ProgramRecord:
    """A program by its process id and the time of its start; `code` as `Popen` has it, None while it isn't known."""

    pid: int
    began: float
    code: int | None
    ended: float


def _program_record(path: Path) -> ProgramRecord | None:
    try:
        value = _read(path)
        code = value.get("code")
        return ProgramRecord(
            int(value["pid"]),
            float(value["began"]),
            None if code is None else int(code),
            float(value.get("ended", 0.0)),
        )
    except (*UNREADABLE_JSON, KeyError, TypeError):
        return None


def recorded_end(paths: Sequence[Path]) -> ProgramRecord | None:
    """The last record in files of which each is used where those before it can't be written."""
    read = [_program_record(path) for path in paths]
    return max((record for record in read if record), key=lambda record: record.ended, default=None)


@frozen
class RunRecord:
    """The folder of one run; each file is replaced atomically."""

    id: str
    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "output.log"

    @property
    def supervisor_log(self) -> Path:
        return self.folder / "keeper.log"

    @property
    def reports(self) -> Path:
        """Where workers that see this folder write their reports."""
        return self.folder / "reports"

    @property
    def pictures(self) -> Path:
        """Where pictures of its stacks are saved."""
        return self.folder / "pictures"

    @property
    def server_config(self) -> Path:
        """A file of options with the key of an inference server."""
        return self.folder / "server.yaml"

    @property
    def stop_request(self) -> Path:
        """A file that requests a stop from the supervisor; written on another machine."""
        return self.folder / "stop"

    def ends(self) -> tuple[Path, ...]:
        """The files with the process id and exit code of a program of this machine: here, or in a full home beside the sockets."""
        try:
            return (self.folder / "program.json", run_folder() / f"program-{self.id}.json")
        except (OSError, EaglerayError):
            return (self.folder / "program.json",)

    def end(self) -> ProgramRecord | None:
        """Returns the last record of the parent of a program of this machine; None without a record."""
        return recorded_end(self.ends())

    def program(self, state: RunState) -> ProcessIdentity | None:
        """The program of a run of this machine, from its state, else from its parent: in a full home no state names it."""
        if state.program is not None or (recorded := self.end()) is None:
            return state.program
        return ProcessIdentity(recorded.pid, recorded.began)

    def plan(self) -> RunPlan:
        return model.plan_of_json(_read(self.folder / "plan.json"))

    def write_plan(self, plan: RunPlan) -> None:
        _write(self.folder / "plan.json", model.plan_to_json(plan))

    def state(self) -> RunState:
        return model.state_of_json(_read(self.folder / "state.json"))

    def write_state(self, state: RunState) -> None:
        _write(self.folder / "state.json", model.state_to_json(state))

    def signature(self) -> object:
        """A value that changes with the plan and state; None if one of them can't be read."""
        try:
            files = [(self.folder / name).stat() for name in ("plan.json", "state.json")]
        except OSError:
            return None
        return tuple((file.st_ino, file.st_size, file.st_mtime_ns) for file in files)

    def beat(self) -> None:
        """The heartbeat of the supervisor, also for other machines with this home."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / "state.json")

    def silent_s(self) -> float:
        """The time since the supervisor's last heartbeat or state."""
        try:
            return time.time() - (self.folder / "state.json").stat().st_mtime
        except OSError:
            return 0.0

    def lock(self) -> int | None:
        """The lock that a supervisor holds as long as it lives, as a descriptor; None if another process holds it.

        Where the file system has no locks, every caller gets one.
        """
        fd = os.open(self.folder / "keeper.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(fd)
            return None
        except OSError as error:
            log.warning("%s cannot be locked: %s", self.folder, error)
        return fd

    def secret(self) -> str:
        """The secret key in hex, which signs requests to the run's debug proxies."""
        return (self.folder / "secret").read_text("ascii")  # own file

    def server_key(self) -> str:
        """The API key of the inference server that the run is, "" without one."""
        try:
            return (self.folder / "server-key").read_text("utf-8")  # own file
        except FileNotFoundError:
            return ""

    def write_server_key(self, key: str) -> None:
        replace_text(self.folder / "server-key", key)


@frozen
class StoredRun:
    """A run with its plan and state."""

    record: RunRecord
    plan: RunPlan
    state: RunState


def load(record: RunRecord) -> StoredRun:
    """A run as its files are now; raises an error of one of them."""
    return StoredRun(record, record.plan(), record.state())


class RunRecords:
    """All runs of this home; several windows and terminals use the folder at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._cached: dict[str, tuple[object, StoredRun | None]] = {}

    def create(self, plan: RunPlan, state: RunState) -> RunRecord:
        """A new run with a new key."""
        run = secrets.token_hex(6)
        record = RunRecord(run, self.folder / run)
        private_folder(self.folder)
        record.folder.mkdir(mode=0o700)
        try:
            secret = os.open(record.folder / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
            with os.fdopen(secret, "w") as file:
                file.write(secrets.token_hex(32))
            record.write_plan(plan)
            # A folder is a run once it has a state.
            record.write_state(state)
        except OSError:
            shutil.rmtree(record.folder, ignore_errors=True)
            raise
        return record

    def find(self, written: str) -> RunRecord:
        """The run of that id, or whose id alone begins so; raises `unknown-run`."""
        fitting = [record for record in self._all() if record.id == written] or [
            record for record in self._all() if written and record.id.startswith(written)
        ]
        if len(fitting) != 1:
            raise unknown_run(written)
        return fitting[0]

    def listed(self) -> list[StoredRun]:
        """All runs that can be read, the newest first; only what has changed is read again."""
        before, now = self._cached, {}
        for record in self._all():
            signature, cached = record.signature(), before.get(record.id)
            is_same = cached is not None and signature is not None and cached[0] == signature
            now[record.id] = cached if cached and is_same else (signature, load_if_readable(record))
        self._cached = now
        readable = [run for _, run in now.values() if run]
        return sorted(readable, key=lambda run: run.state.started, reverse=True)

    def needed_since(self, days: float) -> float:
        """The time before which no run began that may still run: `days` before now and before each live run.

        Other machines can have runs that this one doesn't have.
        """
        started = [run.state.started for run in self.listed() if not run.state.is_over]
        return min([time.time(), *started]) - days * 24 * 3600.0

    def forget(self, record: RunRecord, *, is_over: bool) -> bool:
        """Removes a run; False if it is not over and a supervisor is just adopting it."""
        lock = record.lock()
        if lock is None and not is_over:
            return False
        # A process that waits for the lock then finds no run; an open file would keep the folder on a file server.
        with contextlib.suppress(OSError):
            (record.folder / "state.json").unlink()
        if lock is not None:
            os.close(lock)
        for path in record.ends()[1:]:
            path.unlink(missing_ok=True)
        shutil.rmtree(record.folder, ignore_errors=True)
        return True

    def damaged(self, silent_s: float) -> list[RunRecord]:
        """Runs whose plan or state was lost, as by a power failure, and whose folder did not change for that long.

        Files of a newer version are complete, so they aren't among them.
        """
        damaged = []
        for record in self._all():
            try:
                _read(record.folder / "plan.json")
                _read(record.folder / "state.json")
            except (OSError, ValueError):
                # A folder with another name isn't ours, and another window may just have removed this one.
                changed = _changed_at(record.folder)
                if _ID.fullmatch(record.id) and changed and time.time() - changed > silent_s:
                    damaged.append(record)
        return damaged

    def _all(self) -> list[RunRecord]:
        try:
            names = [entry.name for entry in os.scandir(self.folder) if entry.is_dir()]
        except (FileNotFoundError, NotADirectoryError):
            # It couldn't be created.
            names = []
        return [RunRecord(name, self.folder / name) for name in sorted(names)]


def load_if_readable(record: RunRecord) -> StoredRun | None:
    """A run as its files are now; None if they can't be read, as for a run of a newer version."""
    try:
        return load(record)
    except _UNREADABLE as error:
        log.debug("%s can't be read as a run: %s", record.folder, error)
        return None


def _read(path: Path) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(path.read_text("utf-8"))  # own file
    return value


def _write(path: Path, value: Mapping[str, Any]) -> None:
    replace_text(path, json.dumps(value))


def _changed_at(folder: Path) -> float:
    """The time of the last change, 0.0 for a file that is gone."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
