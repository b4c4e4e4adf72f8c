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
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cattrs
from attrs import frozen

from eagleray.common.atomic_file import replace_text
from eagleray.common.errors import UNREADABLE_JSON
from eagleray.features.runs import model
from eagleray.features.runs.errors import unknown_run
from eagleray.features.runs.model import Process, RunPlan, RunState

_UNREADABLE = (*UNREADABLE_JSON, cattrs.BaseValidationError)

_ID = re.compile(r"[0-9a-f]{12}")

log = logging.getLogger(__name__)


@frozen
class Record:
    """The folder of one run; each file is replaced as a whole, so that nobody reads half of one."""

    id: str
    folder: Path

    @property
    def output(self) -> Path:
        return self.folder / "output.log"

    @property
    def keeper_log(self) -> Path:
        return self.folder / "keeper.log"

    @property
    def reports(self) -> Path:
        """Where workers that see this folder put what nsys has recorded."""
        return self.folder / "reports"

    @property
    def stop_asked(self) -> Path:
        """A file by whose presence the keeper is asked to stop from another machine."""
        return self.folder / "stop"

    def plan(self) -> RunPlan:
        return model.plan_of_json(_read(self.folder / "plan.json"))

    def write_plan(self, plan: RunPlan) -> None:
        _write(self.folder / "plan.json", model.plan_to_json(plan))

    def state(self) -> RunState:
        return model.state_of_json(_read(self.folder / "state.json"))

    def write_state(self, state: RunState) -> None:
        _write(self.folder / "state.json", model.state_to_json(state))

    def signature(self) -> object:
        """What changes whenever its plan or state does; None if one of them can't be seen."""
        try:
            found = [(self.folder / name).stat() for name in ("plan.json", "state.json")]
        except OSError:
            return None
        return tuple((one.st_ino, one.st_size, one.st_mtime_ns) for one in found)

    def beat(self) -> None:
        """Says that the keeper lives, also to other machines with this home."""
        with contextlib.suppress(OSError):
            os.utime(self.folder / "state.json")

    def silent_s(self) -> float:
        """For how long the keeper has said nothing."""
        try:
            return time.time() - (self.folder / "state.json").stat().st_mtime
        except OSError:
            return 0.0

    def lock(self) -> int | None:
        """What a keeper holds as long as it lives: the run is its own while the descriptor is open.  None: another's.

        Where the file system has no locks everybody gets one; keepers then see by the state whose the run is.
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
        """The secret key in hex, with which requests to the run's debug proxies are signed."""
        return (self.folder / "secret").read_text("ascii")


@frozen
class Listed:
    """A run with what was read of it."""

    record: Record
    plan: RunPlan
    state: RunState


def whole(record: Record) -> Listed:
    """A run as it is now; raises what is wrong with its files."""
    return Listed(record, record.plan(), record.state())


class Records:
    """All runs of this home; several windows and terminals use the folder at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._read: dict[str, tuple[object, Listed | None]] = {}

    def create(self, plan: RunPlan, state: RunState) -> Record:
        """A new run with a new key."""
        run = secrets.token_hex(6)
        record = Record(run, self.folder / run)
        record.folder.mkdir(mode=0o700)
        secret = os.open(record.folder / "secret", os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(secret, "w") as file:
            file.write(secrets.token_hex(32))
        record.write_plan(plan)
        # A folder is a run once it has a state.
        record.write_state(state)
        return record

    def find(self, written: str) -> Record:
        """The run of that id, or whose id alone begins so; raises `unknown-run`."""
        fitting = [one for one in self._all() if one.id == written] or [
            one for one in self._all() if written and one.id.startswith(written)
        ]
        if len(fitting) != 1:
            raise unknown_run(written)
        return fitting[0]

    def listed(self) -> list[Listed]:
        """All runs that can be read, the newest first; only what has changed is read again."""
        before, now = self._read, {}
        for record in self._all():
            signature, known = record.signature(), before.get(record.id)
            is_known = known is not None and signature is not None and known[0] == signature
            now[record.id] = known if known and is_known else (signature, read(record))
        self._read = now
        found = [one for _, one in now.values() if one]
        return sorted(found, key=lambda one: one.state.started, reverse=True)

    def needed_since(self, days: float) -> float:
        """The time before which nothing began that may still run: at least so many days ago, and that of each live run.

        Other machines can have runs that aren't known here.
        """
        started = [one.state.started for one in self.listed() if not one.state.is_over]
        return min([time.time(), *started]) - days * 24 * 3600.0

    def forget(self, record: Record, *, is_over: bool) -> bool:
        """Whether it is thrown away: one that is not over belongs to who takes it over just now."""
        lock = record.lock()
        if lock is None and not is_over:
            return False
        # Who waits for the lock finds no run any more; an open file would keep the folder of a file server.
        with contextlib.suppress(OSError):
            (record.folder / "state.json").unlink()
        if lock is not None:
            os.close(lock)
        shutil.rmtree(record.folder, ignore_errors=True)
        return True

    def torn(self, silent_s: float) -> list[Record]:
        """Runs whose plan or state was lost, as by a power failure, and of which nothing was heard for that long.

        What a newer version has written is whole, and isn't among them.
        """
        found = []
        for record in self._all():
            try:
                _read(record.folder / "plan.json")
                _read(record.folder / "state.json")
            except (OSError, ValueError):
                # A folder with another name isn't ours, and another window may just have removed this one.
                heard = _changed_at(record.folder)
                if _ID.fullmatch(record.id) and heard and time.time() - heard > silent_s:
                    found.append(record)
        return found

    def _all(self) -> list[Record]:
        names = (entry.name for entry in os.scandir(self.folder) if entry.is_dir())
        return [Record(name, self.folder / name) for name in sorted(names)]


def read(record: Record) -> Listed | None:
    """A run as it is now; None for a folder that is none, or of a version that cannot be read."""
    try:
        return whole(record)
    except _UNREADABLE as error:
        log.debug("%s is no run that can be read: %s", record.folder, error)
        return None


def read_keeper(record: Record) -> Process | None:
    """Who keeps the run, as far as that can be read."""
    try:
        return record.state().keeper
    except _UNREADABLE:
        return None


def _read(path: Path) -> dict[str, Any]:
    said: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return said


def _write(path: Path, value: Mapping[str, Any]) -> None:
    replace_text(path, json.dumps(value))


def _changed_at(folder: Path) -> float:
    """0.0 for one that is gone."""
    try:
        return folder.stat().st_mtime
    except OSError:
        return 0.0
