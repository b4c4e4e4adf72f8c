"""Follows files that a SLURM job writes and prints what is appended; runs where the files can be read.

Sent as text to a Python there.  Its arguments are a mark and, for each file, its path, the number of bytes read before
and the last of these bytes in base64.  It prints the mark, then frames: a line `KIND FILE LENGTH` and the bytes.

    D  appended bytes
    N  the file was emptied or replaced: the following bytes are from its beginning
    E  everything is printed, after `end`

Its input has lines: `restarted` (SLURM may empty the files), `end` (the job is over), or an empty one as a sign of life.
It ends when its input ends or is silent for long.  It needs only Python 3.6, the `python3` of many login nodes.
"""

import base64
import os
import select
import stat
import sys
import time
from pathlib import Path

# The interval of polls: a tenth of the time since the last change, within these limits.
SHORTEST_S = 0.2
LONGEST_S = 10.0
# The other end gives a sign of life every minute.
SILENT_S = 300.0
# For so long, another login node may see a shorter file than was read already.
STALE_S = 60.0
# A file on a file server may show wrong content for a moment.
DOUBTS = 3
PIECE = 2**18
TAIL = 64


class FollowedFile:
    """A file and the position up to which it was read."""

    def __init__(self, path: str, read: int, tail: bytes) -> None:
        self.path = path
        self.read = read
        self.tail = tail
        self.restarted = False
        self.whole = False
        self.doubts = 0
        self.since = time.monotonic()
        self.checked: object = None

    def new_frames(self, now: float, is_last: bool) -> "list[tuple[str, bytes]]":
        """New content, as kinds of frames and their bytes; [] if there is none."""
        try:
            status = Path(self.path).stat()
            version = (status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns)
            # At the end the file is always opened: only then a file server shows what another machine wrote last.
            if version == self.checked and not self.doubts and not is_last:
                return []
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            # It exists once the job has started.
            return []
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return []
            return self._read(fd, version, now)
        except OSError:
            return []
        finally:
            os.close(fd)

    def _read(self, fd: int, version: object, now: float) -> "list[tuple[str, bytes]]":
        size = os.fstat(fd).st_size
        if size < self.read and not self.whole and not self.restarted:
            return self._restart() if now - self.since > STALE_S else []
        before = os.pread(fd, len(self.tail), self.read - len(self.tail)) if self.tail else b""
        if size < self.read or before != self.tail:
            self.doubts += 1
            return self._restart() if self.restarted or self.doubts >= DOUBTS else []
        self.whole, self.doubts = True, 0
        piece = os.pread(fd, PIECE, self.read)
        if len(piece) < PIECE:
            self.checked = version
        if not piece:
            return []
        self.read += len(piece)
        self.tail = (self.tail + piece)[-TAIL:]
        return [("D", piece)]

    def _restart(self) -> "list[tuple[str, bytes]]":
        self.read, self.tail, self.doubts = 0, b"", 0
        self.restarted, self.checked = False, None
        return [("N", b"")]


def main(arguments: "list[str]") -> None:
    mark, rest = arguments[0], arguments[1:]
    files = [
        FollowedFile(rest[at], int(rest[at + 1]), base64.b64decode(rest[at + 2]))
        for at in range(0, len(rest), 3)
    ]
    os.write(1, b"\n" + mark.encode() + b"\n")
    changed_at = received_at = time.monotonic()
    is_last = False
    while True:
        now = time.monotonic()
        if print_new(files, now, is_last):
            changed_at = now
            continue
        in_doubt = any(file.doubts for file in files)
        if is_last and not in_doubt:
            os.write(1, b"E 0 0\n")
            return
        quiet_s = 0.0 if in_doubt else now - changed_at
        wait_s = min(max(SHORTEST_S, quiet_s / 10), LONGEST_S)
        if select.select([0], [], [], wait_s)[0]:
            data = os.read(0, 2**16)
            if not data:
                return
            received_at = now
            commands = data.split()
            is_last = is_last or b"end" in commands
            if b"restarted" in commands:
                for file in files:
                    file.restarted, file.checked = file.read > 0, None
        elif now - received_at > SILENT_S:
            return


def print_new(files: "list[FollowedFile]", now: float, is_last: bool) -> bool:
    """Prints new content of all files; returns whether there was any."""
    any_new = False
    for number, file in enumerate(files):
        for kind, piece in file.new_frames(now, is_last):
            any_new = True
            whole = f"{kind} {number} {len(piece)}\n".encode() + piece
            while whole:
                whole = whole[os.write(1, whole) :]
    return any_new


if __name__ == "__main__":
    main(sys.argv[1:])
