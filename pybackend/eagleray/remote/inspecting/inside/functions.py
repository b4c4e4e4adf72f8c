"""Functions of Python and methods of arrays and texts that an expression may call."""

from __future__ import annotations

from .arrays import Array, indexed, is_array
from .calculation import REDUCTIONS, mapped, reduced, unique
from .limits import Refused, check, spend
from .objects import CONTAINERS, DICTIONARIES, SEQUENCES, kind_of, name_of
from .operations import (
    SET_ITEM,
    check_digits,
    check_rounding,
    check_search,
    hashed,
    is_instance,
    items_of,
    length_of,
    looked_up,
    number_of,
    operand,
    places_of,
    truth,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(abs, all, any, bool, enumerate, float, id, int, isinstance, len, list),
        *(max, min, round, set, sorted, sum, tuple, dict, type, zip),
    )
}
# By which `sorted` and others may compare.
_KEYS = (int, float, bool, abs, len)
_TEXT_METHODS = ("count", "index", "startswith", "endswith", "split", "strip")
# Sorting takes the most of what goes through items.
_MOST_SORTED = 30_000
_SUMMED = 1000
_MAY_CHANGE = "Calling {}() may change the program or wait"


def called(function: Any, positional: list[Any], named: dict[str, Any]) -> Any:
    """The result of a function of Python, which runs no code of the program."""
    name = next((name for name, each in FUNCTIONS.items() if each is function), "")
    if not name:
        raise Refused("Calling this function may change the program or wait")
    if name in ("type", "id", "isinstance", "len"):
        return _about(name, positional, named)
    if name == "dict":
        return _dict(positional, named)
    key = named.pop("key", None)
    if key is not None and not any(key is each for each in _KEYS):
        raise Refused("A key runs code of the program")
    arguments = {each: operand(value) for each, value in named.items()}
    if name in ("sorted", "min", "max") and (len(positional) == 1 or name == "sorted"):
        items = [number_of(operand(item)) for item in iterated(*positional)]
        if name == "sorted" and len(items) > _MOST_SORTED:
            raise Refused("Sorting this many items takes long")
        return function(items, key=key, **arguments)
    if name in ("min", "max"):
        return function(*(number_of(operand(value)) for value in positional), key=key, **arguments)
    if key is not None:
        raise TypeError(f"{name}() has no key")
    if name in ("abs", "float", "int", "round"):
        return _number_called(name, [operand(value) for value in positional], arguments)
    if arguments and name != "sum":
        raise Refused(f"{name}() with these arguments isn't allowed")
    return _through(name, positional, arguments)


def _about(name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    """The result of a function that takes any object, without asking that itself."""
    if named or len(positional) != (2 if name == "isinstance" else 1):
        raise Refused(f"{name}() with these arguments may run code of the program")
    value = positional[0]
    if name == "isinstance":
        return is_instance(value, positional[1])
    if name == "len":
        return length_of(value)
    if name == "id":
        return id(value)
    return value.kind if type(value) is Array else type(value)


def _number_called(name: str, values: list[Any], named: dict[str, Any]) -> Any:
    if name == "abs" and type(values[0]) is Array:
        return mapped("abs", values[0])
    values = list(map(number_of, values))
    if any(kind_of(value) is type for value in values):
        raise Refused("Calling this function with a class may run its code")
    for value in values:
        check_digits(value)
    for digits in (*values[1:], *named.values()):
        check_rounding(digits)
    return FUNCTIONS[name](*values, **named)


def _through(name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    """The result of a function that goes through items."""
    if name == "bool":
        return truth(*positional) if positional else False
    if name == "zip":
        return list(zip(*map(iterated, positional)))
    if name == "enumerate":
        items, *start = positional
        return list(enumerate(iterated(items), *map(operand, start)))
    if name == "sum":
        items, *start = positional
        return _summed(iterated(items), *(operand(value) for value in (*start, *named.values())))
    items = iterated(*positional) if positional else []
    if name in ("any", "all"):
        return FUNCTIONS[name](map(truth, items))
    if name == "set":
        return hashed([number_of(operand(item)) for item in items])
    return tuple(items) if name == "tuple" else items


def iterated(value: Any) -> list[Any]:
    """Returns the items of an iteration, in a list."""
    kind = kind_of(value)
    if is_array(value):
        array: Array = operand(value)
        spend(length_of(array))
        if len(array.shape) == 1:
            return list(array.numbers())
        return [indexed(array, index) for index in range(array.shape[0])]
    if kind in CONTAINERS:
        items = items_of(value)
        return [key for key, _ in items] if kind in DICTIONARIES else items
    if kind is str or kind is bytes or kind is range:
        items = operand(value)
        if kind is range and abs(items.stop - items.start) // abs(items.step) > 10**9:
            raise Refused("This would go through all numbers of a large range")
        spend(len(items))
        return list(items)
    raise Refused(f"Going through a {name_of(type(value))} may run its code")


def _summed(items: list[Any], start: Any = 0) -> Any:
    if kind_of(start) in CONTAINERS:
        raise Refused("sum() of lists may take very long")
    total = number_of(start)
    numbers = [number_of(operand(item)) for item in items]
    for first in range(0, len(numbers), _SUMMED):
        check()
        total = sum(numbers[first : first + _SUMMED], total)
    return total


def _dict(positional: list[Any], named: dict[str, Any]) -> Any:
    if len(positional) > 1:
        raise TypeError("dict() takes one argument")
    pairs: list[Any] = []
    for value in positional:
        pairs += items_of(value) if kind_of(value) in DICTIONARIES else iterated(value)
    made = {}
    for pair in pairs:
        spend(SET_ITEM)
        key, value = iterated(pair)
        made[number_of(operand(key))] = value
    made.update(named)
    return made


def called_method(owner: Any, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    """The result of a method of an array, a container or a text."""
    kind = kind_of(owner)
    if is_array(owner):
        # One would be written to, as `out`.
        if any(is_array(value) for value in (*positional, *named.values())):
            raise Refused(f"{name}() of arrays may change them")
        arguments = [operand(value) for value in positional]
        return _array_method(
            operand(owner), name, arguments, {key: operand(value) for key, value in named.items()}
        )
    if named:
        raise Refused(_MAY_CHANGE.format(name))
    if kind in DICTIONARIES and name in ("keys", "values", "items") and not positional:
        pairs = items_of(owner)
        return pairs if name == "items" else [pair[name == "values"] for pair in pairs]
    if kind in DICTIONARIES and name == "get" and len(positional) in (1, 2):
        return looked_up(owner, operand(positional[0]), [*positional[1:], None])
    if (kind is str or kind is bytes) and name in _TEXT_METHODS:
        arguments = [number_of(operand(value)) for value in positional]
        for argument in arguments:
            check_search(owner, argument)
        if name == "split":
            spend(len(owner))
        return getattr(owner, name)(*arguments)
    if kind in CONTAINERS and kind in SEQUENCES and name in ("count", "index"):
        (item,) = positional
        places = places_of(owner, operand(item))
        if name == "index" and not places:
            raise ValueError("It is not in the list")
        return len(places) if name == "count" else places[0]
    raise Refused(_MAY_CHANGE.format(name))


def _array_method(array: Array, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    if name in REDUCTIONS:
        return _reduction_method(array, name, positional, named)
    if name == "size" and array.is_torch:
        sizes = [*positional, *named.values()]
        return array.shape[sizes[0]] if sizes else array.shape
    is_read = name in ("item", "tolist", "abs", "isnan", "isinf") or name in _FACTS
    if is_read and (positional or named):
        raise Refused(f"{name}() with these arguments isn't calculated here")
    if name == "item":
        return array.item()
    if name == "tolist":
        spend(array.count)
        return array.nested()
    if array.is_torch and name in ("abs", "isnan", "isinf"):
        return mapped(name, array)
    if array.is_torch and name in _FACTS:
        return _FACTS[name](array)
    raise Refused(_MAY_CHANGE.format(name))


_FACTS: dict[str, Any] = {
    "dim": lambda array: len(array.shape),
    "numel": lambda array: array.count,
    "element_size": lambda array: array.size,
    "stride": lambda array: tuple(step // array.size for step in array.steps()),
    "is_contiguous": Array.is_contiguous,
    "unique": unique,
}


def _reduction_method(array: Array, name: str, positional: list[Any], named: dict[str, Any]) -> Any:
    axis = positional.pop(0) if positional else None
    if name == "norm" and axis is not None:
        raise Refused("norm() with these arguments isn't calculated here")
    less = None
    keeps = False
    for key, value in named.items():
        if key in ("axis", "dim") and axis is None:
            axis = value
        elif key in ("keepdim", "keepdims") and type(value) is bool:
            keeps = value
        elif (
            key in ("ddof", "correction", "unbiased")
            and name == "std"
            and type(value) in (int, bool)
        ):
            less = int(value)
        else:
            positional.append(value)
    if positional or type(axis) not in (int, type(None)):
        raise Refused(f"{name}() with these arguments isn't calculated here")
    return reduced(name, array, axis, keeps=keeps, less=less)
