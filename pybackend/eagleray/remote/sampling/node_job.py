"""The side on the cluster of a job of ours: requests come through Ray's store, answers are files that the dashboard serves.

It ends by SIGTERM, which Ray sends to a job that is stopped, and leaves no file.  `ray/node_job.py` is its other end.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import signal
import sys
from pathlib import Path

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

VARIABLE = "EAGLERAY_ASKED"


class Ended(Exception):
    """SIGTERM came."""


class AnsweringJob:
    """`order` has the names of what the job reads and writes; `has_ended`: SIGTERM came."""

    def __init__(self, ray: Any, order: dict[str, Any]) -> None:
        self.ray = ray
        self.order = order
        self.has_ended = False
        self._written: list[Path] = []

    def announce(self, value: dict[str, Any]) -> None:
        sys.stdout.write(f"{self.order['mark']}{json.dumps(value)}\n")
        sys.stdout.flush()

    def give(self, name: str, answer: dict[str, Any], about: dict[str, Any]) -> None:
        """Writes a file of this name, and announces its size and its hash with `about`."""
        content = json.dumps(answer, separators=(",", ":")).encode()
        self._written.append(logs_folder() / name)
        write(self._written[-1], content)
        digest = hashlib.sha256(content).hexdigest()
        self.announce({**about, "size": len(content), "sha256": digest})

    def taken(self, key: str) -> Any:
        """The value of a package in Ray's store, where it is removed; None if there is none.

        An argument or a variable can't be as long.
        """
        from ray.experimental.internal_kv import _internal_kv_del, _internal_kv_get

        name = f"gcs://{key}".encode()
        value = _internal_kv_get(name)
        if value is not None:
            _internal_kv_del(name)
        return value

    def remove_files(self) -> None:
        while self._written:
            with contextlib.suppress(OSError):
                self._written.pop().unlink()


def run(work: Callable[[AnsweringJob], None]) -> None:
    """Does the work with the order in the variable, and never returns."""
    job, code = AnsweringJob(None, json.loads(os.environ.pop(VARIABLE))), 1

    def end(_signal: int, _frame: object) -> None:
        job.has_ended = True

    try:
        import ray

        job.ray = ray
        ray.init(log_to_driver=False)
        # After `ray.init`, which has a handler of its own (2.60, `_private/worker.py`).
        signal.signal(signal.SIGTERM, end)
        work(job)
        code = 0
    except Ended:
        code = 0
    except Exception as error:  # The log of the job has the error, and this is the last line of it.
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
    finally:
        job.remove_files()
        sys.stdout.flush()
        sys.stderr.flush()
        # Python's own way out waits 0.7 s for threads of Ray.
        os._exit(code)


def logs_folder() -> Path:
    """The folder whose files the dashboard serves."""
    from ray._private import worker

    node: Any = worker.global_worker.node
    return Path(node.get_session_dir_path()) / "logs"


def write(path: Path, content: bytes) -> None:
    """Writes the file for its owner alone; it is there as a whole or not at all."""
    part = path.with_name(f"{path.name}.part")
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(content)
    part.rename(path)
