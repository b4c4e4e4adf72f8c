"""Logs in archives, compressed, in UTF-16 or from a pipe: their texts become files of this user, since their lines are opened."""

from __future__ import annotations

import codecs
from collections.abc import Callable, Sequence
from pathlib import Path, PurePosixPath
from typing import BinaryIO

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.common.outside_names import plain_name
from eagleray.doctor.logs.cluster_copies import new_copies_folder, write_copy
from eagleray.doctor.logs.files import NO_LOGS
from eagleray.doctor.model import UncheckedFile
from eagleray.observe.hangs.pasted.given_files import GivenFiles

# The name of what comes from a pipe.
STDIN_NAME = "stdin"
LARGEST_STDIN = 4 * 2**30
_PIECE = 2**20
_UTF_16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


@frozen
class UnpackedLogs:
    """A folder with what was packed, and what isn't in it; None if nothing could be unpacked."""

    folder: Path | None
    unchecked: tuple[UncheckedFile, ...]


def unpacked(
    packed: Sequence[Path], parent: Path, is_cancelled: Callable[[], bool] = lambda: False
) -> UnpackedLogs:
    """The texts of `packed` below a new folder in `parent`, each in a folder of its archive; a cancelled one is cut.

    At most 512 MB, as `GivenFiles` reads.
    """
    if not packed:
        return UnpackedLogs(None, ())
    try:
        folder = new_copies_folder(parent)
    except OSError as error:
        reason = t("packed, and it could not be unpacked: {reason}", reason=error.strerror)
        return UnpackedLogs(None, tuple(UncheckedFile(str(path), reason) for path in packed))
    unchecked: list[UncheckedFile] = []
    for path in packed:
        given = GivenFiles([str(path)])
        for number, file in enumerate(given):
            if is_cancelled():
                break
            inner = _below(file.name, path)
            if not inner.endswith(NO_LOGS):
                name = "_".join(map(plain_name, PurePosixPath(inner).parts))
                target = folder / plain_name(path.name) / name
                if target.exists():
                    target = target.with_name(f"{target.stem}-{number}{target.suffix}")
                write_copy(target, _utf_8(file.content))
        unchecked += (UncheckedFile(name, reason) for name, reason in given.unread)
    return UnpackedLogs(folder, tuple(unchecked))


def _below(name: str, packed: Path) -> str:
    """The name of a file within its archive, or without the ending of what packed it."""
    for outer in (str(packed), str(packed.with_suffix(""))):
        if name.startswith(f"{outer}/"):
            return name.removeprefix(f"{outer}/")
    return PurePosixPath(name).name


def copy_of(stdin: BinaryIO, parent: Path) -> Path:
    """Copies a pipe's output, up to 4 GB, into a file; raises OSError."""
    path = new_copies_folder(parent) / STDIN_NAME
    size = 0
    while size < LARGEST_STDIN and (piece := stdin.read(_PIECE)):
        write_copy(path, piece)
        size += len(piece)
    path.touch()
    return path


def _utf_8(content: bytes) -> bytes:
    if not content.startswith(_UTF_16):
        return content
    return content.decode("utf-16", "replace").encode("utf-8", "replace")
