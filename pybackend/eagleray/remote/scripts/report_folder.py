"""Serves the folder of a run's reports on a machine that sees it: `MARK make|list|small|piece|remove …`.

Sent as text to `python3 -I -` on a login node or a node; it prints one line: the mark and JSON, which has the
text of an `error` if the command failed.  It follows no link and touches only a folder of this user that has the name
of a run.  Names of files are percent-encoded, so that the locale doesn't matter.  It needs only Python 3.6, the
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
# The limit of all small files together and of a piece: an answer of 8 MiB is truncated in transfer.
MOST = 4 * 2**20
FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def main(arguments: "list[str]") -> None:
    mark, command, folder = arguments[0], arguments[1], arguments[2]
    try:
        answer = {
            "make": lambda: make(folder),
            "list": lambda: list_files(folder),
            "small": lambda: small(folder, arguments[3:]),
            "piece": lambda: piece(folder, arguments[3], int(arguments[4])),
            "remove": lambda: remove(folder),
        }[command]()
    except OSError as error:
        answer = {"error": error.strerror or str(error)}
    sys.stdout.write("\n" + mark + json.dumps(answer) + "\n")


def make(folder: str) -> "dict[str, object]":
    """Creates the folder, for this user alone; its parent must belong to this user as well.

    A user who can write into the parent can put another folder in the place of ours.
    """
    around = Path(folder).parent
    around.mkdir(0o700, parents=True, exist_ok=True)
    check(around.lstat(), str(around))
    # It exists already for a run that another supervisor has taken over.
    with contextlib.suppress(FileExistsError):
        Path(folder).mkdir(0o700)
    os.close(open_folder(folder))
    return {"folder": folder}


def open_folder(folder: str) -> int:
    """Opens the folder, through which all files in it are opened; raises OSError if it isn't this user's."""
    if not folder.startswith("/") or not RUN.fullmatch(Path(folder).name):
        raise OSError("it is no folder of a run")
    fd = os.open(folder, FLAGS | os.O_DIRECTORY)
    try:
        check(os.fstat(fd), folder)
    except OSError:
        os.close(fd)
        raise
    return fd


def check(status: os.stat_result, folder: str) -> None:
    """Raises OSError unless it is a folder that only this user can enter."""
    if not stat.S_ISDIR(status.st_mode):
        raise OSError(folder + " is not a folder")
    if status.st_uid != os.geteuid():
        raise OSError(folder + " belongs to another user")
    if status.st_mode & 0o077:
        raise OSError("other users can enter " + folder)


def list_files(folder: str) -> "dict[str, object]":
    """The files with their sizes and times of change; none if the folder doesn't exist."""
    try:
        fd = open_folder(folder)
    except FileNotFoundError:
        return {"files": []}
    files = []
    for name in os.listdir(fd):  # noqa: PTH208 (a path could lead to another folder by now)
        with contextlib.suppress(OSError):
            status = os.stat(name, dir_fd=fd, follow_symlinks=False)
            if stat.S_ISREG(status.st_mode):
                files.append(
                    [quote(os.fsencode(name), safe=""), status.st_size, status.st_mtime_ns]
                )
    return {"files": files}


def read(fd: int, name: str, start: int, size: int) -> bytes:
    """Reads `size` bytes of a file, fewer at its end; raises OSError if it isn't a file.  The name is percent-encoded."""
    plain = unquote_to_bytes(name)
    if b"/" in plain:
        raise OSError("it is no name")
    file = os.open(plain, FLAGS, dir_fd=fd)
    try:
        if not stat.S_ISREG(os.fstat(file).st_mode):
            raise OSError("it is no file")
        os.lseek(file, start, os.SEEK_SET)
        data = b""
        while len(data) < size:
            more = os.read(file, size - len(data))
            if not more:
                break
            data += more
        return data
    finally:
        os.close(file)


def small(folder: str, names: "list[str]") -> "dict[str, object]":
    """The contents of small files, as many as fit; "" for one that can't be read."""
    contents: dict[str, str] = {}
    fd, size = open_folder(folder), 0
    for name in names:
        try:
            text = read(fd, name, 0, SMALL)
        except OSError:
            text = b""
        size += len(text)
        if contents and size > MOST:
            break
        contents[name] = base64.b64encode(text).decode("ascii")
    return {"small": contents}


def piece(folder: str, name: str, start: int) -> "dict[str, object]":
    return {"piece": base64.b64encode(read(open_folder(folder), name, start, MOST)).decode("ascii")}


def remove(folder: str) -> "dict[str, object]":
    """Removes the folder with all its files, and its parent if that is empty then."""
    os.close(open_folder(folder))
    shutil.rmtree(folder)
    with contextlib.suppress(OSError):
        Path(folder).parent.rmdir()
    return {}


if __name__ == "__main__":
    main(sys.argv[1:])
