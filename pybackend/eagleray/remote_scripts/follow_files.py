"""Follows files that a SLURM job writes and prints what is appended to them; runs where they can be read.

Sent as text to a Python there, with a mark and, for each file, its path, how much of it was read before and the last
bytes of that in base64 as arguments.  It prints the mark, then frames: a line `KIND FILE LENGTH` and so many bytes.

    D  appended bytes
    N  the file was emptied or replaced: the following bytes are from its beginning
    E  all was printed, after `end`

Its input has lines: `restarted` (SLURM may empty the files), `end` (the job is over), or nothing, as a sign of life.
It ends when its input does or is silent for long.  It keeps to what Python 3.6 can read, the `python3` of many login
nodes.
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
# For so long another login node may see a shorter file than was read already.
STALE_S = 60.0
# A file on a file server may show wrong content for a moment.
DOUBTS = 3
PIECE = 2**18
TAIL = 64


class Followed:
    """A file and how far it was read."""

    def __init__(self, path: str, read: int, tail: bytes) -> None:
        self.path = path
        self.read = read
        self.tail = tail
        self.restarted = False
        self.whole = False
        self.doubts = 0
        self.since = time.monotonic()
        self.known: object = None

    def news(self, now: float, is_last: bool) -> "list[tuple[str, bytes]]":
        """New content, as kinds of frames and their bytes; [] if there is none."""
        try:
            found = Path(self.path).stat()
            known = (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns)
            # At the end it is opened in any case: a file server says only then what another machine wrote last.
            if known == self.known and not self.doubts and not is_last:
                return []
            fd = os.open(self.path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            # It exists once the job has started.
            return []
        try:
            if not stat.S_ISREG(os.fstat(fd).st_mode):
                return []
            return self._read(fd, known, now)
        except OSError:
            return []
        finally:
            os.close(fd)

    def _read(self, fd: int, known: object, now: float) -> "list[tuple[str, bytes]]":
        size = os.fstat(fd).st_size
        if size < self.read and not self.whole and not self.restarted:
            return self._anew() if now - self.since > STALE_S else []
        before = os.pread(fd, len(self.tail), self.read - len(self.tail)) if self.tail else b""
        if size < self.read or before != self.tail:
            self.doubts += 1
            return self._anew() if self.restarted or self.doubts >= DOUBTS else []
        self.whole, self.doubts = True, 0
        piece = os.pread(fd, PIECE, self.read)
        if len(piece) < PIECE:
            self.known = known
        if not piece:
            return []
        self.read += len(piece)
        self.tail = (self.tail + piece)[-TAIL:]
        return [("D", piece)]

    def _anew(self) -> "list[tuple[str, bytes]]":
        self.read, self.tail, self.doubts = 0, b"", 0
        self.restarted, self.known = False, None
        return [("N", b"")]


def main(arguments: "list[str]") -> None:
    mark, rest = arguments[0], arguments[1:]
    files = [
        Followed(rest[at], int(rest[at + 1]), base64.b64decode(rest[at + 2]))
        for at in range(0, len(rest), 3)
    ]
    os.write(1, b"\n" + mark.encode() + b"\n")
    changed_at = heard_at = time.monotonic()
    is_last = False
    while True:
        now = time.monotonic()
        if printed(files, now, is_last):
            changed_at = now
            continue
        in_doubt = any(file.doubts for file in files)
        if is_last and not in_doubt:
            os.write(1, b"E 0 0\n")
            return
        quiet_s = 0.0 if in_doubt else now - changed_at
        wait_s = min(max(SHORTEST_S, quiet_s / 10), LONGEST_S)
        if select.select([0], [], [], wait_s)[0]:
            said = os.read(0, 2**16)
            if not said:
                return
            heard_at = now
            words = said.split()
            is_last = is_last or b"end" in words
            if b"restarted" in words:
                for file in files:
                    file.restarted, file.known = file.read > 0, None
        elif now - heard_at > SILENT_S:
            return


def printed(files: "list[Followed]", now: float, is_last: bool) -> bool:
    """Whether there was anything new."""
    any_new = False
    for number, file in enumerate(files):
        for kind, piece in file.news(now, is_last):
            any_new = True
            whole = f"{kind} {number} {len(piece)}\n".encode() + piece
            while whole:
                whole = whole[os.write(1, whole) :]
    return any_new


if __name__ == "__main__":
    main(sys.argv[1:])
