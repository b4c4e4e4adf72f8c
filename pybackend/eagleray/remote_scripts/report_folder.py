"""Serves the folder of one run's reports where this machine does not see it: `MARK make|list|small|piece|remove …`.

Sent as text to `python3 -I -` on a login node or a node; it prints one line, the mark and JSON, which holds an
`error` in words if nothing came of it.  It follows no link and touches only a folder of this user that bears the
name of a run.  Names of files are percent-encoded, so that the locale doesn't matter.  It keeps to what Python 3.6 can read, the
`python3` of many login nodes.
"""

import base64
import contextlib
import json
import os
import re
import shutil
import stat
import sys
from pathlib import Path
from urllib.parse import quote, unquote_to_bytes

RUN = re.compile(r"[0-9a-f]{12}")
SMALL = 256 * 1024
# Of all small files together and of a piece: an answer of 8 MiB is cut off on its way.
MOST = 4 * 2**20
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def main(arguments: "list[str]") -> None:
    mark, asked, folder = arguments[0], arguments[1], arguments[2]
    try:
        said = {
            "make": lambda: made(folder),
            "list": lambda: listed(folder),
            "small": lambda: small(folder, arguments[3:]),
            "piece": lambda: piece(folder, arguments[3], int(arguments[4])),
            "remove": lambda: removed(folder),
        }[asked]()
    except OSError as error:
        said = {"error": error.strerror or str(error)}
    sys.stdout.write("\n" + mark + json.dumps(said) + "\n")


def made(folder: str) -> "dict[str, object]":
    """Makes it, for this user alone; the folder around it may be there, and is to be this user's as well.

    Who can write in that one can put another folder in the place of ours.
    """
    around = Path(folder).parent
    around.mkdir(0o700, parents=True, exist_ok=True)
    check(around.lstat(), str(around))
    # It is there for a run that another keeper takes over.
    with contextlib.suppress(FileExistsError):
        Path(folder).mkdir(0o700)
    os.close(opened(folder))
    return {"folder": folder}


def opened(folder: str) -> int:
    """The folder, by which all in it is opened; raises OSError for one that is not this user's."""
    if not folder.startswith("/") or not RUN.fullmatch(Path(folder).name):
        raise OSError("it is no folder of a run")
    fd = os.open(folder, FLAGS | os.O_DIRECTORY)
    try:
        check(os.fstat(fd), folder)
    except OSError:
        os.close(fd)
        raise
    return fd


def check(known: os.stat_result, folder: str) -> None:
    """Raises OSError unless it is a folder of this user that nobody else can enter."""
    if not stat.S_ISDIR(known.st_mode):
        raise OSError(folder + " is not a folder")
    if known.st_uid != os.geteuid():
        raise OSError(folder + " belongs to another user")
    if known.st_mode & 0o077:
        raise OSError("other users can enter " + folder)


def listed(folder: str) -> "dict[str, object]":
    """Its files with their sizes and when they were changed; none while it is not there."""
    try:
        fd = opened(folder)
    except FileNotFoundError:
        return {"files": []}
    found = []
    for name in os.listdir(fd):  # noqa: PTH208 (a path would find whatever bears its name by now)
        with contextlib.suppress(OSError):
            known = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(known.st_mode):
                found.append([quote(os.fsencode(name), safe=""), known.st_size, known.st_mtime_ns])
    return {"files": found}


def read(fd: int, name: str, start: int, size: int) -> bytes:
    """So many bytes, fewer at its end; raises OSError for what is no file.  The name is percent-encoded."""
    plain = unquote_to_bytes(name)
    if b"/" in plain:
        raise OSError("it is no name")
    file = os.open(plain, FLAGS, dir_fd=fd)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("it is no file")
        os.lseek(file, start, os.SEEK_SET)
        found = b""
        while len(found) < size:
            more = os.read(file, size - len(found))
            if not more:
                break
            found += more
        return found
    finally:
        os.close(file)


def small(folder: str, names: "list[str]") -> "dict[str, object]":
    """Files that describe others, as many as fit; nothing for one that cannot be read."""
    found: dict[str, str] = {}
    fd, size = opened(folder), 0
    for name in names:
        try:
            text = read(fd, name, 0, SMALL)
        except OSError:
            text = b""
        size += len(text)
        if found and size > MOST:
            break
        found[name] = base64.b64encode(text).decode("ascii")
    return {"small": found}


def piece(folder: str, name: str, start: int) -> "dict[str, object]":
    return {"piece": base64.b64encode(read(opened(folder), name, start, MOST)).decode("ascii")}


def removed(folder: str) -> "dict[str, object]":
    """The folder with all in it, and the one around it if it is empty by that."""
    os.close(opened(folder))
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        Path(folder).parent.rmdir()
    return {}


if __name__ == "__main__":
    main(sys.argv[1:])
