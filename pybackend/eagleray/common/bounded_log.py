"""The log of a process that outlives its window: bounded while it runs, and written beside the event loop.

The file lies in the home, which may have a quota, and may be a file system that stops answering.
"""

from __future__ import annotations

import contextlib
import logging
import os
import queue
import threading
from collections.abc import Iterator
from pathlib import Path

# The limit of the current file; the previous one stays beside it.
LIMIT = 2**20
_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
# The lines that wait while the file can't be written; later ones are dropped.
_WAITING = 10_000
_END_S = 2.0
_OUTPUTS = (1, 2)


def open_log(path: Path) -> int:
    """Returns a descriptor that appends to `path`, for a process to be started; renames a file that has become long."""
    with contextlib.suppress(OSError):
        if path.stat().st_size > LIMIT:
            _put_aside(path)
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)


@contextlib.contextmanager
def logging_to(path: Path) -> Iterator[None]:
    """Logs to standard error, in a separate thread; where standard error is the file `path`, limits the length of that file."""
    lines: queue.Queue[str | None] = queue.Queue(_WAITING)
    handler = _ToQueue(lines)
    handler.setFormatter(logging.Formatter(_FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    writing = threading.Thread(target=_write_all, args=(lines, path), daemon=True, name="log")
    writing.start()
    try:
        yield
    finally:
        with contextlib.suppress(queue.Full):
            lines.put_nowait(None)
        writing.join(_END_S)


class _ToQueue(logging.Handler):
    """Never blocks."""

    def __init__(self, lines: queue.Queue[str | None]) -> None:
        super().__init__()
        self._lines = lines

    def emit(self, record: logging.LogRecord) -> None:
        try:
            self._lines.put_nowait(self.format(record))
        except queue.Full:
            return
        except Exception:
            self.handleError(record)


def _write_all(lines: queue.Queue[str | None], path: Path) -> None:
    is_file = _is_output(path)
    while (line := lines.get()) is not None:
        # A full or failing disk costs the lines, nothing else.
        with contextlib.suppress(OSError):
            os.write(2, line.encode("utf-8", "replace") + b"\n")
            if is_file:
                _limit_length(path)


def _limit_length(path: Path) -> None:
    if _is_output(path):
        if os.fstat(2).st_size <= LIMIT:
            return
        _put_aside(path)
    # Ours was put aside just now, or by another process that writes there, too.
    fd = open_log(path)
    for output in _OUTPUTS:
        os.dup2(fd, output)
    os.close(fd)


def _is_output(path: Path) -> bool:
    try:
        return os.path.samestat(path.stat(), os.fstat(2))
    except OSError:
        return False


def _put_aside(path: Path) -> None:
    path.replace(path.with_suffix(f".old{path.suffix}"))
