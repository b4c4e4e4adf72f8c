"""Where the control sockets of our own masters lie, and what killed ones left there."""

from __future__ import annotations

import os
import re
import socket
import time
from itertools import count
from pathlib import Path

from eagleray.common.paths import LONGEST_SOCKET_PATH, private_folder

_PREFIX = "m-"
_LONGEST_NAME = len("m-4194304-99999")
# ssh binds `<path>.<16 characters>` before it moves the socket into its place.
_LONGEST_PATH = LONGEST_SOCKET_PATH - 17
_PLAIN = re.compile(r"[A-Za-z0-9_./@:+,=-]+")
# A socket that is not yet listened on looks as one that no longer is.
_YOUNG_S = 60.0
_numbers = count(1)


def control_folder(folder: Path) -> Path:
    """`folder`, or a private one below /tmp where ssh could not use it.

    The path must be short, and of plain characters since ssh expands % and ${} in it.
    """
    fits = len(os.fsencode(folder)) + 1 + _LONGEST_NAME <= _LONGEST_PATH
    if fits and _PLAIN.fullmatch(str(folder)):
        return folder
    return private_folder(Path("/tmp") / f"eagleray-{os.getuid()}")  # noqa: S108 (checked by private_folder)


def new_control_path(folder: Path) -> Path:
    """A path that no master has used: ssh would run without multiplexing where a socket lies already."""
    while True:
        path = folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        if not path.exists():
            return path


def remove_stale(folder: Path) -> None:
    """Removes the sockets of masters that were killed; one that somebody listens on is left alone."""
    for path in folder.glob(f"{_PREFIX}*"):
        try:
            is_young = time.time() - path.lstat().st_mtime < _YOUNG_S
            if not is_young and path.is_socket() and not _is_listened_on(path):
                path.unlink()
        except OSError:
            # Somebody else removed it.
            continue


def _is_listened_on(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as sock:
        sock.setblocking(False)
        try:
            sock.connect(str(path))
        except ConnectionRefusedError:
            return False
        except OSError:
            # As many wait there as may wait.
            return True
    return True
