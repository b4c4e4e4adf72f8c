"""Values that operators and functions of an expression may use: copies of plain values, which hold no code of the program."""

from __future__ import annotations

import itertools
import operator
import types

from .arrays import MOST_MADE, Array, array_of, array_of_scalar, is_array
from .descriptions import MOST_BITS
from .limits import CHARACTERS, MOST_ITEMS_READ, Refused, check, spend, too_many
from .objects import (
    CONTAINERS,
    DICTIONARIES,
    SCALARS,
    SETS,
    in_class,
    is_numpy_scalar,
    is_torch_shape,
    is_torch_size,
    kind_of,
    mro_of,
    name_of,
    named,
    names_of,
    pairs_of,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

_MOST_DIGITS = 400
_DEEPEST = 4
# Items of sets count more: those with the same hash are compared with each other.
SET_ITEM = 100
_AT_ONCE_HASHED = 64
_VIEWS: tuple[type, ...] = (type({}.keys()), type({}.values()), type({}.items()))
_SIZED = (*SCALARS, *CONTAINERS, *_VIEWS, bytearray, memoryview)


def operand(value: Any, depth: int = 0) -> Any:
    """A copy of `value` of which operators and functions run no code of the program.  Raises Refused.

    The program may change the original meanwhile.  Items of containers are plain values, too.
    """
    kind = kind_of(value)
    spend(1)
    if kind is int:
        spend(value.bit_length() // (8 * CHARACTERS))
        _check_bits(value.bit_length())
    elif kind is str or kind is bytes:
        spend(len(value) // CHARACTERS)
    elif kind is slice or kind is range:
        parts = [operand(part) for part in (value.start, value.stop, value.step)]
        if not all(part is None or type(part) in (int, Array) for part in parts):
            raise Refused("A slice of objects runs their code")
        if kind is slice:
            return slice(*(part.item() if type(part) is Array else part for part in parts))
    elif is_array(value):
        if depth:
            raise Refused("An operation on an array and a list isn't allowed")
        return array_of(value)
    elif is_torch_shape(value):
        return tuple(value)
    elif is_numpy_scalar(type(value)):
        return array_of_scalar(value).item() if depth else array_of_scalar(value)
    elif kind in CONTAINERS and depth < _DEEPEST:
        return _copy(value, kind, depth)
    elif kind not in SCALARS and not is_torch_size(value):
        raise Refused(
            f"An operation on a {name_of(type(value))} may run its code, or wait for a GPU"
        )
    return value


def _copy(value: Any, kind: type, depth: int) -> Any:
    items = items_of(value)
    if kind in DICTIONARIES:
        spend(len(items) * SET_ITEM)
        pairs = [(operand(key, depth + 1), operand(item, depth + 1)) for key, item in items]
        return kind(pairs)
    if kind in SETS:
        spend(len(items) * SET_ITEM)
    copies = [operand(item, depth + 1) for item in items]
    return copies if kind is list else kind(copies)


def items_of(value: Any) -> list[Any]:
    """A copy of the items of a container, or of the pairs of a dictionary.  Raises Refused if there are many."""
    if len(value) > MOST_ITEMS_READ:
        raise too_many(len(value))
    spend(len(value))
    return pairs_of(value) if kind_of(value) in DICTIONARIES else list(value)


def truth(value: Any) -> bool:
    """Whether a value is true, which needs no look at its items."""
    kind = kind_of(value)
    if kind in SCALARS or kind in CONTAINERS:
        return bool(value)
    if is_array(value) or is_numpy_scalar(type(value)):
        array: Array = operand(value)
        return bool(array.item())
    if type(type(value)) is type and not any(
        in_class(kind, name) for name in ("__bool__", "__len__")
    ):
        return True
    return bool(operand(value))


def looked_up(items: Any, key: Any, default: list[Any] | None = None) -> Any:
    """The value of `key`, an operand, or the only value of `default`; keys of the program's classes aren't compared.

    Python compares them if they have the same hash, which numbers and classes of a program may have.
    """
    if kind_of(items) not in DICTIONARIES:
        raise Refused(f"Indexing a {name_of(type(items))} runs its code")
    key = number_of(key)
    # One that has no hash is an error.
    hash(key)
    if _has_keys_of(items, type(key)):
        if key in items:
            return items[key]
    else:
        for each, value in _pairs_in_parts(items):
            if is_same(each, key):
                return value
    if default is None:
        raise KeyError(key)
    return default[0]


def _has_keys_of(items: Any, kind: type) -> bool:
    """Whether all keys are texts or numbers of this type, so that a look-up runs no code."""
    if kind not in (str, int) or len(items) > MOST_MADE // 2:
        return False
    return all(map(operator.is_, map(type, items), itertools.repeat(kind)))


def _pairs_in_parts(items: Any) -> Iterable[tuple[Any, Any]]:
    """The pairs of a dictionary, which other threads may change meanwhile."""
    pairs = iter(dict.items(items))
    try:
        while part := list(itertools.islice(pairs, 256)):
            check()
            yield from part
    except RuntimeError as error:
        raise Refused("The program changes it meanwhile") from error


def is_same(item: Any, key: Any) -> bool:
    """Whether an item of a dictionary or set is `key`, an operand; False where only code of the program could say it."""
    try:
        return item is key or (not is_array(item) and _is_equal_to(item, key))
    except Refused:
        check()
        return False


def _is_equal_to(item: Any, operand_value: Any) -> bool:
    """Whether an item of a container is equal to an operand.  Raises Refused where only code of the program could say it."""
    if item is operand_value:
        return True
    # A list with many items isn't a number.
    if kind_of(item) in CONTAINERS and kind_of(operand_value) not in CONTAINERS:
        spend(1)
        return False
    return is_equal(operand(item, 1), operand_value)


def is_equal(left: Any, right: Any) -> bool:
    """Whether two operands are equal; operands of different types may be, too, as 1, 1.0 and True."""
    kinds = kind_of(left), kind_of(right)
    if any(kind is str or kind is bytes for kind in kinds) and kinds[0] is not kinds[1]:
        return False
    return bool(number_of(left) == number_of(right))


def number_of(value: Any) -> Any:
    return value.item() if type(value) is Array else value


def contains(items: Any, item: Any) -> bool:
    """Whether `item`, an operand, is in a container or text."""
    kind = kind_of(items)
    item = number_of(item)
    if kind is str or kind is bytes:
        check_search(items, item)
        return bool(item in items)
    if kind is range:
        if type(item) not in (int, bool):
            raise Refused("Only numbers without a fraction are compared with a range")
        return item in operand(items)
    if kind in DICTIONARIES:
        return looked_up(items, item, [Refused]) is not Refused
    if kind in SETS:
        return any(is_same(each, item) for each in _parts_of(items))
    if kind not in CONTAINERS:
        raise Refused(f"`in` of a {name_of(type(items))} may run its code")
    return any(_is_equal_to(each, item) for each in _parts_of(items))


def _parts_of(items: Any) -> list[Any]:
    if len(items) > MOST_MADE:
        raise too_many(len(items))
    return list(items)


def places_of(items: Any, item: Any) -> list[int]:
    """Where `item`, an operand, is in a list."""
    return [at for at, each in enumerate(_parts_of(items)) if _is_equal_to(each, item)]


def check_search(text: Any, part: Any) -> None:
    """Raises Refused if searching may take long: Python 3.9 needs the product of both lengths."""
    spend(len(text) // CHARACTERS)
    if kind_of(part) in (str, bytes):
        spend(len(text) * len(part) // (CHARACTERS * 20))


def length_of(value: Any) -> int:
    if is_array(value):
        array = array_of(value)
        if not array.shape:
            raise TypeError("len() of a 0-d array")
        return array.shape[0]
    for length in in_class(type(value), "__len__"):
        if type(length) is types.WrapperDescriptorType and _is_sized(length.__objclass__):
            return len(value)
    raise Refused(f"len() of a {name_of(type(value))} runs its code")


def _is_sized(kind: type) -> bool:
    return any(kind is each for each in _SIZED)


def is_instance(value: Any, classes: Any, depth: int = 0) -> bool:
    if type(classes) is tuple and depth < _DEEPEST:
        return any(is_instance(value, each, depth + 1) for each in classes)
    if not issubclass(type(classes), type):
        raise TypeError("isinstance() needs a class")
    for base in mro_of(type(classes))[:-2]:
        if named(names_of(base), "__instancecheck__"):
            raise Refused(f"isinstance() with {name_of(classes)} runs its code")
    kind = value.kind if type(value) is Array else type(value)
    return any(base is classes for base in mro_of(kind))


def check_times(size: int, times: Any) -> None:
    """Raises Refused if so many items times a number are many."""
    if type(times) in (int, bool) and size * times > MOST_MADE:
        raise too_many(size * times)


def _check_bits(bits: int) -> None:
    if bits > 10 * MOST_BITS:
        raise Refused("Numbers with this many digits take very long")


def check_product(left: Any, right: Any) -> None:
    if type(left) is int and type(right) is int:
        _check_bits(left.bit_length() + right.bit_length())


def check_digits(text: Any) -> None:
    if kind_of(text) in (str, bytes) and len(text) > _MOST_DIGITS:
        raise Refused("Numbers with this many digits take very long")


def check_rounding(digits: Any) -> None:
    if type(digits) is int and abs(digits) > _MOST_DIGITS:
        raise Refused("Numbers with this many digits take very long")


def hashed(items: list[Any]) -> set[Any]:
    """A set of operands, a few at once, since items of the same hash are all compared."""
    made: set[Any] = set()
    for start in range(0, len(items), _AT_ONCE_HASHED):
        check()
        made.update(items[start : start + _AT_ONCE_HASHED])
    return made
