"""Names what a file is that torch.save didn't write, by its first bytes."""

from __future__ import annotations

import pickletools
import zipfile
from pathlib import Path

from eagleray.common.l10n import later
from eagleray.remote.injected.outside_files import content_of

_BEGINNING = 4096
# The beginnings of formats, and their names.
_BEGINNINGS = (
    (b"PAR1", later("a Parquet file")),
    (b"\x93NUMPY", later("a NumPy array")),
    (b"ARROW1", later("an Arrow file")),
    (b"\x89HDF", later("an HDF5 file")),
    (b"\x1f\x8b", later("a gzip file")),
    (b"\x28\xb5\x2f\xfd", later("a zstd file")),
    (b"\xfd7zXZ", later("an xz file")),
    (b"SQLite format 3", later("an SQLite database")),
    (b"GGUF", later("a GGUF file")),
    (b"%PDF", later("a PDF file")),
)
_LFS = b"version https://git-lfs.github.com/spec/"
_HTML = (b"<!doctype html", b"<html")
_PRINTED = {*range(0x20, 0x7F), *b"\t\r\n\f"}


def file_kind(file: Path) -> str:
    """Blocks.  What the file is, "" if it may be one of torch.save or a pickle; raises OSError."""
    begin = content_of(file, _BEGINNING)
    if begin.startswith(_LFS):
        return later("a git-lfs pointer: `git lfs pull` downloads the file")
    if begin.lstrip().lower().startswith(_HTML):
        return later("an HTML page")
    if begin[8:10] == b'{"' and begin[3:8] == bytes(5):
        return later("a safetensors file")
    if name := next((name for start, name in _BEGINNINGS if begin.startswith(start)), ""):
        return name
    if begin.startswith(b"PK\x03\x04"):
        return _kind_of_zip(file)
    return _kind_of_text(begin)


def _kind_of_zip(file: Path) -> str:
    try:
        with zipfile.ZipFile(file) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, NotImplementedError, ValueError):
        return ""
    if any(name.endswith(".pkl") for name in names):
        return ""
    is_npz = any(name.endswith(".npy") for name in names)
    return later("NumPy arrays (.npz)") if is_npz else later("a zip archive")


def _kind_of_text(begin: bytes) -> str:
    if not begin:
        return later("an empty file")
    try:
        text = begin.decode("utf-8")
    except UnicodeDecodeError as error:
        # The last character may be cut.
        if len(begin) < _BEGINNING or error.start < _BEGINNING - 4:
            return ""
        text = begin[: error.start].decode("utf-8")
    is_text = all(ord(c) > 0x7F or ord(c) in _PRINTED for c in text)
    if not is_text or _may_be_pickle(begin):
        return ""
    return later("JSON") if text.lstrip()[:1] in ("{", "[") else later("a text")


def _may_be_pickle(begin: bytes) -> bool:
    """A pickle of protocol 0 is text too."""
    try:
        for _ in pickletools.genops(begin):
            pass
    except ValueError as error:
        return len(begin) == _BEGINNING and "unknown" not in str(error)
    return True
