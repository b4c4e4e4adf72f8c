"""Prints log files, of large ones the beginning and the end: `MARK BYTES PATTERN…`; a pattern is a shell's,
percent-encoded.

Sent as text to `python3 -I -` on a login node or a node.  For each file it prints lines with the mark and parts of
JSON: `host`, `path`, `size`, `changed`, and `data`, compressed, in base64; or an `error`.  If `data` is only its
beginning, there is an `end`, as far as there is room.  All of them together have about BYTES of data.  It opens regular
files only, and changes nothing. It needs only Python 3.6, the `python3` of many login nodes.
"""

import base64
import itertools
import json
import os
import socket
import stat
import sys
import zlib
from pathlib import Path
from urllib.parse import unquote

# Limits for one pattern, and for one file.
MOST_FILES = 200
LONGEST = 64 * 2**20
PIECE = 2**16
LONGEST_PART = 800
NUMBERS = itertools.count()
FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def main(arguments: "list[str]") -> None:
    mark, room = arguments[0], int(arguments[1])
    paths = []
    for pattern in arguments[2:]:
        paths += sorted(map(str, Path("/").glob(unquote(pattern).lstrip("/"))))[:MOST_FILES]
    for path in dict.fromkeys(paths):
        row = {"host": socket.gethostname(), "path": path}  # type: dict[str, object]
        try:
            row.update(content(path, room))
        except OSError as error:
            row["error"] = error.strerror or str(error)
        room -= len(str(row.get("data", ""))) + len(str(row.get("end", "")))
        write(mark, row)


def write(mark: "str", value: "object") -> None:
    """Prints it in parts: SLURM mixes longer lines with lines of other tasks (22.05, slurmstepd/io.c)."""
    text = json.dumps(value)
    parts = [text[at : at + LONGEST_PART] for at in range(0, len(text), LONGEST_PART)]
    key = f"{socket.gethostname()[:64]}/{os.getpid()}/{next(NUMBERS)}"
    lines = [f"{mark} {key} {len(parts)} {part}\n" for part in parts]
    sys.stdout.write("\n" + "".join(lines))


def content(path: str, room: int) -> "dict[str, object]":
    """A file, compressed to about `room` characters: as a whole, or its beginning and its end."""
    fd = os.open(path, FLAGS)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        # A piece that can't be compressed still has room; the first of each file is always read.
        most = room * 3 // 4 - PIECE
        data, read = packed(fd, 0, most, LONGEST)
        end = b""
        if read < status.st_size and most > 4 * PIECE:
            end = packed_end(fd, status.st_size, read * 3 // 4, most * 3 // 4)
            if end:
                data, read = packed(fd, 0, most // 4, LONGEST // 4)
    finally:
        os.close(fd)
    return {
        "size": status.st_size,
        "read": read,
        "changed": status.st_mtime,
        "data": base64.b64encode(data).decode("ascii"),
        "end": base64.b64encode(end).decode("ascii"),
    }


def packed(fd: int, start: int, most: int, longest: int) -> "tuple[bytes, int]":
    """Returns the text from `start` on, compressed to about `most` bytes, and its size."""
    os.lseek(fd, start, os.SEEK_SET)
    packer = zlib.compressobj(6)
    data = bytearray()
    read = 0
    while (not read or len(data) < most) and read < longest:
        piece = os.read(fd, PIECE)
        if not piece:
            break
        read += len(piece)
        data += packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
    data += packer.flush()
    return bytes(data), read


def packed_end(fd: int, size: int, length: int, most: int) -> bytes:
    """The end of a file, compressed: about as long as `length`, less if that doesn't fit; b"" if nothing fits."""
    while length > PIECE:
        data, read = packed(fd, size - length, most, length)
        if read >= length:
            return data
        length //= 2
    return b""


if __name__ == "__main__":
    main(sys.argv[1:])
