"""Whether this machine's network has changed: a connection that failed before may succeed now."""

from __future__ import annotations

from pathlib import Path

# Routes and addresses of the kernel, whose text has no counters.  Other systems have none of them: there an
# attempt comes at its usual time.
_FILES = (Path("/proc/net/route"), Path("/proc/net/if_inet6"))


class NetworkWatch:
    """Is asked now and then; reading costs a fraction of a millisecond and touches no disk."""

    def __init__(self, files: tuple[Path, ...] = _FILES) -> None:
        self._files = files
        self._seen = self._state()

    def has_changed(self) -> bool:
        """Whether routes or addresses changed since the last call."""
        before, self._seen = self._seen, self._state()
        return self._seen != before

    def _state(self) -> tuple[bytes, ...]:
        return tuple(_read(file) for file in self._files)


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""
