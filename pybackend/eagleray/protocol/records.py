"""Reads records (dataclasses) from JSON values: keys that a record doesn't have are ignored, types are checked."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import MISSING, fields, is_dataclass
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

from eagleray.protocol.route_spec import RouteSpec, of_json

R = TypeVar("R")
Reader = Callable[[Any], Any]


def read(kind: type[R], value: object) -> R:
    """A record of that kind; raises ValueError for a missing key or a wrong type, and `bad-route`."""
    reader: Reader = _reader(kind)  # type: ignore[arg-type]
    record: R = reader(value)
    return record


@cache
def _reader(kind: Any) -> Reader:
    origin, arguments = get_origin(kind), get_args(kind)
    if kind is RouteSpec:
        return of_json
    if is_dataclass(kind):
        return _record_reader(kind)
    if origin is list:
        return _list_reader(_reader(arguments[0]))
    if origin is dict:
        return _object_reader(_reader(arguments[1]))
    if origin is Literal:
        return _choice_reader(arguments)
    if origin in (Union, types.UnionType):
        (given,) = (each for each in arguments if each is not type(None))
        return _optional_reader(_reader(given))
    return _simple_reader(kind)


def _record_reader(kind: Any) -> Reader:
    hints = get_type_hints(kind)
    readers = {field.name: _reader(hints[field.name]) for field in fields(kind)}
    required = {
        field.name
        for field in fields(kind)
        if field.default is MISSING and field.default_factory is MISSING
    }

    def record(value: Any) -> Any:
        if not isinstance(value, dict):
            raise ValueError(f"{kind.__name__} must be an object")
        missing = required.difference(value)
        if missing:
            raise ValueError(f"{kind.__name__} lacks {', '.join(sorted(missing))}")
        return kind(**{name: each(value[name]) for name, each in readers.items() if name in value})

    return record


def _list_reader(of_item: Reader) -> Reader:
    def items(value: Any) -> list[Any]:
        if not isinstance(value, list):
            raise ValueError("a list is expected")
        return [of_item(item) for item in value]

    return items


def _object_reader(of_value: Reader) -> Reader:
    def properties(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError("an object is expected")
        return {name: of_value(each) for name, each in value.items()}

    return properties


def _choice_reader(choices: tuple[Any, ...]) -> Reader:
    def choice(value: Any) -> Any:
        if value not in choices:
            raise ValueError(f"one of {', '.join(map(str, choices))} is expected")
        return value

    return choice


def _optional_reader(of_value: Reader) -> Reader:
    return lambda value: None if value is None else of_value(value)


def _simple_reader(kind: type[Any]) -> Reader:
    def simple(value: Any) -> Any:
        if kind is float and type(value) is int:
            return _as_float(value)
        if type(value) is not kind:
            raise ValueError(f"{kind.__name__} is expected, not {type(value).__name__}")
        return value

    return simple


def _as_float(value: int) -> float:
    try:
        return float(value)
    except OverflowError as error:
        raise ValueError("the number is too large") from error
