"""The JSON lines of a file: the file itself, or a private copy of what is compressed, one document, or nested.

1. A compressed file is unpacked, a Parquet file converted; of a file of torch.save the samples are read.  2. A file of
another kind is named and not read.  3. If the first line is an object of one trajectory, the file is read as it is.  4. If
it is JSON, each line is taken apart.  5. Else the file is one JSON document over lines, or several.  6. Else its lines are
read as they are if one of the first is JSON.
"""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Any

from attrs import frozen

from eagleray.common.errors import UNREADABLE_JSON
from eagleray.common.l10n import later, t, translated
from eagleray.remote.injected.outside_files import content_of, opened
from eagleray.rollouts.file_kind import file_kind
from eagleray.rollouts.trajectories.errors import (
    document_unreadable,
    dump_unreadable,
    no_parquet_reader,
    not_trajectories,
)
from eagleray.rollouts.trajectories.nesting import Nesting
from eagleray.rollouts.trajectories.saved_samples import samples_in
from eagleray.runs.program_kind import active_python
from eagleray.runs.program_python import activated_environment

MEGABYTE = 2**20
# The size that is parsed at once: a document, or a first line.
LONGEST_DOCUMENT = 256 * MEGABYTE
MOST_UNPACKED = 16 * 1024 * MEGABYTE
_CHUNK = 4 * MEGABYTE
_FIRST_LINES = 20
_TEXTS = ("JSON", "a text", "an empty file", "")
_SAVED = later("a file of torch.save or pickle: `eagleray rollouts batch` opens it")
_PARQUET_LINES = Path(__file__).parents[2] / "remote" / "scripts" / "parquet_lines.py"
_NO_READER, _TOO_LARGE = 3, 4
CONVERSION_S = 300.0


@frozen
class JsonLines:
    """A file of JSON lines; `is_settled`: what it is stays as it is when more is written."""

    path: Path
    is_settled: bool


def json_lines(path: Path, new_copy: Callable[[], Path]) -> JsonLines:
    """Blocks.  The file to read, in place of one of another form; raises an error of the catalogue."""
    try:
        source = path
        begin = content_of(path, 4)
        if begin.startswith(b"\x1f\x8b"):
            source = new_copy()
            _unpack(path, source)
        elif begin == b"PAR1":
            source = new_copy()
            _convert(path, source)
        elif begin == b"PK\x03\x04" and (value := samples_in(path)):
            source = new_copy()
            source.write_text(json.dumps(value), encoding="utf-8")
        _check_kind(path, source)
        reading = _Reading(path, source)
        rows = reading.rows()
        if rows is None:
            return JsonLines(source, source == path and reading.has_object)
        copy = new_copy()
        with copy.open("wb") as file:
            file.writelines(rows)
    except OSError as error:
        raise dump_unreadable(str(path), error.strerror or str(error)) from error
    return JsonLines(copy, is_settled=False)


def _unpack(path: Path, copy: Path) -> None:
    """Several members may follow each other, then zeros."""
    unpacker, written, is_whole = zlib.decompressobj(31), 0, False
    with opened(path) as packed, copy.open("wb") as out:
        while chunk := packed.read(_CHUNK):
            while chunk:
                try:
                    data = unpacker.decompress(chunk, _CHUNK)
                except zlib.error as error:
                    raise dump_unreadable(str(path), t("it is not whole gzip data")) from error
                written += out.write(data)
                if written > MOST_UNPACKED:
                    raise dump_unreadable(str(path), t("it is too large to be unpacked"))
                chunk = unpacker.unconsumed_tail
                if unpacker.eof:
                    chunk, unpacker = unpacker.unused_data, zlib.decompressobj(31)
                    is_whole = not chunk.strip(b"\0")
                    chunk = b"" if is_whole else chunk
    if not is_whole:
        raise dump_unreadable(str(path), t("it is not whole gzip data"))


def _convert(path: Path, copy: Path) -> None:
    """The rows of a Parquet file, by the user's Python."""
    python = active_python()
    argv = [python, str(_PARQUET_LINES), str(path), str(MOST_UNPACKED)]
    environ = activated_environment(os.environ, python)
    with copy.open("wb") as out:
        try:
            done = subprocess.run(
                argv,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=subprocess.PIPE,
                env=environ,
                timeout=CONVERSION_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise dump_unreadable(str(path), t("it takes too long to convert it")) from error
    if done.returncode == _NO_READER:
        raise no_parquet_reader(str(path), python)
    if done.returncode == _TOO_LARGE:
        raise dump_unreadable(str(path), t("it is too large to be unpacked"))
    if done.returncode:
        lines = done.stderr.decode(errors="replace").strip().splitlines() or [""]
        raise dump_unreadable(str(path), lines[-1])


def _check_kind(path: Path, source: Path) -> None:
    kind = file_kind(source)
    begin = content_of(source, 4096).lstrip(codecs.BOM_UTF8)
    if kind not in _TEXTS:
        raise not_trajectories(str(path), translated(kind))
    if not kind and begin.startswith((b"\x80", b"PK")):
        raise not_trajectories(str(path), translated(_SAVED))
    if b"\0" in begin and not begin.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise not_trajectories(str(path), t("a binary file"))


class _Reading:
    """The reading of one file, whose content is in `source`."""

    def __init__(self, path: Path, source: Path) -> None:
        self._path = path
        self._source = source
        self._nesting = Nesting()
        # Whether the first line is an object.
        self.has_object = False

    def rows(self) -> Iterator[bytes] | None:
        """The lines of a copy, None if the file has them itself."""
        with opened(self._source) as file:
            first = _first_line(file)
            self.has_object = len(first) >= LONGEST_DOCUMENT
            if self.has_object or not first:
                return None
            value = _parsed(first)
            if value is not None:
                self.has_object = isinstance(value, dict)
                parts = list(Nesting().trajectories(value))
                is_plain = len(parts) == 1 and parts[0] is value
                return None if is_plain else self._each_line()
            return self._of_documents(file)

    def _of_documents(self, file: IO[bytes]) -> Iterator[bytes] | None:
        following = [_parsed(line) for line in _lines(file)]
        is_lines = not following or any(isinstance(part, dict) and part for part in following)
        if os.fstat(file.fileno()).st_size > LONGEST_DOCUMENT:
            if is_lines:
                return None
            raise document_unreadable(str(self._path), t("it is too large for one document"))
        file.seek(0)
        text = file.read().decode("utf-8-sig", errors="replace")
        try:
            values = list(_documents(text))
        except UNREADABLE_JSON as error:
            if is_lines:
                return None
            if not text.lstrip().startswith(("{", "[")):
                raise not_trajectories(str(self._path), t("a text")) from error
            raise document_unreadable(str(self._path), str(error)) from error
        return (_line(part) for value in values for part in self._nesting.trajectories(value))

    def _each_line(self) -> Iterator[bytes]:
        """The trajectories of each line; a line that isn't JSON stays, so that it is shown as a problem."""
        with opened(self._source) as file:
            for line in file:
                value = _parsed(line.removeprefix(codecs.BOM_UTF8))
                if value is None:
                    yield line
                else:
                    yield from map(_line, self._nesting.trajectories(value))


def _first_line(file: IO[bytes]) -> bytes:
    """The first line with text, as far as it may be parsed."""
    line = file.readline(LONGEST_DOCUMENT).removeprefix(codecs.BOM_UTF8)
    while line and not line.strip():
        line = file.readline(LONGEST_DOCUMENT)
    return line


def _lines(file: IO[bytes]) -> Iterator[bytes]:
    for _ in range(_FIRST_LINES):
        if line := file.readline(_CHUNK).strip():
            yield line


def _parsed(line: bytes) -> Any:
    try:
        return json.loads(line.decode(errors="replace"))
    except UNREADABLE_JSON:
        return None


def _documents(text: str) -> Iterator[Any]:
    """The values that follow each other; raises an error of UNREADABLE_JSON."""
    decoder, at, end = json.JSONDecoder(), 0, len(text)
    while True:
        while at < end and text[at] in " \t\r\n":
            at += 1
        if at == end:
            return
        value, at = decoder.raw_decode(text, at)
        yield value


def _line(value: Any) -> bytes:
    return f"{json.dumps(value)}\n".encode()
