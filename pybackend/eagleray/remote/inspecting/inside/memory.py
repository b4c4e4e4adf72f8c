"""Copies of the memory of tensors and arrays, which the kernel makes: of memory that is freed it copies nothing.

A tensor may have lost its storage, as FSDP frees it, and an array its shared memory or the end of its file.  Reading
those in place would end the program, so neither our code nor a library's does.
"""

from __future__ import annotations

import posix
import struct

from .limits import check
from .objects import (
    is_heap_type,
    is_ndarray,
    is_tensor,
    module_of,
    mro_of,
    name_of,
    names_of,
    of_module,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_MOST_AT_ONCE = 2**20
_MOST_BASES = 20


class Unreadable(Exception):
    """Numbers of a tensor or array that can't be read."""


def copied(address: int, size: int, count: int = 1, stride: int = 0) -> bytes:
    """The bytes at `address`, and at others that are `stride` bytes apart, `count` in all.

    Raises Unreadable if some of them are in no memory.
    """
    parts = []
    try:
        file = posix.open("/proc/self/mem", posix.O_RDONLY | posix.O_CLOEXEC)
    except OSError as error:
        raise Unreadable("The process can't open /proc/self/mem") from error
    try:
        for number in range(count):
            place, left = address + number * stride, size
            while left > 0:
                check()
                part = posix.pread(file, min(left, _MOST_AT_ONCE), place)
                if not part:
                    raise Unreadable("The program has freed this memory")
                parts.append(part)
                place, left = place + len(part), left - len(part)
    except (OSError, OverflowError) as error:
        raise Unreadable("The program has freed this memory") from error
    finally:
        posix.close(file)
    return b"".join(parts)


class Memory:
    """The memory of a tensor or array of the program, from its first number on; offsets are in bytes."""

    def __init__(self, owner: Any) -> None:
        self._owner = owner
        self._place = _place_of(owner)

    def copied(self, offset: int, size: int) -> bytes:
        return self.spaced(offset, size, 1, 0)

    def spaced(self, offset: int, size: int, count: int, stride: int) -> bytes:
        """The bytes at `offset`, and at others that are `stride` bytes apart, `count` in all."""
        address, before, after = self._place
        last = offset + (count - 1) * stride
        if min(offset, last) < -before or max(offset, last) + size > after:
            raise Unreadable("The program has freed this memory")
        content = copied(address + offset, size, count, stride)
        # Freed meanwhile, other values may be in its place.
        if _place_of(self._owner) != self._place:
            raise Unreadable("The program has freed this memory")
        return content


def of_tensor(tensor: Any, name: str, *arguments: Any) -> Any:
    """Returns what C has of a tensor under `name`: a function of the program, or a mode of it, may be in its place."""
    entry = names_of(mro_of(type(tensor))[-2])[name]
    for guard in of_module("torch._C", "DisableTorchFunction"):
        if not is_heap_type(guard):
            with guard():
                return entry(tensor) if callable(entry) else entry.__get__(tensor)
    raise Unreadable("This version of PyTorch isn't known")


def of_array(array: Any, name: str) -> Any:
    """Returns what numpy itself has of an array, whose class may be one of the program."""
    return next(names_of(kind)[name] for kind in mro_of(type(array)) if is_ndarray(kind)).__get__(
        array
    )


def _place_of(owner: Any) -> tuple[int, int, int]:
    """The address of the first number, and how many bytes of the storage are before and after it."""
    return _place_of_tensor(owner) if is_tensor(type(owner)) else _place_of_array(owner)


def _place_of_tensor(tensor: Any) -> tuple[int, int, int]:
    is_cow = next(iter(of_module("torch._C", "_is_cow_tensor")), None)
    try:
        # The address of one that is copied when it is written to would be the copy's.
        if (is_cow is not None and is_cow(tensor)) or of_tensor(tensor, "is_neg"):
            raise Unreadable("This kind of tensor isn't read")
        storage = of_tensor(tensor, "untyped_storage")
        of_c = next(kind for kind in mro_of(type(storage)) if not is_heap_type(kind))
        size = names_of(of_c)["nbytes"](storage)
        before = of_tensor(tensor, "storage_offset") * of_tensor(tensor, "element_size")
        return of_tensor(tensor, "data_ptr"), before, size - before
    except (RuntimeError, KeyError) as error:
        # One of `vmap`, a fake or a quantized one has no storage.
        raise Unreadable("This kind of tensor isn't read") from error


def _place_of_array(array: Any) -> tuple[int, int, int]:
    owner, size = array, 2**62
    for _step in range(_MOST_BASES):
        base = of_array(owner, "base")
        kind = type(base)
        if base is None or kind is bytes:
            break
        if kind in (bytearray, memoryview):
            size = _size_of_buffer(base)
            break
        if is_tensor(kind):
            _address, before, after = _place_of_tensor(base)
            size = before + after
            break
        if (module_of(kind), name_of(kind)) == ("mmap", "mmap"):
            if names_of(kind)["closed"].__get__(base):
                raise Unreadable("The program has freed this memory")
            break
        if not any(map(is_ndarray, mro_of(kind))):
            raise Unreadable("This array has its memory from an object that isn't known")
        owner = base
    else:
        raise Unreadable("This array has too many bases")
    # `data` and `nd` of `PyArrayObject`, which numpy's ABI fixes.
    address, rank = struct.unpack("Pi", copied(id(array) + object.__basicsize__, 12))
    if rank != len(of_array(array, "shape")):
        raise Unreadable("This version of numpy isn't known")
    return address, size, size


def _size_of_buffer(buffer: Any) -> int:
    try:
        return len(buffer) if type(buffer) is bytearray else buffer.nbytes
    except ValueError as error:
        raise Unreadable("The program has freed this memory") from error
