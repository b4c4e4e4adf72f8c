"""The environment of a process as it is now, read from its memory: what it has set itself is not in /proc.

`os.environ[...] = ...` calls `setenv` of the C library, which keeps the variables in an array that its symbol `environ`
points to.  Where the program itself refers to that symbol, the linker has moved it into the program.  Reading needs the
same rights as py-spy does, and doesn't stop the process.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import NamedTuple

from ..injected.outside_files import opened

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_LIBC = re.compile(r"/(libc[.-][^/]*so[^/]*|ld-musl-[^/]*)$")
_SYMBOLS = (b"environ", b"__environ")
_LONGEST_VALUE = 4096
_MOST_VARIABLES = 4096
_LARGEST_TABLE = 16 * 2**20
_POINTER = 8
_MAPPED_SYMBOLS, _EXECUTABLE = 11, 2


class _Environ(NamedTuple):
    """The address of `environ` in a file; `is_absolute`: the file is always mapped at the same addresses."""

    address: int
    is_absolute: bool


# By device and inode; None for a file that doesn't have it.
_cached: dict[tuple[int, int], _Environ | None] = {}


def variables(pid: int, names: Collection[str]) -> dict[str, str]:
    """Returns the variables of `names` that `pid` has in its environment now; {} if that can't be read."""
    try:
        with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
            for address in _pointers(pid):
                values = dict(_read(memory.fileno(), address, names))
                if values:
                    return values
    except (OSError, ValueError, struct.error, OverflowError):
        pass
    return {}


def _pointers(pid: int) -> Iterator[int]:
    """Where the pointer to the array may be: in the program first, since that comes first for the linker, too."""
    program = str(Path(f"/proc/{pid}/exe").readlink())
    first_of: dict[str, int] = {}
    with Path(f"/proc/{pid}/maps").open(errors="replace") as maps:
        for line in maps:
            fields = line.split(None, 5)
            if len(fields) == 6 and int(fields[2], 16) == 0:
                first_of.setdefault(fields[5].rstrip("\n"), int(fields[0].partition("-")[0], 16))
    for path, base in first_of.items():
        if path == program or _LIBC.search(path):
            # Seen from the process, which may be in a container.
            symbol = _symbol(f"/proc/{pid}/root{path}")
            if symbol is not None:
                yield symbol.address + (0 if symbol.is_absolute else base)


def _read(memory: int, pointer: int, names: Collection[str]) -> Iterator[tuple[str, str]]:
    (array,) = struct.unpack("<Q", os.pread(memory, _POINTER, pointer))
    if not array:
        return
    for index in range(_MOST_VARIABLES):
        (entry,) = struct.unpack("<Q", os.pread(memory, _POINTER, array + index * _POINTER))
        if not entry:
            return
        name, equals, value = _text(memory, entry).partition("=")
        if equals and name in names:
            yield name, value


def _text(memory: int, address: int) -> str:
    """The text at `address`; it may end at the last byte that is mapped, so it is read up to the end of its page first."""
    text = b""
    while len(text) < _LONGEST_VALUE:
        step = 256 - (address + len(text)) % 256
        piece = os.pread(memory, step, address + len(text))
        before, end, _ = piece.partition(b"\0")
        text += before
        if end or not piece:
            break
    return text.decode("utf-8", "replace")


def _symbol(path: str) -> _Environ | None:
    status = Path(path).stat()
    key = status.st_dev, status.st_ino
    if key not in _cached:
        with opened(path) as file:
            _cached[key] = _find(file.fileno())
    return _cached[key]


def _find(file: int) -> _Environ | None:
    """The symbol in the table of an ELF file of 64 bits."""
    header = os.pread(file, 64, 0)
    if header[:6] != b"\x7fELF\x02\x01":
        return None
    (kind,) = struct.unpack_from("<H", header, 16)
    (sections_at,) = struct.unpack_from("<Q", header, 40)
    size, count = struct.unpack_from("<HH", header, 58)
    if size != 64:
        return None
    sections = os.pread(file, size * count, sections_at)
    for start in range(0, len(sections) - size + 1, size):
        (section,) = struct.unpack_from("<I", sections, start + 4)
        if section == _MAPPED_SYMBOLS:
            (names,) = struct.unpack_from("<I", sections, start + 40)
            address = _address(
                _content(file, sections, start), _content(file, sections, names * 64)
            )
            return _Environ(address, kind == _EXECUTABLE) if address else None
    return None


def _content(file: int, sections: bytes, start: int) -> bytes:
    offset, size = struct.unpack_from("<QQ", sections, start + 24)
    return os.pread(file, min(size, _LARGEST_TABLE), offset)


def _address(symbols: bytes, names: bytes) -> int:
    for name, _, _, section, address, _ in struct.iter_unpack("<IBBHQQ", symbols):
        # Section 0: the file uses the symbol and doesn't have it.
        if section and names[name : name + 10].split(b"\0")[0] in _SYMBOLS:
            return int(address)
    return 0
