"""Attributes of objects and classes, read without running code of the program."""

from __future__ import annotations

import _collections  # type: ignore[import-not-found]
import types

from .arrays import Array, array_of, is_array
from .limits import Refused
from .memory import of_tensor
from .objects import (
    attributes_of,
    in_class,
    is_heap_type,
    is_torch_size,
    kind_of,
    module_of,
    mro_of,
    name_of,
    named,
    of_module,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

METHODS = (
    types.FunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
# Parts of the memory of an object: slots, and parts of named tuples.
_PARTS = (types.MemberDescriptorType, _collections._tuplegetter)
# Attributes that C computes are read for these classes only: others may follow a pointer that is no longer valid
# (`c_char_p.value`), ask an object of the program (`BufferedReader.name`), wait, or print a warning.
_COMPUTED = {
    **dict.fromkeys((int, bool, float, complex), ("real", "imag", "numerator", "denominator")),
    types.FunctionType: ("__code__", "__defaults__", "__kwdefaults__", "__name__", "__qualname__"),
    types.BuiltinFunctionType: ("__name__", "__self__"),
    types.CodeType: ("co_code", "co_varnames", "co_cellvars", "co_freevars"),
    types.FrameType: ("f_lineno", "f_code", "f_back", "f_globals", "f_builtins", "f_trace"),
    types.GeneratorType: ("gi_running", "gi_frame", "gi_code", "gi_yieldfrom", "__name__"),
    types.CoroutineType: ("cr_running", "cr_frame", "cr_code", "cr_await", "__name__"),
    types.AsyncGeneratorType: ("ag_running", "ag_frame", "ag_code", "ag_await", "__name__"),
    types.CellType: (),
    memoryview: ("nbytes", "itemsize", "shape", "strides", "ndim", "format", "readonly"),
    _collections.deque: ("maxlen",),
    type: ("__name__", "__qualname__", "__module__", "__bases__", "__mro__", "__base__"),
    object: ("__class__",),
}
_OF_DATES = ("year", "month", "day", "hour", "minute", "second", "microsecond", "tzinfo", "fold")
_OF_TORCH_SIZES = ("type", "index", "itemsize", "is_floating_point", "is_complex", "is_signed")
_OF_TENSORS = ("requires_grad", "is_leaf", "layout", "is_cuda", "is_sparse", "_version")


def attribute(owner: Any, name: str) -> Any:
    """The attribute without running code of the program: a property in Python is refused.

    1. What is known of tensors and arrays.  2. What is in memory of C, such as slots.  3. The dictionary of the object, and
    the parts of a module of PyTorch.  4. What the class has.
    """
    kind = type(owner)
    if is_array(owner):
        for value in _of_array(owner, name):
            return value
    if issubclass(kind, type):
        return _attribute_of_class(owner, name)
    values = attributes_of(owner)
    if name == "__dict__":
        return values
    of_class = in_class(kind, name)
    for value in of_class:
        if kind_of(value) in _PARTS or kind_of(value) is types.GetSetDescriptorType:
            return _read(value, owner, name)
        if name in ("name", "value") and is_enum(kind):
            for entry in named(values, f"_{name}_"):
                return entry
        if has_method(value, "__set__") or has_method(value, "__delete__"):
            raise Refused(f".{name} is a property, which runs code of {name_of(kind)}")
    for part in (None, "_parameters", "_buffers", "_modules"):
        for names in [values] if part is None else named(values, part):
            for value in named(names, name) if issubclass(type(names), dict) else ():
                return value
    for value in of_class:
        return _bound(value, owner, kind, name)
    is_module = issubclass(kind, types.ModuleType)
    if _has_own_lookup(kind) or (is_module and named(values, "__getattr__")):
        raise Refused(f".{name} runs code of {name_of(kind)}")
    raise AttributeError(f"{name_of(kind)!r} object has no attribute {name!r}")


def _has_own_lookup(kind: type) -> bool:
    """Whether the class has other code for attributes than Python's own, which reads the dictionaries."""
    if any(base is super for base in mro_of(kind)) or in_class(kind, "__getattr__"):
        return True
    for value in in_class(kind, "__getattribute__"):
        is_c = kind_of(value) is types.WrapperDescriptorType
        return not is_c or module_of(value.__objclass__) != "builtins"
    return True


def _of_array(owner: Any, name: str) -> list[Any]:
    """An attribute of a tensor or array, or nothing if it isn't one that is known."""
    array = array_of(owner)
    if name in ("T", "mT"):
        first = 0 if name == "T" else len(array.shape) - 2
        shape, strides = (
            (*each[:first], *reversed(each[first:])) for each in (array.shape, array.strides)
        )
        return [array.view(shape, strides)]
    if name == "dtype":
        entry = of_module("torch", array.dtype) if array.is_torch else []
        return entry if entry and is_torch_size(entry[0]) else [array.dtype]
    values = {
        "shape": array.shape,
        "ndim": len(array.shape),
        "itemsize": array.size,
        "nbytes": array.count * array.size,
    }
    if array.is_torch:
        values.update(device=array.device, data=array)
    else:
        values.update(size=array.count)
        if name == "strides":
            return [array.steps()]
    if name in values:
        return [values[name]]
    if array.is_torch and type(owner) is not Array:
        if name == "grad":
            if not of_tensor(owner, "is_leaf") and not of_tensor(owner, "retains_grad"):
                raise Refused(".grad of a tensor that isn't a leaf prints a warning")
            return [of_tensor(owner, "grad")]
        if name in _OF_TENSORS:
            return [of_tensor(owner, name)]
    if type(owner) is Array:
        raise Refused(f".{name} of a part of an array isn't known here")
    return []


def _read(descriptor: Any, owner: Any, name: str) -> Any:
    """Returns what a descriptor of C reads, if it reads the object alone."""
    if kind_of(descriptor) in _PARTS or _is_computed(descriptor.__objclass__, name):
        return descriptor.__get__(owner, type(owner))
    raise Refused(f".{name} runs code of {name_of(type(owner))}")


def _is_computed(kind: type, name: str) -> bool:
    if any(name in names for each, names in _COMPUTED.items() if each is kind):
        return True
    if is_heap_type(kind):
        return False
    return (
        (module_of(kind) == "datetime" and name in _OF_DATES)
        or (module_of(kind) == "torch" and name in _OF_TORCH_SIZES)
        or (module_of(kind) == "builtins" and issubclass(kind, BaseException))
    )


def is_enum(kind: type) -> bool:
    return any(base is enum for enum in of_module("enum", "Enum") for base in mro_of(kind))


def _attribute_of_class(owner: type, name: str) -> Any:
    own = in_class(owner, name)
    if own and is_enum(owner):
        for members in in_class(owner, "_member_map_"):
            for member in named(members, name) if issubclass(type(members), dict) else ():
                return member
    for value in own or in_class(type(owner), name):
        if not own and kind_of(value) in (*_PARTS, types.GetSetDescriptorType):
            return _read(value, owner, name)
        is_descriptor = kind_of(value) in (*METHODS, *_PARTS, types.GetSetDescriptorType)
        if own and (is_descriptor or type(value) is property):
            return value
        return _bound(value, None if own else owner, owner, name)
    if _has_own_lookup(type(owner)):
        raise Refused(f".{name} runs code of {name_of(type(owner))}")
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
