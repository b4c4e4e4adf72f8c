"""Lists the log files of folders; a file that can't be read is reported."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.doctor.errors import no_logs, no_such_path
from eagleray.doctor.model import UncheckedFile
from eagleray.remote.injected.outside_files import opened

# Ray's own folders and logs of its services that hold no message of the program.
_SKIPPED_FOLDERS = {".git", "node_modules", "__pycache__", "runtime_resources", "sockets"}
# Python has no reader for it.
_UNKNOWN_PACKED = (".zst",)
# The beginnings of gzip, bzip2, xz, zstd and zip, and of UTF-16; a tar has a mark further on.
_PACKED = (
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\0",
    b"(\xb5/\xfd",
    b"PK\x03\x04",
    b"\xff\xfe",
    b"\xfe\xff",
)
_TAR, _TAR_AT = b"ustar", 257
# Files in folders that aren't logs; a file named by the user is always read.
NO_LOGS = (
    *(".py", ".pyc", ".so", ".pt", ".pth", ".safetensors", ".bin", ".npy", ".npz", ".pkl"),
    *(".parquet", ".arrow", ".sqlite", ".nsys-rep", ".png", ".jpg", ".mp4", ".tar", ".whl"),
)


@frozen
class ScannedFile:
    """A file of `size` bytes that was last written at `written_at`; what is appended later isn't read.

    `node` has written the lines that name no node, "" if it isn't known.
    """

    path: Path
    size: int
    written_at: float
    node: str = ""


def list_logs(
    paths: Sequence[Path],
    is_cancelled: Callable[[], bool] = lambda: False,
    packed: list[Path] | None = None,
) -> tuple[list[ScannedFile], list[UncheckedFile]]:
    """The log files at `paths`, files and folders, each once, and those that can't be read; a cancelled list is cut.

    `packed` gets those whose text has to be unpacked, which else can't be read.  Empty files are left out, unless all
    are empty: a log that is rotated is empty for a moment.  Raises EaglerayError if a path doesn't exist, or without
    any file.
    """
    files: dict[tuple[int, int], ScannedFile] = {}
    unchecked: list[UncheckedFile] = []
    for path in paths:
        if not _exists(path):
            raise no_such_path(path)
        for candidate in _candidates(path, unchecked):
            if is_cancelled():
                break
            _add(candidate, files, unchecked, packed)
    if not files and not unchecked and not packed:
        raise no_logs(paths)
    return [file for file in files.values() if file.size] or list(files.values()), unchecked


def _exists(path: Path) -> bool:
    """Whether it may exist: a path in a folder of another user is listed as not checked."""
    try:
        return path.exists()
    except PermissionError:
        return True


def _reason(error: OSError) -> str:
    return t("no permission") if isinstance(error, PermissionError) else error.strerror or ""


def _candidates(path: Path, unchecked: list[UncheckedFile]) -> Iterator[Path]:
    try:
        is_file = not path.is_dir()
    except PermissionError:
        is_file = True
    if is_file:
        yield path
        return

    def on_error(error: OSError) -> None:
        unchecked.append(UncheckedFile(str(error.filename), _reason(error)))

    for folder, folders, names in os.walk(path, onerror=on_error):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            if not name.endswith(NO_LOGS):
                yield Path(folder, name)


def _is_packed(path: Path) -> bool:
    try:
        with opened(path) as file:
            head = file.read(_TAR_AT + len(_TAR))
    except OSError:
        return False
    return head.startswith(_PACKED) or head[_TAR_AT:] == _TAR


def _add(
    path: Path,
    files: dict[tuple[int, int], ScannedFile],
    unchecked: list[UncheckedFile],
    packed: list[Path] | None,
) -> None:
    try:
        status = path.stat()
    except OSError as error:
        unchecked.append(UncheckedFile(str(path), _reason(error)))
        return
    # A pipe or device would wait, or never end.
    if not stat.S_ISREG(status.st_mode):
        return
    if status.st_size and not os.access(path, os.R_OK):
        unchecked.append(UncheckedFile(str(path), t("no permission")))
    elif status.st_size and _is_packed(path):
        if packed is None or path.name.endswith(_UNKNOWN_PACKED):
            unchecked.append(UncheckedFile(str(path), t("compressed")))
        else:
            packed.append(path)
    else:
        # By identity: logs are linked, as `session_latest` is.
        identity = (status.st_dev, status.st_ino)
        files.setdefault(identity, ScannedFile(path, status.st_size, status.st_mtime))
