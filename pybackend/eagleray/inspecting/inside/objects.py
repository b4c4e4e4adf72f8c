"""What an object is, read without running code of the program."""

from __future__ import annotations

import collections
import itertools
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

MOST_CHILDREN = 200
# In `__flags__`: a class made by Python, as that of the program may be.
_HEAP_TYPE = 1 << 9
SCALARS = (int, float, complex, bool, str, bytes, type(None), type, range, slice)
CONTAINERS = (list, tuple, dict, set, frozenset, collections.OrderedDict, collections.deque)
SEQUENCES = (str, bytes, list, tuple, collections.deque)
_OF_TORCH = ("Size", "dtype", "device")
_Pair = collections.namedtuple("_Pair", "x")
# Of classes of C, and of Python itself: reading them runs no code of the program.
DATA_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(_Pair.x))


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
    """Whether Python made the class, as it makes those of the program."""
    return bool(type.__dict__["__flags__"].__get__(kind) & _HEAP_TYPE)


def mro_of(kind: type) -> tuple[type, ...]:
    """The class and its bases; the class of the class may be one of the program."""
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return mro


def names_of(kind: type) -> Any:
    return type.__dict__["__dict__"].__get__(kind)


def name_of(kind: type) -> str:
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def module_of(kind: type) -> str:
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def in_class(kind: type, name: str) -> list[Any]:
    """What the class has under `name`: nothing, or one value."""
    for base in mro_of(kind):
        names = names_of(base)
        if name in names:
            return [names[name]]
    return []


def attributes_of(value: Any) -> dict[str, Any]:
    """The dictionary with the attributes of an object, {} without one; no `__getattribute__` of the program is called."""
    for descriptor in in_class(type(value), "__dict__"):
        if kind_of(descriptor) in DATA_DESCRIPTORS:
            names = descriptor.__get__(value)
            if type(names) is dict:
                return names
            if issubclass(type(names), dict):
                return dict.copy(names)
    return {}


def is_torch_shape(value: Any) -> bool:
    return is_torch_size(value) and name_of(type(value)) == "Size"


def is_torch_size(value: Any) -> bool:
    kind = type(value)
    torch = names_of_module("torch")
    return any(kind is torch.get(name) for name in _OF_TORCH)


def text_of(key: Any) -> str:
    return key if type(key) is str else ""


def names_of_module(name: str) -> dict[str, Any]:
    """The names of a module, {} if the program hasn't imported it."""
    return attributes_of(sys.modules.get(name))


def is_array(value: Any) -> bool:
    """Whether `value` is a tensor or array in the memory of the CPU: one of a GPU may wait for the hung GPU."""
    kind = type(value)
    if kind_of(value) in SCALARS:
        return False
    if not is_heap_type(kind):
        # Of an array of objects the items run code.
        return is_ndarray(kind) and not value.dtype.hasobject
    return is_tensor(kind) and str(value.device) == "cpu"


def is_ndarray(kind: type) -> bool:
    is_numpys = (module_of(kind), name_of(kind)) == ("numpy", "ndarray")
    return is_numpys and not is_heap_type(kind)


def is_tensor(kind: type) -> bool:
    return kind is names_of_module("torch").get("Tensor") or kind is names_of_module(
        "torch.nn.parameter"
    ).get("Parameter")


def of_exception(error: BaseException, name: str) -> Any:
    """What Python itself has of an exception, whose class may have its own."""
    return BaseException.__dict__[name].__get__(error)


def first_of(items: Any, count: int) -> list[Any]:
    """A copy of the first items, in one step, so that no other thread changes them meanwhile."""
    return list(itertools.islice(items, count))
