"""Paths of our masters' control sockets, and removal of stale ones."""

from __future__ import annotations

import os
import re
from itertools import count
from pathlib import Path

from eagleray.common import private_socket
from eagleray.common.errors import EaglerayError
from eagleray.common.paths import (
    LONGEST_SOCKET_PATH,
    folder_in_tmp,
    private_folder,
    run_folder,
)

_PREFIX = "m-"
_LONGEST_NAME = len("m-4194304-99999")
# ssh binds `<path>.<16 characters>` before it moves the socket into its place (`muxserver_listen` of OpenSSH 10.5).
_LONGEST_PATH = LONGEST_SOCKET_PATH - 17
_PLAIN = re.compile(r"[A-Za-z0-9_./@:+,=-]+")
# A socket whose process doesn't listen yet looks like a stale one.
_YOUNG_S = 60.0
_numbers = count(1)


def control_folder(folder: Path) -> Path:
    """Returns `folder`, or a private one below /tmp if ssh can't use it.

    The path must be short, and plain since ssh expands % and ${} in it (ControlPath, man ssh_config).
    """
    fits = len(os.fsencode(folder)) + 1 + _LONGEST_NAME <= _LONGEST_PATH
    if fits and _PLAIN.fullmatch(str(folder)):
        return folder
    return folder_in_tmp()


def recreated(folder: Path) -> Path:
    """Returns `folder`, made again if it was removed; if that isn't possible any more, the one in use now."""
    try:
        return private_folder(folder)
    except EaglerayError:
        return control_folder(run_folder())


def new_control_path(folder: Path) -> Path:
    """Returns an unused path: ssh runs without multiplexing if the socket exists already."""
    while True:
        path = folder / f"{_PREFIX}{os.getpid()}-{next(_numbers)}"
        if not path.exists():
            return path


def remove_stale(folder: Path) -> None:
    """Removes the sockets of killed masters, but none in use."""
    private_socket.remove_stale(folder, f"{_PREFIX}*", _YOUNG_S)
