"""Values on one line, and what they consist of; no `__repr__` of the program's own classes is called."""

from __future__ import annotations

import math
import types

from .objects import (
    MOST_CHILDREN,
    attributes_of,
    first_of,
    is_array,
    is_ndarray,
    is_numpy_scalar,
    is_tensor,
    is_torch_shape,
    is_torch_size,
    kind_of,
    module_of,
    name_of,
    of_exception,
    text_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

LONGEST_VALUE = 400
# So many numbers of a tensor are listed, and so many summed up: torch starts threads for 32,768 and more (2.13).
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
    if is_tensor(kind) or is_ndarray(kind):
        return _array(value)
    if is_torch_size(value):
        return str(tuple(value)) if is_torch_shape(value) else str(value)
    if is_numpy_scalar(kind):
        return described(value.item())
    if of_python in (list, tuple, set, frozenset, dict):
        return _items(value, depth)
    # Not `isinstance`, which asks the object for its class.
    if issubclass(kind, BaseException):
        parts = of_exception(value, "args")
        return f"{name_of(kind)}({', '.join(described(part, depth + 1) for part in parts)})"
    if issubclass(kind, type):
        return f"<{name_of(kind)} {type.__dict__['__qualname__'].__get__(value)}>"
    if issubclass(kind, types.ModuleType):
        return f"<{name_of(kind)} {attributes_of(value).get('__name__', '')!s:.{LONGEST_VALUE}}>"
    if of_python in (types.FunctionType, types.BuiltinFunctionType):
        return f"<{kind.__name__} {value.__qualname__}>"
    qualified = type.__dict__["__qualname__"].__get__(kind)
    return f"<{module_of(kind)}.{qualified} at {id(value):#x}>"


def _array(value: Any) -> str:
    facts = [f"shape={tuple(value.shape)}", f"dtype={value.dtype}"]
    device = getattr(value, "device", None)
    if device is not None:
        facts.append(f"device={device}")
    return f"{type(value).__name__}({', '.join(_numbers(value) + facts)})"


def _numbers(value: Any) -> list[str]:
    """The numbers of a small tensor or array of the CPU, those of a larger one summed up; none of a huge one."""
    try:
        if not is_array(value) or getattr(value.dtype, "kind", "f") not in "biuf":
            return []
        numbers = value.detach() if hasattr(value, "detach") else value
        count = math.prod(numbers.shape)
        if count <= FEW_NUMBERS:
            return [_rounded(numbers.tolist())]
        if count > MANY_NUMBERS:
            return []
        whole = numbers * 1.0
        return [f"{name}={getattr(whole, name)().item():.4g}" for name in ("min", "max", "mean")]
    except Exception:
        # One that is sparse, quantized, complex, or freed.
        return []


def _rounded(numbers: Any) -> str:
    if isinstance(numbers, list):
        return f"[{', '.join(map(_rounded, numbers))}]"
    return f"{numbers:.4g}" if isinstance(numbers, float) else repr(numbers)


def _items(value: Any, depth: int) -> str:
    brackets = "[]" if type(value) is list else "()" if type(value) is tuple else "{}"
    if depth >= 3:
        return f"{brackets[0]}…{brackets[1]} ({len(value)})"
    parts: list[str] = []
    # A copy, since the program may change it meanwhile.
    for item in first_of(value.items() if type(value) is dict else value, MOST_ITEMS):
        if sum(map(len, parts)) > LONGEST_ITEMS:
            break
        if type(value) is dict:
            parts.append(f"{described(item[0], depth + 1)}: {described(item[1], depth + 1)}")
        else:
            parts.append(described(item, depth + 1))
    more = ", …" if len(value) > len(parts) else ""
    return f"{brackets[0]}{', '.join(parts)}{more}{brackets[1]}"


def children(value: Any) -> list[tuple[str, Any]]:
    """What `value` consists of, by name: items, or attributes that are no properties."""
    kind = type(value)
    if kind is dict:
        return [(described(key), item) for key, item in first_of(value.items(), MOST_CHILDREN)]
    if kind_of(value) in (list, tuple, set, frozenset):
        return [(str(index), item) for index, item in enumerate(first_of(value, MOST_CHILDREN))]
    if issubclass(kind, (type, types.ModuleType)):
        return []
    values = attributes_of(value)
    return [(text_of(name), item) for name, item in first_of(values.items(), MOST_CHILDREN)]


def access_of(value: Any) -> str:
    """How an expression names a child of `value`: as an "item", an "attribute", or not at all."""
    if kind_of(value) in (list, tuple, dict):
        return "item"
    return "" if kind_of(value) in (set, frozenset) else "attribute"
