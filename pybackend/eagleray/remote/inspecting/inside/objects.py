"""Reads objects without running code of the program."""

from __future__ import annotations

import _collections  # type: ignore[import-not-found]
import itertools
import operator
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

MOST_CHILDREN = 200
# In `__flags__`: a class made by Python, as the program's may be.
_HEAP_TYPE = 1 << 9
SCALARS = (int, float, complex, bool, str, bytes, type(None), type, range, slice)
DICTIONARIES = (dict, _collections.OrderedDict)
SETS = (set, frozenset)
CONTAINERS = (list, tuple, *SETS, *DICTIONARIES, _collections.deque)
SEQUENCES = (str, bytes, list, tuple, _collections.deque)
_OF_TORCH = ("Size", "dtype", "device")


class _OfAnotherKind:
    """Stands for classes that have a class of their own."""


def kind_of(value: Any) -> type:
    """The class of `value`, which may be compared: a class of classes may have its own `__eq__`."""
    kind = type(value)
    return kind if type(kind) is type else _OfAnotherKind


def is_numpy_scalar(kind: type) -> bool:
    """Whether it is a class of numpy's own, whose values are numbers; one of the program may claim to be."""
    return (
        not is_heap_type(kind)
        and any(name_of(base) == "generic" for base in mro_of(kind))
        and name_of(kind) not in ("void", "object_", "object")
    )


def is_heap_type(kind: type) -> bool:
    """Whether Python made the class, as it makes the program's."""
    return bool(type.__dict__["__flags__"].__get__(kind) & _HEAP_TYPE)


def mro_of(kind: type) -> tuple[type, ...]:
    """The class and its bases; the class of the class may be one of the program."""
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return mro


def names_of(kind: type) -> Any:
    return type.__dict__["__dict__"].__get__(kind)


def name_of(kind: type) -> str:
    return text_of(type.__dict__["__name__"].__get__(kind))


def qualified_name_of(kind: type) -> str:
    return text_of(type.__dict__["__qualname__"].__get__(kind))


def module_of(kind: type) -> str:
    try:
        return text_of(type.__dict__["__module__"].__get__(kind))
    except AttributeError:
        return ""


def in_class(kind: type, name: str) -> list[Any]:
    """Returns what the class has under `name`: nothing, or one value."""
    for base in mro_of(kind):
        if entry := named(names_of(base), name):
            return entry
    return []


def named(names: Mapping[Any, Any], name: str) -> list[Any]:
    """The value of `name` in a dictionary with names, or nothing; a key of the program may have its own `__eq__`."""
    if type(names) is not types.MappingProxyType and type(names) is not dict:
        return [value for key, value in pairs_of(names) if type(key) is str and key == name]
    if all(map(operator.is_, map(type, names), itertools.repeat(str))):
        return [names[name]] if name in names else []
    return [value for key, value in list(names.items()) if type(key) is str and key == name]


def pairs_of(names: Any, count: int | None = None) -> list[tuple[Any, Any]]:
    """A copy of the first items of a dictionary, whose class may be the program's, in one step."""
    return list(itertools.islice(dict.items(names), count))


def attributes_of(value: Any) -> dict[Any, Any]:
    """The dictionary with the attributes of an object, {} without one; no `__getattribute__` of the program is called.

    It may be of a class of the program, so it is read by `named` and `pairs_of`.
    """
    kind = type(value)
    # Without a place in its memory, C makes the dictionary, as each thread's in `threading.local`.
    if type.__dict__["__dictoffset__"].__get__(kind):
        for descriptor in in_class(kind, "__dict__"):
            if kind_of(descriptor) in (types.GetSetDescriptorType, types.MemberDescriptorType):
                names = descriptor.__get__(value)
                if issubclass(type(names), dict):
                    attributes: dict[Any, Any] = names
                    return attributes
    return {}


def is_torch_shape(value: Any) -> bool:
    return is_torch_size(value) and name_of(type(value)) == "Size"


def is_torch_size(value: Any) -> bool:
    """Whether it is a shape, a dtype or a device of PyTorch."""
    kind = type(value)
    return (
        not is_heap_type(kind)
        and name_of(kind) in _OF_TORCH
        and any(kind is entry for entry in of_module("torch", name_of(kind)))
    )


def text_of(key: Any) -> str:
    return key if type(key) is str else ""


def of_module(module: str, name: str) -> list[Any]:
    """Returns what an imported module of the program has under `name`, or nothing."""
    return named(attributes_of(dict.get(sys.modules, module)), name)


def is_ndarray(kind: type) -> bool:
    is_numpys = (module_of(kind), name_of(kind)) == ("numpy", "ndarray")
    return is_numpys and not is_heap_type(kind)


def is_tensor(kind: type) -> bool:
    """Whether it is a class of PyTorch's own, whose tensors have their numbers themselves."""
    bases = mro_of(kind)
    if len(bases) < 3 or is_heap_type(bases[-2]) or module_of(bases[-2]) != "torch._C":
        return False
    name, module = name_of(kind), module_of(kind)
    is_librarys = (len(bases), module, name) in (
        (3, "torch", "Tensor"),
        (4, "torch.nn.parameter", "Parameter"),
    )
    return is_librarys and any(kind is entry for entry in of_module(module, name))


def of_exception(error: BaseException, name: str) -> Any:
    """Returns what Python itself has of an exception, whose class may have its own."""
    return BaseException.__dict__[name].__get__(error)


def first_of(items: Iterable[Any], count: int) -> list[Any]:
    """A copy of the first items, in one step, so that no other thread changes them meanwhile."""
    return list(itertools.islice(items, count))
