"""Addresses of exported functions in a running process, from the symbol tables of the files that it has mapped."""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import NamedTuple

from ..injected.outside_files import descriptor_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_DYNSYM, _LOAD = 11, 1
_LARGEST_TABLE = 64 * 2**20
# Where Python and threads live: in the executable, in libpython, in libc (glibc 2.34 and musl) or in libpthread.
_FILES = re.compile(r"(libpython[^/]*\.so|libc\.so|libc-|libpthread|ld-musl|python[^/]*$)")
_PYTHON = re.compile(r"(libpython[^/]*\.so[^/]*|/python[\d.]*)$")


class _Symbol(NamedTuple):
    name: int
    info: int
    other: int
    section: int
    value: int
    size: int


def addresses(pid: int, names: Iterable[str]) -> dict[str, int]:
    """Where the functions `names` are in the memory of `pid`; those that it doesn't export are missing."""
    wanted = {name.encode() for name in names}
    result: dict[str, int] = {}
    for path, start in _mapped(pid):
        try:
            for name, value in _exported(Path(f"/proc/{pid}/root{path}"), wanted):
                result.setdefault(name, start + value)
        except (OSError, ValueError, struct.error):
            continue
    return result


def code_of_python(pid: int) -> list[tuple[int, int]]:
    """Where the code of Python itself is in the memory of `pid`, from and to."""
    result = []
    for line in _maps(pid):
        place, rights, _offset, _device, _inode, *path = line.split(None, 5)
        if "x" in rights and path and _PYTHON.search(path[0]):
            first, _, last = place.partition("-")
            result.append((int(first, 16), int(last, 16)))
    return result


def code(pid: int, near: int, instructions: bytes) -> int:
    """The address of `instructions` in the file whose code is at `near` in the memory of `pid`, 0 if they aren't there."""
    for line in _maps(pid):
        first, last = (int(part, 16) for part in line.split(None, 1)[0].split("-"))
        if first <= near < last:
            with Path(f"/proc/{pid}/mem").open("rb", buffering=0) as memory:
                offset = os.pread(memory.fileno(), last - first, first).find(instructions)
            return first + offset if offset >= 0 else 0
    return 0


def _maps(pid: int) -> list[str]:
    return Path(f"/proc/{pid}/maps").read_text("utf-8", "surrogateescape").splitlines()


def _mapped(pid: int) -> Iterator[tuple[str, int]]:
    """The files with code that `pid` has mapped, and where each of them begins."""
    read_paths = set()
    for line in _maps(pid):
        place, _rights, offset, _device, _inode, *rest = line.split(None, 5)
        path = rest[0] if rest else ""
        if path.startswith("/") and path not in read_paths and int(offset, 16) == 0:
            read_paths.add(path)
            if _FILES.search(path):
                yield path, int(place.partition("-")[0], 16)


def _exported(path: Path, wanted: set[bytes]) -> Iterator[tuple[str, int]]:
    """The `wanted` functions of the file, relative to where its mapping begins.

    It is read, not mapped: a file that is replaced meanwhile would end us.
    """
    file = descriptor_of(path)
    try:
        header = os.pread(file, 64, 0)
        if header[:5] != b"\x7fELF\x02":
            raise ValueError(f"{path} is not a 64-bit ELF file")
        programs_at, sections_at = struct.unpack_from("<QQ", header, 32)
        program_size, program_count, section_size, section_count = struct.unpack_from(
            "<HHHH", header, 54
        )
        programs = os.pread(file, program_size * program_count, programs_at)
        sections = os.pread(file, section_size * section_count, sections_at)
        lowest = min(
            struct.unpack_from("<Q", programs, index * program_size + 16)[0]
            for index in range(program_count)
            if struct.unpack_from("<I", programs, index * program_size)[0] == _LOAD
        )
        # A file that isn't relocatable is mapped at the addresses that its symbols have.
        base = lowest & ~0xFFF
        for section in range(0, len(sections), section_size):
            if struct.unpack_from("<I", sections, section + 4)[0] != _DYNSYM:
                continue
            (link,) = struct.unpack_from("<I", sections, section + 40)
            names = _content(file, sections, link * section_size)
            for name, value in _symbols(_content(file, sections, section), names, wanted):
                yield name, value - base
    finally:
        os.close(file)


def _content(file: int, sections: bytes, section: int) -> bytes:
    offset, size = struct.unpack_from("<QQ", sections, section + 24)
    return os.pread(file, min(size, _LARGEST_TABLE), offset)


def _symbols(table: bytes, names: bytes, wanted: set[bytes]) -> Iterator[tuple[str, int]]:
    for fields in struct.iter_unpack("<IBBHQQ", table):
        symbol = _Symbol(*fields)
        if not symbol.value:
            continue
        # No wanted name is longer, and most symbols need no more than a look at their first letters.
        text = names[symbol.name : symbol.name + 32].partition(b"\0")[0]
        if text in wanted:
            yield text.decode(), symbol.value
