"""Attributes of objects and classes, read without running code of the program."""

from __future__ import annotations

import collections
import types

from .objects import (
    DATA_DESCRIPTORS,
    attributes_of,
    in_class,
    kind_of,
    mro_of,
    name_of,
    names_of_module,
    text_of,
)
from .operations import Refused, looked_up

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

METHODS = (
    types.FunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)


def attribute(owner: Any, name: str) -> Any:
    """The attribute without running code of the program: a property in Python is refused.

    1. What is in memory of C, such as slots.  2. The dictionary of the object, and the parts of a module of PyTorch.
    3. What the class has.
    """
    kind = type(owner)
    if issubclass(kind, type):
        return _attribute_of_class(owner, name)
    of_class = in_class(kind, name)
    values = attributes_of(owner)
    for value in of_class:
        if kind_of(value) in DATA_DESCRIPTORS:
            return value.__get__(owner, kind)
        if name in ("name", "value") and is_enum(kind):
            return values[f"_{name}_"]
        if has_method(value, "__set__") or has_method(value, "__delete__"):
            raise Refused(f".{name} is a property, which runs code of {name_of(kind)}")
    for named in (values, *(values.get(part) for part in ("_parameters", "_buffers", "_modules"))):
        if kind_of(named) in (dict, collections.OrderedDict) and name in map(
            text_of, list(named or ())
        ):
            return looked_up(named, name)
    for value in of_class:
        return _bound(value, owner, kind, name)
    raise AttributeError(f"{name_of(kind)!r} object has no attribute {name!r}")


def is_enum(kind: type) -> bool:
    enum = names_of_module("enum").get("Enum")
    return any(base is enum for base in mro_of(kind))


def _attribute_of_class(owner: type, name: str) -> Any:
    own = in_class(owner, name)
    if own and is_enum(owner):
        for members in in_class(owner, "_member_map_"):
            if type(members) is dict and name in members:
                return members[name]
    for value in own or in_class(type(owner), name):
        if not own and kind_of(value) in DATA_DESCRIPTORS:
            return value.__get__(owner)
        if own and (kind_of(value) in (*METHODS, *DATA_DESCRIPTORS) or type(value) is property):
            return value
        return _bound(value, None if own else owner, owner, name)
    raise AttributeError(f"type object {name_of(owner)!r} has no attribute {name!r}")


def _bound(value: Any, owner: Any, kind: type, name: str) -> Any:
    """A value of a class as it is for an object, or for the class without one."""
    if type(value) is staticmethod:
        return value.__func__
    if type(value) is classmethod:
        return types.MethodType(value.__func__, kind)
    if kind_of(value) in METHODS:
        return value.__get__(owner, kind)
    if has_method(value, "__get__"):
        raise Refused(f".{name} runs code of {name_of(kind)}")
    return value


def has_method(value: Any, name: str) -> bool:
    return bool(in_class(type(value), name))
