"""Arithmetic, comparisons and reductions of arrays, number by number in Python.

Types are those that the library of the array would choose; where libraries differ or round in steps, it is refused.  Sums
are made in double precision, and then rounded.
"""

from __future__ import annotations

import itertools
import math
import operator
import types

from .arrays import Array, check_made, moved, offsets, packed
from .limits import Refused, check, spend
from .objects import of_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from typing import Any

_AT_ONCE_MADE = 1024
_FLOATS = ("float16", "bfloat16", "float32", "float64")
COMPARED = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)
REDUCTIONS = ("sum", "mean", "std", "min", "max", "norm", "any", "all", "argmax", "argmin")


def calculated(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Array:
    """The result of an operator of two arrays, or of an array and a number."""
    array = left if type(left) is Array else right
    dtype, sides = _common(array, left, right)
    shape = _broadcast(*(side.shape for side in sides if type(side) is Array))
    if function in COMPARED:
        return _made(array, "bool", shape, map(function, *_streams(sides, shape)))
    has_mask = any(
        type(side) is bool or (type(side) is Array and side.dtype == "bool") for side in sides
    )
    if dtype == "bool" or (has_mask and function is operator.sub):
        raise Refused("Arithmetic of bool arrays isn't calculated here")
    if function is operator.truediv:
        if dtype not in _FLOATS:
            dtype = _default_float(array)
        function = _divided
    elif function in (operator.floordiv, operator.mod) and (
        dtype in _FLOATS or type(right) is Array or right == 0
    ):
        # Libraries differ in floats, and in what a division by 0 is.
        raise Refused("This operator is only calculated here for integers and one divisor")
    if not array.is_torch and not shape and dtype not in _FLOATS:
        return _checked(
            _made(array, dtype, shape, map(function, *_streams(sides, shape))), function, sides
        )
    return _made(array, dtype, shape, map(function, *_streams(sides, shape)))


def _checked(result: Array, function: Callable[[Any, Any], Any], sides: Sequence[Any]) -> Array:
    """An integer of numpy: its versions differ in what they do when it gets too large."""
    exact = function(*(side.item() if type(side) is Array else side for side in sides))
    if result.item() != exact:
        raise Refused("The result is too large for its type")
    return result


def mapped(name: str, array: Array) -> Array:
    """The result of a function of each number, or of an operator with one side."""
    if name == "invert" and array.dtype == "bool":
        return _made(array, "bool", array.shape, map(operator.not_, array.numbers()))
    if array.dtype == "bool" and name not in ("isnan", "isinf"):
        raise Refused("Arithmetic of bool arrays isn't calculated here")
    if name == "invert" and array.dtype in _FLOATS:
        raise TypeError("~ needs integers")
    dtype = "bool" if name.startswith("is") else array.dtype
    return _made(array, dtype, array.shape, map(_MAPPED[name], array.numbers()))


def unique(array: Array) -> Array:
    numbers: set[Any] = set()
    for row in array.rows():
        spend(len(row))
        numbers.update(row)
    if any(number != number for number in numbers):
        raise Refused("unique() of NaN isn't calculated here")
    made = sorted(numbers)
    return array.made(made, array.dtype, (len(made),))


def reduced(
    name: str, array: Array, axis: Any = None, *, keeps: bool = False, less: int | None = None
) -> Any:
    """A reduction of all numbers, or along `axis`; `less` is what `std` subtracts from their count."""
    if name in ("mean", "std", "norm") and array.dtype not in _FLOATS and array.is_torch:
        raise TypeError(f"{name}() needs floats")
    if name in ("argmax", "argmin") and array.dtype == "bool" and array.is_torch:
        raise TypeError(f"{name}() needs numbers")
    result_dtype = _dtype_of_reduction(name, array)
    if less is None:
        less = 1 if array.is_torch else 0
    if axis is None:
        number = _reduction(name, array, less)
        shape = (1,) * len(array.shape) if keeps else ()
        return array.made([number], result_dtype, shape)
    rank = len(array.shape)
    if type(axis) is not int or not -rank <= axis < rank:
        raise Refused("Only one dimension of the array can be chosen here")
    axis %= rank
    last = moved(array.nearby(), axis)
    outer = last.shape[:-1]
    check_made(math.prod(outer))
    names = (name, "arg" + name) if name in ("min", "max") and array.is_torch else (name,)
    columns: list[list[Any]] = [[] for _ in names]
    for start in offsets(outer, last.strides[:-1]):
        check()
        row = last.view(last.shape[-1:], last.strides[-1:], start)
        for column, each in zip(columns, names):
            column.append(_reduction(each, row, less))
    if keeps:
        outer = (*array.shape[:axis], 1, *array.shape[axis + 1 :])
    results = [
        array.made(column, _dtype_of_reduction(each, array), outer)
        for column, each in zip(columns, names)
    ]
    return results[0] if len(results) == 1 else tuple(results)


def summary(array: Array) -> dict[str, Any]:
    """The least and the largest number, and the mean."""
    near = array.nearby()
    return {name: _reduction(name, near, 0) for name in ("min", "max", "mean")}


def _dtype_of_reduction(name: str, array: Array) -> str:
    if name in ("any", "all"):
        return "uint8" if array.is_torch and array.dtype == "uint8" else "bool"
    if name.startswith("arg"):
        return "int64"
    if name == "sum" and array.dtype not in _FLOATS:
        return "uint64" if array.dtype.startswith("u") and not array.is_torch else "int64"
    if name in ("mean", "std", "norm") and array.dtype not in _FLOATS:
        return "float64"
    return array.dtype


def _reduction(name: str, array: Array, less: int) -> Any:
    if name == "any":
        return any(map(any, array.rows()))
    if name == "all":
        return all(map(all, array.rows()))
    if not array.count and name != "sum":
        if name in ("mean", "std"):
            return math.nan
        raise ValueError(f"{name}() of no numbers")
    if name in ("min", "max", "argmin", "argmax"):
        return _extreme(name, array)
    if name == "norm":
        return math.sqrt(sum(sum(number * number for number in row) for row in array.rows()))
    total = sum(map(sum, array.rows()))
    if name == "sum":
        return total
    mean = total / array.count
    if name == "mean":
        return mean
    if array.count <= less:
        return math.nan
    squares = (sum((number - mean) * (number - mean) for number in row) for row in array.rows())
    return math.sqrt(sum(squares) / (array.count - less))


def _extreme(name: str, array: Array) -> Any:
    """The least or largest number, or the place of the first such; NaN, if there is one."""
    choose = min if name.endswith("min") else max
    best, place, before = None, 0, 0
    for row in array.rows():
        number = choose(row)
        # Only then a comparison may have been one with NaN.
        if array.dtype in _FLOATS and math.isnan(sum(row)):
            number = next(filter(_is_nan, row), number)
        if best is None or number != number or choose(number, best) != best:
            is_same = _is_nan if number != number else number.__eq__
            best, place = number, before + next(at for at, each in enumerate(row) if is_same(each))
        if best != best:
            break
        before += len(row)
    return place if name.startswith("arg") else best


def _common(array: Array, left: Any, right: Any) -> tuple[str, tuple[Any, Any]]:
    """The dtype of the result of two sides, and the sides as they are then."""
    if type(left) is Array and type(right) is Array:
        if left.is_torch is not right.is_torch:
            raise Refused("Arrays of two libraries aren't calculated with each other here")
        if left.dtype == right.dtype:
            return left.dtype, (left, right)
        # A mask counts as 0 and 1.
        other = right.dtype if left.dtype == "bool" else left.dtype if right.dtype == "bool" else ""
        if not other:
            raise Refused(f"{left.dtype} and {right.dtype} aren't calculated with each other here")
        return other, (left, right)
    number = right if type(left) is Array else left
    dtype = array.dtype
    if type(number) not in (int, float, bool):
        raise Refused("An operation on an array and a list isn't allowed")
    if type(number) is float and dtype not in _FLOATS:
        dtype = _default_float(array)
    elif type(number) is int and dtype == "bool":
        dtype = "int64"
    if type(number) is not bool:
        fitting = array.made([number], dtype, ()).item()
        if dtype not in _FLOATS and fitting != number:
            raise Refused(f"{number} isn't a number of {dtype}")
        number = fitting
    return dtype, (left, number) if type(left) is Array else (number, right)


def _default_float(array: Array) -> str:
    if not array.is_torch:
        return "float64"
    for default in of_module("torch", "get_default_dtype"):
        if type(default) is types.BuiltinFunctionType:
            return str(default()).partition(".")[2]
    raise Refused("The default dtype of PyTorch isn't known")


def _broadcast(*shapes: tuple[int, ...]) -> tuple[int, ...]:
    rank = max(map(len, shapes))
    padded = [(1,) * (rank - len(shape)) + shape for shape in shapes]
    made = []
    for sizes in zip(*padded):
        large = {size for size in sizes if size != 1} or {1}
        if len(large) > 1:
            raise ValueError("The shapes of the arrays don't match")
        made.append(large.pop())
    check_made(math.prod(made))
    return tuple(made)


def _streams(sides: Sequence[Any], shape: tuple[int, ...]) -> list[Iterator[Any]]:
    return [
        _expanded(side, shape).numbers() if type(side) is Array else itertools.repeat(side)
        for side in sides
    ]


def _expanded(array: Array, shape: tuple[int, ...]) -> Array:
    missing = len(shape) - len(array.shape)
    strides = [
        0 if array_size != size else stride
        for array_size, stride, size in zip(array.shape, array.strides, shape[missing:])
    ]
    return array.view(shape, [0] * missing + strides)


def _made(array: Array, dtype: str, shape: tuple[int, ...], numbers: Iterator[Any]) -> Array:
    check_made(math.prod(shape))
    parts = []
    while part := list(itertools.islice(numbers, _AT_ONCE_MADE)):
        check()
        parts.append(packed(part, dtype))
    return array.made(b"".join(parts), dtype, shape)


def _divided(left: Any, right: Any) -> Any:
    if right:
        return left / right
    if left != left or not left:
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _is_nan(number: Any) -> bool:
    return bool(number != number)


def _is_infinite(number: Any) -> bool:
    return number in (math.inf, -math.inf)


_MAPPED: dict[str, Callable[[Any], Any]] = {
    "isnan": _is_nan,
    "isinf": _is_infinite,
    "abs": abs,
    "neg": operator.neg,
    "pos": operator.pos,
    "invert": operator.invert,
}
