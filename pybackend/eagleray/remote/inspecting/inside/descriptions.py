"""Values on one line, and what they consist of; no `__repr__` of the program's own classes is called."""

from __future__ import annotations

import types

from .arrays import CODES, Array, array_of, array_of_scalar, dtype_of, is_array
from .calculation import summary
from .limits import ClientGone, has_time_for_numbers
from .objects import (
    MOST_CHILDREN,
    attributes_of,
    first_of,
    is_numpy_scalar,
    is_torch_shape,
    is_torch_size,
    kind_of,
    module_of,
    mro_of,
    name_of,
    named,
    of_exception,
    pairs_of,
    qualified_name_of,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

LONGEST_VALUE = 400
# So many numbers of a tensor are listed, and so many summed up.
FEW_NUMBERS, MANY_NUMBERS = 16, 30_000
MOST_ITEMS = 20
LONGEST_ITEMS = 4000
MOST_BITS = 10_000


def described(value: Any, depth: int = 0) -> str:
    """`value` on one line; the `__repr__` of the program's own classes is not called."""
    kind, of_python = type(value), kind_of(value)
    if kind is int and value.bit_length() > MOST_BITS:
        return f"<int of {value.bit_length()} bits>"
    if of_python in (int, float, complex, bool, type(None)):
        return repr(value)
    if of_python in (str, bytes):
        return repr(value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE]) + (
            "…" if len(value) > LONGEST_VALUE else ""
        )
    if is_array(value):
        return _array(value)
    if is_torch_size(value):
        return str(tuple(value)) if is_torch_shape(value) else str(value)
    if is_numpy_scalar(kind):
        return _numpy_scalar(value)
    if of_python in (set, frozenset):
        items = _items(value, depth) if value else ""
        return items if items and of_python is set else f"{name_of(kind)}({items})"
    if of_python in (list, tuple, dict):
        return _items(value, depth)
    # Not `isinstance`, which asks the object for its class.
    if issubclass(kind, BaseException):
        return name_of(kind) + _items(of_exception(value, "args"), depth, "()")
    if issubclass(kind, type):
        return f"<{name_of(kind)} {qualified_name_of(value)}>"
    if issubclass(kind, types.ModuleType):
        name = next(iter(named(attributes_of(value), "__name__")), "")
        return f"<{name_of(kind)} {text_of(name)[:LONGEST_VALUE]}>"
    if of_python in (types.FunctionType, types.BuiltinFunctionType):
        # The longer name of a builtin is asked of its class.
        name = value.__qualname__ if of_python is types.FunctionType else value.__name__
        return f"<{name_of(kind)} {text_of(name)}>"
    if any((name_of(base), module_of(base)) == ("dtype", "numpy") for base in mro_of(kind)[1:]):
        return dtype_of(value)[0]
    return f"<{module_of(kind)}.{qualified_name_of(kind)} at {id(value):#x}>"


def _numpy_scalar(value: Any) -> str:
    try:
        return repr(array_of_scalar(value).item())
    except Exception:
        # Such as dates, and texts of numpy.
        kind = type(value)
        return f"<{module_of(kind)}.{qualified_name_of(kind)} at {id(value):#x}>"


def _array(value: Any) -> str:
    kind = value.kind if type(value) is Array else type(value)
    try:
        array = array_of(value)
    except Exception:
        # One of `vmap`, or of a version that isn't known.
        return f"{name_of(kind)}(…)"
    numbers = _numbers(array)
    if not array.is_torch and type(value) is Array and not array.shape and numbers:
        return numbers[0]
    facts = [f"shape={array.shape}", f"dtype={'torch.' * array.is_torch}{array.dtype}"]
    if array.is_torch:
        facts.append(f"device={array.device}")
    return f"{name_of(kind)}({', '.join(numbers + facts)})"


def _numbers(array: Array) -> list[str]:
    """The numbers of a small tensor or array, the numbers of a larger one summed up; none of a huge one, or without
    memory.
    """
    count = array.count
    if count > MANY_NUMBERS or array.dtype not in CODES or not has_time_for_numbers():
        return []
    try:
        if count <= FEW_NUMBERS:
            return [_rounded(array.nested())]
        return [f"{name}={number:.4g}" for name, number in summary(array).items()]
    except ClientGone:
        raise
    except Exception:
        # The program has freed them, or time is up.
        return []


def _rounded(numbers: Any) -> str:
    if type(numbers) is list:
        return f"[{', '.join(map(_rounded, numbers))}]"
    return f"{numbers:.4g}" if type(numbers) is float else repr(numbers)


def _items(value: Any, depth: int, brackets: str = "") -> str:
    is_single = type(value) is tuple and len(value) == 1 and not brackets
    brackets = brackets or ("[]" if type(value) is list else "()" if type(value) is tuple else "{}")
    if depth >= 3:
        return f"{brackets[0]}…{brackets[1]} ({len(value)})"
    parts: list[str] = []
    # A copy, since the program may change it meanwhile.
    for item in pairs_of(value, MOST_ITEMS) if type(value) is dict else first_of(value, MOST_ITEMS):
        if sum(map(len, parts)) > LONGEST_ITEMS:
            break
        if type(value) is dict:
            parts.append(f"{described(item[0], depth + 1)}: {described(item[1], depth + 1)}")
        else:
            parts.append(described(item, depth + 1))
    more = ", …" if len(value) > len(parts) else "," if is_single else ""
    return f"{brackets[0]}{', '.join(parts)}{more}{brackets[1]}"


def children(value: Any) -> Iterator[tuple[str, Any]]:
    """Returns the children of `value` by name: items, or attributes that aren't properties."""
    kind = type(value)
    if kind is dict:
        # Copies, since the program may change them meanwhile.
        return ((described(key), item) for key, item in pairs_of(value, MOST_CHILDREN))
    if kind_of(value) in (list, tuple, set, frozenset):
        return ((str(index), item) for index, item in enumerate(first_of(value, MOST_CHILDREN)))
    if not child_count(value):
        return iter(())
    return ((text_of(name), item) for name, item in pairs_of(attributes_of(value), MOST_CHILDREN))


def child_count(value: Any) -> int:
    """How many items or attributes `value` consists of."""
    kind = type(value)
    if kind_of(value) in (dict, list, tuple, set, frozenset):
        return len(value)
    if issubclass(kind, (type, types.ModuleType)):
        return 0
    return dict.__len__(attributes_of(value))


def access_of(value: Any) -> str:
    """How an expression names a child of `value`: as an "item", an "attribute", or not at all."""
    if kind_of(value) in (list, tuple, dict):
        return "item"
    return "" if kind_of(value) in (set, frozenset) else "attribute"
