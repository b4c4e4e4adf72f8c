"""What operators and functions of an expression may do: run no code of the program, and make little in its memory."""

from __future__ import annotations

import ast
import collections
import math
import types

from .descriptions import MOST_BITS
from .objects import (
    CONTAINERS,
    SCALARS,
    SEQUENCES,
    in_class,
    is_array,
    is_ndarray,
    is_numpy_scalar,
    is_tensor,
    is_torch_shape,
    is_torch_size,
    kind_of,
    module_of,
    mro_of,
    name_of,
    names_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

# What an expression may make in the memory of the program: items, and bytes of an array.
MOST_MADE = 1_000_000
MOST_BYTES = 64 * 2**20
_MOST_DIGITS = 400
# Those that go through all items.
_THROUGH_ITEMS = frozenset(
    (
        "all",
        "any",
        "dict",
        "enumerate",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    )
)
# By which `sorted` and others may compare.
KEYS = (int, float, bool, abs, len)


class Refused(Exception):
    """An expression that might change the program, or wait for it."""


def operand(value: Any, depth: int = 0) -> Any:
    """`value`, if operators and functions on it run no code of the program.  Raises Refused."""
    kind = kind_of(value)
    if kind is slice:
        ends = (value.start, value.stop, value.step)
        if not all(end is None or _is_number(end) for end in ends):
            raise Refused("A slice of objects runs their code")
        return value
    if kind in SCALARS or is_array(value) or is_torch_size(value) or is_numpy_scalar(kind):
        return value
    if kind in CONTAINERS and depth < 4:
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        for part in parts:
            operand(part, depth + 1)
        return value
    raise Refused(f"An operation on a {name_of(type(value))} may run its code, or wait for a GPU")


def _is_number(value: Any) -> bool:
    kind = kind_of(value)
    return kind is int or kind is bool or is_numpy_scalar(kind)


def looked_up(items: Any, key: Any, default: list[Any] | None = None) -> Any:
    """The value of `key`, or the only value of `default`; keys of the program's classes aren't compared.

    Python compares them if they have the same hash, which numbers and classes of a program may have.
    """
    if kind_of(items) not in (dict, collections.OrderedDict):
        raise Refused(f"Indexing a {name_of(type(items))} runs its code")
    for each, value in items.items():
        if _is_same(each, key):
            return value
    if default is None:
        raise KeyError(key)
    return default[0]


def _is_same(item: Any, key: Any) -> bool:
    """Whether an item of a dictionary or set is `key`, whose parts are operands."""
    if item is key:
        return True
    kinds = kind_of(item), kind_of(key)
    if str in kinds or bytes in kinds:
        return kinds[0] is kinds[1] and bool(item == key)
    try:
        # Of other types, too: 1, 1.0 and True are the same.
        return not is_array(item) and bool(operand(item) == key)
    except Refused:
        return False


def contains(items: Any, item: Any) -> bool:
    if kind_of(items) in (dict, collections.OrderedDict, set, frozenset):
        return any(_is_same(each, item) for each in list(items))
    if type(items) is range and kind_of(item) not in (int, bool):
        raise Refused("Only numbers without a fraction are compared with a range")
    check_arrays(operand(items), item)
    return bool(item in items)


def read_function(function: Any, values: list[Any], named: list[ast.keyword]) -> Any:
    """The result of a function that takes any object, without asking that itself."""
    if named or len(values) != (2 if function is isinstance else 1):
        raise Refused(f"{function.__name__}() with these arguments may run code of the program")
    value = values[0]
    if function is isinstance:
        return _is_instance(value, values[1])
    if function is len and not _has_own_length(value):
        raise Refused(f"len() of a {name_of(type(value))} runs its code")
    return function(value)


def _has_own_length(value: Any) -> bool:
    """Whether Python itself or a library of arrays tells the length."""
    for length in in_class(type(value), "__len__"):
        if type(length) is types.WrapperDescriptorType:
            owner = length.__objclass__
            return module_of(owner) in ("builtins", "collections") or is_ndarray(owner)
    return is_tensor(type(value))


def _is_instance(value: Any, classes: Any) -> bool:
    if type(classes) is tuple:
        return any(_is_instance(value, each) for each in classes)
    if not issubclass(type(classes), type):
        raise TypeError("isinstance() needs a class")
    if any("__instancecheck__" in names_of(base) for base in mro_of(type(classes))[:-2]):
        raise Refused(f"isinstance() with {name_of(classes)} runs its code")
    return any(base is classes for base in mro_of(type(value)))


def check_call(name: str, positional: list[Any], named: dict[str, Any]) -> None:
    """Raises Refused for what would run a function of the program, or take very long."""
    if "key" in named and not any(named["key"] is key for key in KEYS):
        raise Refused("A key runs code of the program")
    if any(type(value) is type for value in positional):
        raise Refused("Calling this function with a class may run its code")
    values = (*positional, *named.values())
    check_arrays(*values)
    if name in _THROUGH_ITEMS:
        for value in values:
            if not is_array(value):
                check_made(len(value) if kind_of(value) in (range, *SEQUENCES, *CONTAINERS) else 0)
            elif value.shape:
                check_made(value.shape[0])
    if name == "sum" and any(kind_of(value) in CONTAINERS for value in values[1:]):
        raise Refused("sum() of lists may take very long")
    for value in values:
        if name == "int" and kind_of(value) in (str, bytes) and len(value) > _MOST_DIGITS:
            raise Refused("Numbers with this many digits take very long")
        if name == "round" and type(value) is int and value < -_MOST_DIGITS:
            raise Refused("Numbers with this many digits take very long")


def check_operation(operator_node: ast.operator, left: Any, right: Any) -> None:
    """Raises Refused if the result may be large."""
    check_arrays(left, right)
    if isinstance(operator_node, ast.Mod) and kind_of(left) in (str, bytes):
        raise Refused("Formatting isn't allowed")
    if any(is_array(value) for value in (left, right)):
        if any(kind_of(value) in CONTAINERS for value in (left, right)):
            raise Refused("An operation on an array and a list isn't allowed")
        return
    sizes = [
        len(value) if kind_of(value) in (*SEQUENCES, *CONTAINERS) or is_torch_shape(value) else 0
        for value in (left, right)
    ]
    if isinstance(operator_node, ast.Mult):
        for size, times in ((sizes[0], right), (sizes[1], left)):
            if size and (kind_of(times) in (int, bool) or is_numpy_scalar(type(times))):
                check_made(size * int(times))
        if type(left) is int and type(right) is int:
            _check_bits(left.bit_length() + right.bit_length())
    else:
        check_made(sum(sizes))


def check_made(items: int) -> None:
    if items > MOST_MADE:
        raise Refused(f"This would go through {items:,} items in the program")


def _check_bits(bits: int) -> None:
    if bits > 10 * MOST_BITS:
        raise Refused("Numbers with this many digits take very long")


def check_arrays(*values: Any) -> None:
    """Raises Refused if arrays in `values` are together larger than what may be made of them."""
    arrays = [value for value in parts_of(values) if is_array(value)]
    if not arrays:
        return
    rank = max(len(array.shape) for array in arrays)
    shapes = [(1,) * (rank - len(array.shape)) + tuple(array.shape) for array in arrays]
    count = math.prod(max(sizes) for sizes in zip(*shapes)) if rank else 1
    if count * max(array.dtype.itemsize for array in arrays) > MOST_BYTES:
        raise Refused("The result would need much memory of the program")


def check_index(array: Any, index: Any) -> None:
    """Raises Refused if a copy of the indexed items may be large; without one it is a view."""
    chosen = 0
    for part in parts_of((index,)):
        if is_array(part):
            chosen += math.prod(part.shape)
    parts = index if type(index) is tuple else (index,)
    chosen += sum(len(part) for part in parts if kind_of(part) in (list, *CONTAINERS))
    rows = array.shape[0] if array.shape else 1
    row = math.prod(array.shape) * array.dtype.itemsize // max(1, rows)
    if chosen * row > MOST_BYTES:
        raise Refused("The result would need much memory of the program")


def parts_of(values: Any) -> Iterator[Any]:
    """The operands in `values`, and in containers among them."""
    for value in values:
        if kind_of(value) in CONTAINERS:
            yield from parts_of([*value, *value.values()] if isinstance(value, dict) else value)
        else:
            yield value
