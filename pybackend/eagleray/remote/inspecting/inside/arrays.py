"""Tensors and arrays as a shape over memory that is copied; views of them copy nothing, and no library computes.

Functions of numpy and PyTorch could be the program's, start threads, print warnings, and read memory in place.
"""

from __future__ import annotations

import itertools
import math
import struct

from .limits import MOST_ITEMS_READ, Refused, check
from .memory import Memory, Unreadable, of_array, of_tensor
from .objects import is_ndarray, is_tensor, mro_of, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

# The most that an expression may create in the program's memory, in numbers and in bytes.
MOST_MADE = 1_000_000
_MOST_COPIED = 8 * 2**20
_AT_ONCE = 4096
# The runs of a sample: numbers in a run, in a run with gaps, and how many.
_LONGEST_RUN, _LONGEST_SPACED, _MOST_RUNS = 512, 32, 512
# Gaps of so many bytes aren't copied.
_WIDE_GAP = 2**14
# The code of `struct` for each dtype whose numbers are read; Python has none for bfloat16.
CODES = {
    "bool": "?",
    "uint8": "B",
    "int8": "b",
    "uint16": "H",
    "int16": "h",
    "uint32": "I",
    "int32": "i",
    "uint64": "Q",
    "int64": "q",
    "float16": "e",
    "float32": "f",
    "float64": "d",
    "bfloat16": "",
}
_KINDS = {"b": "bool", "i": "int", "u": "uint", "f": "float", "c": "complex"}
_OTHER_KINDS = {"O": "object", "M": "datetime64", "m": "timedelta64", "V": "void"}


class Own:
    """Numbers that were made for an expression."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    def copied(self, offset: int, size: int) -> bytes:
        return self._content[offset : offset + size]

    def spaced(self, offset: int, size: int, count: int, stride: int) -> bytes:
        return b"".join(self.copied(offset + each * stride, size) for each in range(count))


class Array:
    """A tensor, an array, or a part of it; `strides` and `offset` are in bytes.

    `kind` is its class, `size` a number's size, and `device` None for numpy.  `memory` says why it can't be read, or
    has the numbers.
    """

    __slots__ = ("device", "dtype", "kind", "memory", "offset", "shape", "size", "strides")

    def __init__(
        self,
        kind: type,
        dtype: str,
        device: Any,
        shape: tuple[int, ...],
        *,
        size: int,
        strides: tuple[int, ...] = (),
        offset: int = 0,
        memory: Memory | Own | str,
    ) -> None:
        self.kind = kind
        self.dtype = dtype
        self.device = device
        self.shape = shape
        self.size = size
        self.strides = strides
        self.offset = offset
        self.memory = memory

    @property
    def is_torch(self) -> bool:
        return self.device is not None

    @property
    def count(self) -> int:
        return math.prod(self.shape)

    def is_contiguous(self) -> bool:
        joined = _joined(self.shape, self.steps())
        return self.count == 0 or joined in (([self.count], [self.size]), ([1], [0]))

    def steps(self) -> tuple[int, ...]:
        """The strides, which are the library's own only for its own memory."""
        if isinstance(self.memory, Own):
            raise Refused("The order in memory of a result isn't known here")
        return self.strides

    def view(self, shape: Sequence[int], strides: Sequence[int], offset: int = 0) -> Array:
        """Another shape over the same memory."""
        return Array(
            self.kind,
            self.dtype,
            self.device,
            tuple(shape),
            size=self.size,
            strides=tuple(strides),
            offset=self.offset + offset,
            memory=self.memory,
        )

    def made(self, numbers: Sequence[Any] | bytes, dtype: str, shape: Sequence[int]) -> Array:
        """An array of the same kind with these numbers."""
        content = numbers if isinstance(numbers, bytes) else packed(numbers, dtype)
        size = len(packed([0], dtype))
        shape = tuple(shape)
        memory = Own(content)
        strides = contiguous(shape, size)
        return Array(
            self.kind, dtype, self.device, shape, size=size, strides=strides, memory=memory
        )

    def rows(self, at_once: int = _AT_ONCE) -> Iterator[Sequence[Any]]:
        """All numbers in the order of C, some at once.  Raises Unreadable and Refused."""
        if self.count == 0:
            return
        array = self.nearby()
        shape, strides = _joined(array.shape, array.strides)
        for start in offsets(shape[:-1], strides[:-1]):
            for first in range(0, shape[-1], at_once):
                check()
                count = min(at_once, shape[-1] - first)
                yield array._run(start + first * strides[-1], count, strides[-1])

    def spread(self, most: int) -> Iterator[Sequence[Any]]:
        """At most `most` numbers of a large array, in runs that are spread evenly over it.  Raises like `rows`."""
        shape, strides = _joined(self.shape, self.strides)
        step = abs(strides[-1])
        length = min(shape[-1], _LONGEST_RUN if step == self.size else _LONGEST_SPACED)
        runs = max(1, min(_MOST_RUNS, most // length))
        for number in range(runs):
            check()
            place = number * (self.count - length) // max(1, runs - 1)
            row, first = divmod(place, shape[-1])
            offset = min(first, shape[-1] - length) * strides[-1]
            for size, stride in zip(reversed(shape[:-1]), reversed(strides[:-1])):
                row, index = divmod(row, size)
                offset += index * stride
            yield self._run(offset, length, strides[-1])

    def numbers(self) -> Iterator[Any]:
        return itertools.chain.from_iterable(self.rows())

    def item(self) -> Any:
        if self.count != 1:
            raise ValueError("Only one number can be converted to a Python number")
        return next(self.numbers())

    def nested(self) -> Any:
        """The numbers in lists, as `tolist` has them."""
        check_made(math.prod(max(1, size) for size in self.shape))
        numbers = self.numbers()

        def part(shape: tuple[int, ...]) -> Any:
            return [part(shape[1:]) for _ in range(shape[0])] if shape else next(numbers)

        return part(self.shape)

    def nearby(self) -> Array:
        """The same numbers in a copy, unless they are spread over much memory."""
        if not isinstance(self.memory, Memory):
            return self
        ends = [(size - 1) * stride for size, stride in zip(self.shape, self.strides)]
        low, high = (sum(end for end in ends if (end > 0) is is_high) for is_high in (False, True))
        if high - low + self.size > _MOST_COPIED:
            return self
        content = self.memory.copied(self.offset + low, high - low + self.size)
        near = self.view(self.shape, self.strides)
        near.memory, near.offset = Own(content), -low
        return near

    def _run(self, offset: int, count: int, stride: int) -> Sequence[Any]:
        if self.dtype not in CODES:
            raise Unreadable(f"Numbers of {self.dtype} aren't read")
        if isinstance(self.memory, str):
            raise Unreadable(self.memory)
        offset += self.offset
        if stride == 0 or count == 1:
            return list(self._decoded(self.memory.copied(offset, self.size))) * count
        span = (count - 1) * abs(stride) + self.size
        low = offset if stride > 0 else offset - span + self.size
        if abs(stride) > _WIDE_GAP:
            return self._decoded(self.memory.spaced(offset, self.size, count, stride))
        content = self.memory.copied(low, span)
        if abs(stride) != self.size:
            gathered = bytearray(count * self.size)
            for byte in range(self.size):
                gathered[byte :: self.size] = content[byte :: abs(stride)]
            content = bytes(gathered)
        numbers = self._decoded(content)
        return numbers if stride > 0 else numbers[::-1]

    def _decoded(self, content: bytes) -> Sequence[Any]:
        if self.dtype == "bfloat16":
            # The upper half of a float32.
            wide = bytearray(2 * len(content))
            wide[2::4], wide[3::4] = content[::2], content[1::2]
            return memoryview(wide).cast("f")
        code = CODES[self.dtype]
        if code == "e":
            return struct.unpack(f"={len(content) // 2}e", content)
        numbers: Any = memoryview(content)
        cast: Sequence[Any] = numbers.cast(code)
        return cast


def is_array(value: Any) -> bool:
    """Whether it is a tensor or an array of a library's own class, on whatever device."""
    kind = type(value)
    return kind is Array or is_tensor(kind) or is_ndarray(kind)


def array_of(value: Any) -> Array:
    """A tensor or array without its numbers, which only a method of the result copies."""
    kind = type(value)
    if kind is Array:
        array: Array = value
        return array
    if is_ndarray(kind):
        dtype, is_native = dtype_of(of_array(value, "dtype"))
        why = "" if is_native else f"Numbers of {dtype} aren't read"
        shape, strides = of_array(value, "shape"), of_array(value, "strides")
        return Array(
            kind,
            dtype,
            None,
            shape,
            size=of_array(value, "itemsize"),
            strides=strides,
            memory=why or _memory_of(value),
        )
    size = of_tensor(value, "element_size")
    device, layout = of_tensor(value, "device"), str(of_tensor(value, "layout"))
    shape, strides, why = tuple(of_tensor(value, "shape")), (), ""
    if layout == "torch.strided":
        strides = tuple(step * size for step in of_tensor(value, "stride"))
    else:
        why = f"Numbers of {layout} aren't read"
    if str(device) != "cpu":
        why = f"Reading the numbers of a tensor of {device} may wait for it"
    return Array(
        kind,
        str(of_tensor(value, "dtype")).partition(".")[2],
        device,
        shape,
        size=size,
        strides=strides,
        memory=why or _memory_of(value),
    )


def _memory_of(value: Any) -> Memory | str:
    try:
        return Memory(value)
    except Unreadable as unreadable:
        return str(unreadable)


def array_of_scalar(value: Any) -> Array:
    """A number of numpy as an array without dimensions."""
    kind = type(value)
    generic = mro_of(kind)[-2]
    dtype, is_native = dtype_of(names_of(generic)["dtype"].__get__(value))
    number = value.item() if dtype in CODES and is_native else None
    if type(number) not in (int, float, bool):
        raise Refused(f"Numbers of {dtype} aren't read")
    ndarray = Array(kind, dtype, None, (), size=0, memory="")
    return ndarray.made([number], dtype, ())


def dtype_of(dtype: Any) -> tuple[str, bool]:
    """The name of a dtype of numpy, whose own `__str__` is in Python, and whether its bytes are in the order of the CPU."""
    kind = next(
        each
        for each in mro_of(type(dtype))
        if (each.__name__, each.__module__) == ("dtype", "numpy")
    )
    letter, size, order = (
        names_of(kind)[name].__get__(dtype) for name in ("kind", "itemsize", "byteorder")
    )
    if letter in _KINDS:
        return _KINDS[letter] + ("" if letter == "b" else str(8 * size)), order in "=|"
    return _OTHER_KINDS.get(letter, f"{letter}{size}"), False


def contiguous(shape: tuple[int, ...], size: int) -> tuple[int, ...]:
    steps = [size]
    for length in reversed(shape[1:]):
        steps.append(steps[-1] * max(1, length))
    return tuple(reversed(steps[: len(shape)]))


def offsets(shape: Sequence[int], strides: Sequence[int]) -> Iterator[int]:
    """Where each part begins that the dimensions lead to."""
    if not shape:
        yield 0
    if not shape or 0 in shape:
        return
    for first in offsets(shape[:-1], strides[:-1]):
        for index in range(shape[-1]):
            yield first + index * strides[-1]


def _joined(shape: Sequence[int], strides: Sequence[int]) -> tuple[list[int], list[int]]:
    """The same order of numbers with as few dimensions as possible, at least one."""
    lengths, steps = [1], [0]
    for length, step in zip(shape, strides):
        if length == 1:
            continue
        if steps[-1] == step * length or lengths[-1] == 1:
            lengths[-1] *= length
            steps[-1] = step
        else:
            lengths.append(length)
            steps.append(step)
    return lengths, steps


def packed(numbers: Sequence[Any], dtype: str) -> bytes:
    """Numbers as they are in memory, rounded to `dtype`, where integers lose their upper bits."""
    if len(numbers) > MOST_MADE:
        raise Refused("The result would need much memory of the program")
    if dtype == "bfloat16":
        wide = packed([_rounded_to_bfloat16(number) for number in numbers], "float32")
        content = bytearray(len(wide) // 2)
        content[::2], content[1::2] = wide[2::4], wide[3::4]
        return bytes(content)
    code = CODES[dtype]
    try:
        return struct.pack(f"={len(numbers)}{code}", *numbers)
    except (struct.error, OverflowError):
        return b"".join(_packed_number(number, code) for number in numbers)


def _packed_number(number: Any, code: str) -> bytes:
    try:
        return struct.pack(f"={code}", number)
    except OverflowError:
        return struct.pack(f"={code}", math.copysign(math.inf, number))
    except struct.error:
        size = struct.calcsize(f"={code}")
        return (int(number) & (1 << 8 * size) - 1).to_bytes(size, "little")


def _rounded_to_bfloat16(number: float) -> float:
    if math.isnan(number):
        return number
    bits: int = struct.unpack("=I", _packed_number(number, "f"))[0]
    bits = (bits + 0x7FFF + (bits >> 16 & 1)) & 0xFFFF0000
    value: float = struct.unpack("=f", struct.pack("=I", bits))[0]
    return value


def check_made(count: int) -> None:
    if count > MOST_MADE:
        raise Refused("The result would need much memory of the program")


def moved(array: Array, axis: int) -> Array:
    """The array with its dimension `axis` as the last."""
    order = [each for each in range(len(array.shape)) if each != axis] + [axis]
    return array.view(
        [array.shape[each] for each in order], [array.strides[each] for each in order]
    )


def indexed(array: Array, index: Any) -> Array:
    """A part of the array: a view for numbers, slices, None and Ellipsis, a copy for one mask or list of numbers."""
    parts = list(index) if type(index) is tuple else [index]
    if not isinstance(array.strides, tuple) or len(array.strides) != len(array.shape):
        raise Unreadable(str(array.memory))
    if len(parts) == 1 and (type(parts[0]) is list or (type(parts[0]) is Array and parts[0].shape)):
        return _chosen(array, parts[0])
    used = sum(part is not None and part is not Ellipsis for part in parts)
    if used > len(array.shape):
        raise IndexError("too many indices")
    if not any(part is Ellipsis for part in parts):
        parts.append(Ellipsis)
    rest = iter(zip(array.shape, array.strides))
    shape, strides, offset = [], [], 0
    for part in parts:
        if part is None:
            shape.append(1)
            strides.append(0)
        elif part is Ellipsis:
            for length, step in itertools.islice(rest, len(array.shape) - used):
                shape.append(length)
                strides.append(step)
            used = len(array.shape)
        elif type(part) is slice:
            length, step = next(rest)
            places = range(*part.indices(length))
            if array.is_torch and places.step < 0:
                raise ValueError("step must be greater than zero")
            offset += places.start * step if places else 0
            shape.append(len(places))
            strides.append(places.step * step)
        else:
            length, step = next(rest)
            offset += _place(part, length) * step
    return array.view(shape, strides, offset)


def _place(index: Any, length: int) -> int:
    number = index.item() if type(index) is Array else index
    if type(number) is not int:
        raise Refused("Only numbers, slices, and one mask or list of numbers are an index here")
    if not -length <= number < length:
        raise IndexError(f"index {number} is out of bounds for size {length}")
    return number % length


def _chosen(array: Array, index: Any) -> Array:
    places = list(index) if type(index) is list else None
    if type(index) is Array:
        if index.dtype == "bool":
            if index.shape != array.shape[: len(index.shape)]:
                raise IndexError("The shape of the mask doesn't match")
            rest = len(index.shape)
            length = index.count
            starts = itertools.compress(
                offsets(array.shape[:rest], array.strides[:rest]), index.numbers()
            )
            return _gathered(array, starts, rest, length)
        if len(index.shape) == 1:
            places = list(itertools.islice(index.numbers(), MOST_ITEMS_READ + 1))
    if places is None or not array.shape or any(type(place) is bool for place in places):
        raise Refused("Only numbers, slices, and one mask or list of numbers are an index here")
    length = array.shape[0]
    steps = (_place(place, length) * array.strides[0] for place in places)
    return _gathered(array, steps, 1, len(places))


def _gathered(array: Array, starts: Iterator[int], rest: int, most: int) -> Array:
    """The rows that begin at `starts`, at most `most`, each with the dimensions from `rest` on."""
    shape, strides = array.shape[rest:], array.strides[rest:]
    near = array.nearby()
    numbers: list[Any] = []
    rows = 0
    for start in starts:
        row = near.view(shape, strides, start)
        numbers += [row.item()] if not shape else row.numbers()
        rows += 1
        check_made(len(numbers))
    return array.made(numbers, array.dtype, (rows, *shape))
