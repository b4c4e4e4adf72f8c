"""Prints the beginnings of log files: `MARK BYTES PATTERN…`, where patterns are those of a shell, percent-encoded.

Sent as text to `python3 -I -` on a login node or a node.  For each file it prints lines with the mark and parts of JSON: `host`,
`path`, `size`, `changed`, and `data`, its beginning compressed, in base64; or an `error`.  All of them together have at most
BYTES of data.  It opens regular files only, and changes nothing.  It needs only Python 3.6, the `python3` of many login
nodes.
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

# Of one pattern, and of one file.
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
            row.update(beginning(path, room))
        except OSError as error:
            row["error"] = error.strerror or str(error)
        room -= len(str(row.get("data", "")))
        write(mark, row)


def write(mark: "str", value: "object") -> None:
    """Prints it in parts: SLURM mixes longer lines with those of other tasks (22.05, slurmstepd/io.c)."""
    text = json.dumps(value)
    parts = [text[at : at + LONGEST_PART] for at in range(0, len(text), LONGEST_PART)]
    key = f"{socket.gethostname()[:64]}/{os.getpid()}/{next(NUMBERS)}"
    lines = [f"{mark} {key} {len(parts)} {part}\n" for part in parts]
    sys.stdout.write("\n" + "".join(lines))


def beginning(path: str, room: int) -> "dict[str, object]":
    """The beginning of a file, compressed to at most `room` characters."""
    fd = os.open(path, FLAGS)
    try:
        status = os.fstat(fd)
        if not stat.S_ISREG(status.st_mode):
            raise OSError("not a regular file")
        packer = zlib.compressobj(6)
        packed = bytearray()
        read = 0
        # A piece that can't be compressed still has room; the first of each file is always read.
        most = room * 3 // 4 - PIECE
        while (not read or len(packed) < most) and read < LONGEST:
            piece = os.read(fd, PIECE)
            if not piece:
                break
            read += len(piece)
            packed += packer.compress(piece) + packer.flush(zlib.Z_SYNC_FLUSH)
        packed += packer.flush()
    finally:
        os.close(fd)
    data = base64.b64encode(bytes(packed)).decode("ascii")
    return {
        "size": status.st_size,
        "read": read,
        "changed": status.st_mtime,
        "data": data,
    }


if __name__ == "__main__":
    main(sys.argv[1:])
