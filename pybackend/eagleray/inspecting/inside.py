"""What runs inside the inspected process: a thread that answers questions about stacks, variables and expressions.

This file is executed as it is in the process, so it needs only the standard library of Python 3.9 and imports nothing of
ours.  The program isn't stopped: a thread that waits in C has given up the GIL, and its frames stand still.  The thread
answers only its own user, and ends when nobody has asked for `IDLE_S`.
"""

from __future__ import annotations

import _thread
import ast
import collections
import contextlib
import gc
import hashlib
import itertools
import json
import math
import operator
import os
import signal
import socket
import struct
import sys
import types

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

IDLE_S = 120.0
LONGEST_LINE = 1_000_000
LONGEST_VALUE = 400
# So many numbers of a tensor are listed, and so many summed up: torch starts threads for 32,768 and more (2.13).
FEW_NUMBERS, MANY_NUMBERS = 16, 30_000
MOST_ITEMS = 20
MOST_CHILDREN = 200
# More than anyone expands by hand; each is held in the memory of the program.
MOST_VALUES = 20_000
LONGEST_SOURCE = 2 * 2**20
# What an expression may make in the memory of the program: items, and bytes of an array.
MOST_MADE = 1_000_000
MOST_BYTES = 64 * 2**20
LONGEST_ITEMS = 4000
_MOST_BITS = 10_000
_MOST_DIGITS = 400
# In `__flags__`: a class made by Python, as that of the program may be.
_HEAP_TYPE = 1 << 9
_CO_OPTIMIZED = 0x1
# The variable, the frame, and the argument of `getrefcount`.
_OURS_AND_THE_FRAMES = 3
_DEBUGGERS = frozenset(("bdb", "pydevd"))
# Of the code that stops a thread, whose frames are ours.
STOP_FILE = "<eagleray stop>"
# Its names, once it is there.
_STOPPING: dict[str, Any] = {}
MOST_EXCEPTIONS = 50
MOST_CAUSES = 5
MOST_FRAMES = 40
# Of an event loop: tasks that are read, and kinds of them that are told apart.
MOST_TASKS = 5000
MOST_CHAINS = 50
MOST_NAMES = 5
# Of the flight recorder of PyTorch, the newest.
MOST_COLLECTIVES = 100
MOST_GROUPS = 200

_BINARY: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_UNARY: dict[type, Callable[[Any], Any]] = {
    ast.Not: operator.not_,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Invert: operator.invert,
}
_COMPARISONS: dict[type, Callable[[Any, Any], Any]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(abs, all, any, bool, enumerate, float, id, int, isinstance, len, list),
        *(max, min, round, set, sorted, sum, tuple, dict, type, zip),
    )
}
# Those that go through all items.
_THROUGH_ITEMS = frozenset(
    (
        "all",
        "any",
        "dict",
        "enumerate",
        "list",
        "max",
        "min",
        "set",
        "sorted",
        "sum",
        "tuple",
        "zip",
    )
)
# By which `sorted` and others may compare.
_KEYS = (int, float, bool, abs, len)
_SCALARS = (int, float, complex, bool, str, bytes, type(None), type, range, slice)
_CONTAINERS = (list, tuple, dict, set, frozenset, collections.OrderedDict, collections.deque)
_SEQUENCES = (str, bytes, list, tuple, collections.deque)
_OF_TORCH = ("Size", "dtype", "device")
_Pair = collections.namedtuple("_Pair", "x")
# Of classes of C, and of Python itself: reading them runs no code of the program.
_DATA_DESCRIPTORS = (types.MemberDescriptorType, types.GetSetDescriptorType, type(_Pair.x))
_METHODS = (
    types.FunctionType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.ClassMethodDescriptorType,
)
_PLAIN_METHODS = (
    "keys",
    "values",
    "items",
    "get",
    "count",
    "index",
    "startswith",
    "endswith",
    "split",
    "strip",
)
# They return an array as large as theirs, or its numbers.
_MAKING_METHODS = ("abs", "isnan", "isinf", "unique", "tolist")
_TENSOR_METHODS = [
    "size",
    "dim",
    "numel",
    "item",
    "sum",
    "mean",
    "std",
    "min",
    "max",
    "abs",
    "norm",
    "isnan",
    "isinf",
    "any",
    "all",
    "tolist",
    "element_size",
    "stride",
    "is_contiguous",
    "argmax",
    "argmin",
    "unique",
]


class Refused(Exception):
    """An expression that might change the program, or wait for it."""


class FrameEnded(Exception):
    """The thread has returned from the frame since it was listed."""


def evaluate(expression: str, global_names: dict[str, Any], local_names: dict[str, Any]) -> Any:
    """The value of `expression`, of what can neither change the program nor wait for a GPU or for other ranks.

    Raises Refused for anything else, SyntaxError, and what the expression itself raises.
    """
    return _Evaluation(global_names, local_names).value(ast.parse(expression, mode="eval").body)


class _Evaluation:
    def __init__(self, global_names: dict[str, Any], local_names: dict[str, Any]) -> None:
        self.global_names = global_names
        self.local_names = local_names

    def value(self, node: ast.AST) -> Any:
        method = getattr(self, "_" + type(node).__name__.lower(), None)
        if method is None:
            raise Refused(f"{type(node).__name__} may change the program")
        return method(node)

    def _constant(self, node: ast.Constant) -> Any:
        return node.value

    def _name(self, node: ast.Name) -> Any:
        for names in (self.local_names, self.global_names):
            # The dictionary may be of a class of the program.
            if dict.__contains__(names, node.id):
                return dict.__getitem__(names, node.id)
        builtin = _FUNCTIONS.get(node.id)
        if builtin is None:
            raise NameError(f"name {node.id!r} is not defined")
        return builtin

    def _attribute(self, node: ast.Attribute) -> Any:
        return attribute(self.value(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        items, index = self.value(node.value), _operand(self.value(node.slice))
        # A subclass of dict may have its own way, and a defaultdict would get another item.
        if _kind(items) in (dict, collections.OrderedDict):
            return _looked_up(items, index)
        if is_array(items):
            _check_index(items, index)
        elif _kind(items) in (str, bytes, *_CONTAINERS) or is_torch_size(items):
            if type(index) is slice:
                _check_made(len(range(*index.indices(len(items)))))
        else:
            raise Refused(f"Indexing a {_name_of(type(items))} runs its code")
        return items[index]

    def _slice(self, node: ast.Slice) -> slice:
        parts = (node.lower, node.upper, node.step)
        return slice(*(self.value(part) if part else None for part in parts))

    def _index(self, node: Any) -> Any:
        return self.value(node.value)

    def _tuple(self, node: ast.Tuple) -> Any:
        return tuple(self.value(item) for item in node.elts)

    def _list(self, node: ast.List) -> Any:
        return [self.value(item) for item in node.elts]

    def _binop(self, node: ast.BinOp) -> Any:
        function = _BINARY.get(type(node.op))
        if function is None:
            raise Refused(f"{type(node.op).__name__} isn't allowed")
        left, right = _operand(self.value(node.left)), _operand(self.value(node.right))
        _check_operation(node.op, left, right)
        return function(left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = _operand(self.value(node.operand))
        _check_arrays(value)
        return _UNARY[type(node.op)](value)

    def _boolop(self, node: ast.BoolOp) -> Any:
        stops_at = isinstance(node.op, ast.Or)
        value = None
        for item in node.values:
            value = _operand(self.value(item))
            if bool(value) is stops_at:
                break
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for comparison, item in zip(node.ops, node.comparators):
            right = self.value(item)
            if isinstance(comparison, (ast.In, ast.NotIn)):
                result = _contains(right, _operand(left)) is isinstance(comparison, ast.In)
            elif isinstance(comparison, (ast.Is, ast.IsNot)):
                result = _COMPARISONS[type(comparison)](left, right)
            else:
                _check_arrays(_operand(left), _operand(right))
                result = _COMPARISONS[type(comparison)](left, right)
            if isinstance(result, bool) and not result:
                return False
            left = right
        return result

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if _operand(self.value(node.test)) else node.orelse)

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, self.value(node.func.value), node.func.attr)
        if isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
            return described(self.value(node.args[0]))
        function = self.value(node.func)
        if not any(function is allowed for allowed in _FUNCTIONS.values()):
            raise Refused("Calling this function may change the program or wait")
        if function in (type, id, isinstance, len):
            return _read_function(function, list(map(self.value, node.args)), node.keywords)
        positional, named = self._arguments(node)
        _check_call(function.__name__, positional, named)
        return function(*positional, **named)

    def _method(self, node: ast.Call, owner: Any, name: str) -> Any:
        kind = _kind(owner)
        if is_array(owner) and name in _TENSOR_METHODS:
            positional, named = self._arguments(node)
            # One would be written to, as `out`.
            if any(is_array(value) for value in _parts((positional, *named.values()))):
                raise Refused(f"{name}() of arrays may change them")
            if name in _MAKING_METHODS:
                _check_arrays(owner)
            if name == "tolist":
                _check_made(math.prod(owner.shape))
            return getattr(owner, name)(*positional, **named)
        if kind not in (str, bytes, *_CONTAINERS) or name not in _PLAIN_METHODS:
            raise Refused(f"Calling {name}() may change the program or wait")
        positional, named = self._arguments(node)
        if name == "get" and positional and not named:
            default = positional[1] if len(positional) > 1 else None
            return _looked_up(owner, positional[0], [default])
        if name in ("count", "index"):
            _operand(owner)
        if name == "split":
            _check_made(len(owner))
        return getattr(owner, name)(*positional, **named)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        if any(part.arg is None for part in node.keywords):
            raise Refused("** isn't allowed")
        positional = [_operand(self.value(argument)) for argument in node.args]
        named = {str(part.arg): self.value(part.value) for part in node.keywords}
        for value in named.values():
            if not any(value is key for key in _KEYS):
                _operand(value)
        return positional, named


class _OfAnotherKind:
    """Stands for classes that have a class of their own."""


def _kind(value: Any) -> type:
    """The class of `value`, which may be compared: a class of classes may have its own `__eq__`."""
    kind = type(value)
    return kind if type(kind) is type else _OfAnotherKind


def _operand(value: Any, depth: int = 0) -> Any:
    """`value`, if operators and functions on it run no code of the program.  Raises Refused."""
    kind = _kind(value)
    if kind is slice:
        ends = (value.start, value.stop, value.step)
        if not all(end is None or _is_number(end) for end in ends):
            raise Refused("A slice of objects runs their code")
        return value
    if kind in _SCALARS or is_array(value) or is_torch_size(value) or _is_numpy_scalar(kind):
        return value
    if kind in _CONTAINERS and depth < 4:
        parts = [*value, *value.values()] if isinstance(value, dict) else value
        for part in parts:
            _operand(part, depth + 1)
        return value
    raise Refused(f"An operation on a {_name_of(type(value))} may run its code, or wait for a GPU")


def _is_number(value: Any) -> bool:
    kind = _kind(value)
    return kind is int or kind is bool or _is_numpy_scalar(kind)


def _is_numpy_scalar(kind: type) -> bool:
    """Whether it is a class of numpy's own, whose values are numbers; one of the program may claim to be."""
    return (
        not _is_heap_type(kind)
        and any(_name_of(base) == "generic" for base in _mro(kind))
        and _name_of(kind) not in ("void", "object_", "object")
    )


def _looked_up(items: Any, key: Any, default: list[Any] | None = None) -> Any:
    """The value of `key`, or the only value of `default`; keys of the program's classes aren't compared.

    Python compares them if they have the same hash, which numbers and classes of a program may have.
    """
    if _kind(items) not in (dict, collections.OrderedDict):
        raise Refused(f"Indexing a {_name_of(type(items))} runs its code")
    for each, value in items.items():
        if _is_same(each, key):
            return value
    if default is None:
        raise KeyError(key)
    return default[0]


def _is_same(item: Any, key: Any) -> bool:
    """Whether an item of a dictionary or set is `key`, whose parts are operands."""
    if item is key:
        return True
    kinds = _kind(item), _kind(key)
    if str in kinds or bytes in kinds:
        return kinds[0] is kinds[1] and bool(item == key)
    try:
        # Of other types, too: 1, 1.0 and True are the same.
        return not is_array(item) and bool(_operand(item) == key)
    except Refused:
        return False


def _contains(items: Any, item: Any) -> bool:
    if _kind(items) in (dict, collections.OrderedDict, set, frozenset):
        return any(_is_same(each, item) for each in list(items))
    if type(items) is range and _kind(item) not in (int, bool):
        raise Refused("Only numbers without a fraction are compared with a range")
    _check_arrays(_operand(items), item)
    return bool(item in items)


def _read_function(function: Any, values: list[Any], named: list[ast.keyword]) -> Any:
    """The result of a function that takes any object, without asking that itself."""
    if named or len(values) != (2 if function is isinstance else 1):
        raise Refused(f"{function.__name__}() with these arguments may run code of the program")
    value = values[0]
    if function is isinstance:
        return _is_instance(value, values[1])
    if function is len and not _has_own_length(value):
        raise Refused(f"len() of a {_name_of(type(value))} runs its code")
    return function(value)


def _has_own_length(value: Any) -> bool:
    """Whether Python itself or a library of arrays tells the length."""
    for length in _of_class(type(value), "__len__"):
        if type(length) is types.WrapperDescriptorType:
            owner = length.__objclass__
            return _module_of(owner) in ("builtins", "collections") or _is_ndarray(owner)
    return _is_tensor(type(value))


def _is_instance(value: Any, classes: Any) -> bool:
    if type(classes) is tuple:
        return any(_is_instance(value, each) for each in classes)
    if not issubclass(type(classes), type):
        raise TypeError("isinstance() needs a class")
    if any("__instancecheck__" in _names_of(base) for base in _mro(type(classes))[:-2]):
        raise Refused(f"isinstance() with {_name_of(classes)} runs its code")
    return any(base is classes for base in _mro(type(value)))


def _check_call(name: str, positional: list[Any], named: dict[str, Any]) -> None:
    """Raises Refused for what would run a function of the program, or take very long."""
    if "key" in named and not any(named["key"] is key for key in _KEYS):
        raise Refused("A key runs code of the program")
    if any(type(value) is type for value in positional):
        raise Refused("Calling this function with a class may run its code")
    values = (*positional, *named.values())
    _check_arrays(*values)
    if name in _THROUGH_ITEMS:
        for value in values:
            if not is_array(value):
                _check_made(len(value) if _kind(value) in (range, *_SEQUENCES, *_CONTAINERS) else 0)
            elif value.shape:
                _check_made(value.shape[0])
    if name == "sum" and any(_kind(value) in _CONTAINERS for value in values[1:]):
        raise Refused("sum() of lists may take very long")
    for value in values:
        if name == "int" and _kind(value) in (str, bytes) and len(value) > _MOST_DIGITS:
            raise Refused("Numbers with this many digits take very long")
        if name == "round" and type(value) is int and value < -_MOST_DIGITS:
            raise Refused("Numbers with this many digits take very long")


def _check_operation(operator_node: ast.operator, left: Any, right: Any) -> None:
    """Raises Refused if the result may be large."""
    _check_arrays(left, right)
    if isinstance(operator_node, ast.Mod) and _kind(left) in (str, bytes):
        raise Refused("Formatting isn't allowed")
    if any(is_array(value) for value in (left, right)):
        if any(_kind(value) in _CONTAINERS for value in (left, right)):
            raise Refused("An operation on an array and a list isn't allowed")
        return
    sizes = [
        len(value) if _kind(value) in (*_SEQUENCES, *_CONTAINERS) or _is_size(value) else 0
        for value in (left, right)
    ]
    if isinstance(operator_node, ast.Mult):
        for size, times in ((sizes[0], right), (sizes[1], left)):
            if size and (_kind(times) in (int, bool) or _is_numpy_scalar(type(times))):
                _check_made(size * int(times))
        if type(left) is int and type(right) is int:
            _check_bits(left.bit_length() + right.bit_length())
    else:
        _check_made(sum(sizes))


def _check_made(items: int) -> None:
    if items > MOST_MADE:
        raise Refused(f"This would go through {items:,} items in the program")


def _check_bits(bits: int) -> None:
    if bits > 10 * _MOST_BITS:
        raise Refused("Numbers with this many digits take very long")


def _check_arrays(*values: Any) -> None:
    """Raises Refused if arrays in `values` are together larger than what may be made of them."""
    arrays = [value for value in _parts(values) if is_array(value)]
    if not arrays:
        return
    rank = max(len(array.shape) for array in arrays)
    shapes = [(1,) * (rank - len(array.shape)) + tuple(array.shape) for array in arrays]
    count = math.prod(max(sizes) for sizes in zip(*shapes)) if rank else 1
    if count * max(array.dtype.itemsize for array in arrays) > MOST_BYTES:
        raise Refused("The result would need much memory of the program")


def _check_index(array: Any, index: Any) -> None:
    """Raises Refused if a copy of the indexed items may be large; without one it is a view."""
    chosen = 0
    for part in _parts((index,)):
        if is_array(part):
            chosen += math.prod(part.shape)
    parts = index if type(index) is tuple else (index,)
    chosen += sum(len(part) for part in parts if _kind(part) in (list, *_CONTAINERS))
    rows = array.shape[0] if array.shape else 1
    row = math.prod(array.shape) * array.dtype.itemsize // max(1, rows)
    if chosen * row > MOST_BYTES:
        raise Refused("The result would need much memory of the program")


def _parts(values: Any) -> Iterator[Any]:
    """The operands in `values`, and in containers among them."""
    for value in values:
        if _kind(value) in _CONTAINERS:
            yield from _parts([*value, *value.values()] if isinstance(value, dict) else value)
        else:
            yield value


def _is_heap_type(kind: type) -> bool:
    """Whether Python made the class, as it makes those of the program."""
    return bool(type.__dict__["__flags__"].__get__(kind) & _HEAP_TYPE)


def _mro(kind: type) -> tuple[type, ...]:
    """The class and its bases; the class of the class may be one of the program."""
    mro: tuple[type, ...] = type.__dict__["__mro__"].__get__(kind)
    return mro


def _names_of(kind: type) -> Any:
    return type.__dict__["__dict__"].__get__(kind)


def _name_of(kind: type) -> str:
    name: str = type.__dict__["__name__"].__get__(kind)
    return name


def _module_of(kind: type) -> str:
    try:
        module = type.__dict__["__module__"].__get__(kind)
    except AttributeError:
        return ""
    return module if type(module) is str else ""


def _of_class(kind: type, name: str) -> list[Any]:
    """What the class has under `name`: nothing, or one value."""
    for base in _mro(kind):
        names = _names_of(base)
        if name in names:
            return [names[name]]
    return []


def attributes_of(value: Any) -> dict[str, Any]:
    """The dictionary with the attributes of an object, {} without one; no `__getattribute__` of the program is called."""
    for descriptor in _of_class(type(value), "__dict__"):
        if _kind(descriptor) in _DATA_DESCRIPTORS:
            names = descriptor.__get__(value)
            if type(names) is dict:
                return names
            if issubclass(type(names), dict):
                return dict.copy(names)
    return {}


def _is_size(value: Any) -> bool:
    return is_torch_size(value) and _name_of(type(value)) == "Size"


def is_torch_size(value: Any) -> bool:
    kind = type(value)
    torch = _module("torch")
    return any(kind is torch.get(name) for name in _OF_TORCH)


def attribute(owner: Any, name: str) -> Any:
    """The attribute without running code of the program: a property in Python is refused.

    1. What is in memory of C, such as slots.  2. The dictionary of the object, and the parts of a module of PyTorch.
    3. What the class has.
    """
    kind = type(owner)
    if issubclass(kind, type):
        return _attribute_of_class(owner, name)
    of_class = _of_class(kind, name)
    values = attributes_of(owner)
    for value in of_class:
        if _kind(value) in _DATA_DESCRIPTORS:
            return value.__get__(owner, kind)
        if name in ("name", "value") and _is_enum(kind):
            return values[f"_{name}_"]
        if _has(value, "__set__") or _has(value, "__delete__"):
            raise Refused(f".{name} is a property, which runs code of {_name_of(kind)}")
    for named in (values, *(values.get(part) for part in ("_parameters", "_buffers", "_modules"))):
        if _kind(named) in (dict, collections.OrderedDict) and name in map(
            _text, list(named or ())
        ):
            return _looked_up(named, name)
    for value in of_class:
        return _bound(value, owner, kind, name)
    raise AttributeError(f"{_name_of(kind)!r} object has no attribute {name!r}")


def _is_enum(kind: type) -> bool:
    enum = _module("enum").get("Enum")
    return any(base is enum for base in _mro(kind))


def _attribute_of_class(owner: type, name: str) -> Any:
    own = _of_class(owner, name)
    if own and _is_enum(owner):
        for members in _of_class(owner, "_member_map_"):
            if type(members) is dict and name in members:
                return members[name]
    for value in own or _of_class(type(owner), name):
        if not own and _kind(value) in _DATA_DESCRIPTORS:
            return value.__get__(owner)
        if own and (_kind(value) in (*_METHODS, *_DATA_DESCRIPTORS) or type(value) is property):
            return value
        return _bound(value, None if own else owner, owner, name)
    raise AttributeError(f"type object {_name_of(owner)!r} has no attribute {name!r}")


def _bound(value: Any, owner: Any, kind: type, name: str) -> Any:
    """A value of a class as it is for an object, or for the class without one."""
    if type(value) is staticmethod:
        return value.__func__
    if type(value) is classmethod:
        return types.MethodType(value.__func__, kind)
    if _kind(value) in _METHODS:
        return value.__get__(owner, kind)
    if _has(value, "__get__"):
        raise Refused(f".{name} runs code of {_name_of(kind)}")
    return value


def _has(value: Any, name: str) -> bool:
    return bool(_of_class(type(value), name))


def _text(key: Any) -> str:
    return key if type(key) is str else ""


def _module(name: str) -> dict[str, Any]:
    """The names of a module, {} if the program hasn't imported it."""
    return attributes_of(sys.modules.get(name))


def is_array(value: Any) -> bool:
    """Whether `value` is a tensor or array in the memory of the CPU: one of a GPU may wait for the hung GPU."""
    kind = type(value)
    if _kind(value) in _SCALARS:
        return False
    if not _is_heap_type(kind):
        # Of an array of objects the items run code.
        return _is_ndarray(kind) and not value.dtype.hasobject
    return _is_tensor(kind) and str(value.device) == "cpu"


def _is_ndarray(kind: type) -> bool:
    is_numpys = (_module_of(kind), _name_of(kind)) == ("numpy", "ndarray")
    return is_numpys and not _is_heap_type(kind)


def _is_tensor(kind: type) -> bool:
    return kind is _module("torch").get("Tensor") or kind is _module("torch.nn.parameter").get(
        "Parameter"
    )


def described(value: Any, depth: int = 0) -> str:
    """`value` on one line; the `__repr__` of the program's own classes is not called."""
    kind, of_python = type(value), _kind(value)
    if kind is int and value.bit_length() > _MOST_BITS:
        return f"<int of {value.bit_length()} bits>"
    if of_python in (int, float, complex, bool, type(None)):
        return repr(value)
    if of_python in (str, bytes):
        return repr(value if len(value) <= LONGEST_VALUE else value[:LONGEST_VALUE]) + (
            "…" if len(value) > LONGEST_VALUE else ""
        )
    if _is_tensor(kind) or _is_ndarray(kind):
        return _array(value)
    if is_torch_size(value):
        return str(tuple(value)) if _is_size(value) else str(value)
    if _is_numpy_scalar(kind):
        return described(value.item())
    if of_python in (list, tuple, set, frozenset, dict):
        return _items(value, depth)
    # Not `isinstance`, which asks the object for its class.
    if issubclass(kind, BaseException):
        parts = _of_exception(value, "args")
        return f"{_name_of(kind)}({', '.join(described(part, depth + 1) for part in parts)})"
    if issubclass(kind, type):
        return f"<{_name_of(kind)} {type.__dict__['__qualname__'].__get__(value)}>"
    if issubclass(kind, types.ModuleType):
        return f"<{_name_of(kind)} {attributes_of(value).get('__name__', '')!s:.{LONGEST_VALUE}}>"
    if of_python in (types.FunctionType, types.BuiltinFunctionType):
        return f"<{kind.__name__} {value.__qualname__}>"
    qualified = type.__dict__["__qualname__"].__get__(kind)
    return f"<{_module_of(kind)}.{qualified} at {id(value):#x}>"


def _of_exception(error: BaseException, name: str) -> Any:
    """What Python itself has of an exception, whose class may have its own."""
    return BaseException.__dict__[name].__get__(error)


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
    for item in _first(value.items() if type(value) is dict else value, MOST_ITEMS):
        if sum(map(len, parts)) > LONGEST_ITEMS:
            break
        if type(value) is dict:
            parts.append(f"{described(item[0], depth + 1)}: {described(item[1], depth + 1)}")
        else:
            parts.append(described(item, depth + 1))
    more = ", …" if len(value) > len(parts) else ""
    return f"{brackets[0]}{', '.join(parts)}{more}{brackets[1]}"


def _first(items: Any, count: int) -> list[Any]:
    """A copy of the first items, in one step, so that no other thread changes them meanwhile."""
    return list(itertools.islice(items, count))


class Answers:
    """Answers the questions of one client.

    Values that it has been told of keep their number, and stay in the memory of the program, until it says `forget` or is
    gone.  A thread that it has stopped is released when it is gone.
    """

    def __init__(self) -> None:
        self._values: list[Any] = []
        self._stop: Any = None

    def close(self) -> None:
        if self._stop is not None:
            self._stop.release()
            self._stop = None

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        try:
            answer: dict[str, Any] = getattr(self, "on_" + question["op"])(question)
            return answer
        except Refused as refused:
            return {"error": str(refused), "refused": True}
        except FrameEnded as ended:
            return {"error": str(ended), "ended": True}
        except BaseException as error:
            return {"error": f"{type(error).__name__}: {error}"[:LONGEST_VALUE]}

    def on_threads(self, _question: dict[str, Any]) -> dict[str, Any]:
        names = _thread_names()
        main = main_ident()
        own = _thread.get_ident()
        exceptions = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
        return {
            "threads": [
                {
                    "id": ident,
                    "name": names.get(ident, ""),
                    "is_main": ident == main,
                    "exception": _exception(exceptions.get(ident)),
                    "stack": [_frame(frame) for frame in _frames(top)],
                }
                for ident, top in sys._current_frames().items()
                if ident != own and not _is_own(top)
            ]
        }

    def on_variables(self, question: dict[str, Any]) -> dict[str, Any]:
        """The local variables of a frame, or its global ones, those with data first."""
        frame = _frame_at(question)
        if question.get("scope") == "globals":
            names = _data_first(frame.f_globals)
        else:
            names = list(_locals(frame).items())
        return {"variables": [self._variable(name, value) for name, value in names]}

    def on_forget(self, _question: dict[str, Any]) -> dict[str, Any]:
        self._values.clear()
        return {}

    def on_source(self, question: dict[str, Any]) -> dict[str, Any]:
        """The text of a file whose code runs in some thread, as this process sees it."""
        path = question["path"]
        tops = sys._current_frames().values()
        if not any(frame.f_code.co_filename == path for top in tops for frame in _frames(top)):
            raise FrameEnded("No thread runs code of this file any more")
        with open(path, "rb") as file:
            content = file.read(LONGEST_SOURCE)
        return {
            "text": content.decode("utf-8", "replace"),
            "sha256": hashlib.sha256(content).hexdigest(),
        }

    def on_children(self, question: dict[str, Any]) -> dict[str, Any]:
        value = self._values[question["reference"] - 1]
        return {
            "variables": [self._variable(name, child) for name, child in children(value)],
            "access": _access(value),
        }

    def on_evaluate(self, question: dict[str, Any]) -> dict[str, Any]:
        frame = _frame_at(question)
        expression, names = question["expression"], _locals(frame)
        if question.get("allow_all"):
            value = eval(expression, frame.f_globals, names)  # noqa: S307 -- the user has allowed it
        else:
            value = evaluate(expression, frame.f_globals, names)
        return self._variable(expression, value)

    def on_stop(self, question: dict[str, Any]) -> dict[str, Any]:
        """Stops a thread, by default the main thread, at its next line of Python code; `code` is that of `stopping.py`."""
        self.close()
        if not _STOPPING:
            _STOPPING["__name__"] = "eagleray_stop"
            exec(compile(question["code"], STOP_FILE, "exec"), _STOPPING)  # noqa: S102 -- our own code
        stop = _STOPPING["ThreadStop"](question.get("thread") or main_ident())
        stop.begin()
        self._stop = stop
        return self.on_stop_state(question)

    def on_stop_state(self, _question: dict[str, Any]) -> dict[str, Any]:
        """Whether the thread is `stopped`, and whether the stop is `pending`: neither means that it is released."""
        if self._stop is None:
            return {"stopped": False, "pending": False}
        state: dict[str, Any] = self._stop.state()
        return state

    def on_step(self, question: dict[str, Any]) -> dict[str, Any]:
        """Lets the stopped thread run to its next line: `kind` is "over", "in" or "out"."""
        if self._stop is None:
            return {"stopped": False, "pending": False}
        self._stop.step(question["kind"], question.get("skipped", ""))
        return self.on_stop_state(question)

    def on_release(self, _question: dict[str, Any]) -> dict[str, Any]:
        self.close()
        return {}

    def on_exceptions(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"exceptions": held_exceptions()}

    def on_awaits(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"awaits": awaits()}

    def on_collectives(self, _question: dict[str, Any]) -> dict[str, Any]:
        return {"record": flight_record()}

    def _variable(self, name: str, value: Any) -> dict[str, Any]:
        has_children = next(iter(children(value)), None) is not None
        has_children = has_children and len(self._values) < MOST_VALUES
        if has_children:
            self._values.append(value)
        return {
            "name": name,
            "value": described(value),
            "type": type.__dict__["__qualname__"].__get__(type(value)),
            "reference": len(self._values) if has_children else 0,
        }


def children(value: Any) -> list[tuple[str, Any]]:
    """What `value` consists of, by name: items, or attributes that are no properties."""
    kind = type(value)
    if kind is dict:
        return [(described(key), item) for key, item in _first(value.items(), MOST_CHILDREN)]
    if _kind(value) in (list, tuple, set, frozenset):
        return [(str(index), item) for index, item in enumerate(_first(value, MOST_CHILDREN))]
    if issubclass(kind, (type, types.ModuleType)):
        return []
    values = attributes_of(value)
    return [(_text(name), item) for name, item in _first(values.items(), MOST_CHILDREN)]


def _access(value: Any) -> str:
    """How an expression names a child of `value`: as an "item", an "attribute", or not at all."""
    if _kind(value) in (list, tuple, dict):
        return "item"
    return "" if _kind(value) in (set, frozenset) else "attribute"


def _frames(top: Any) -> list[Any]:
    """The frames from `top`, the innermost, outwards, without those that stop the thread."""
    frames = []
    while top is not None and top.f_code.co_filename == STOP_FILE:
        top = top.f_back
    while top is not None:
        frames.append(top)
        top = top.f_back
    return frames


def _frame(frame: Any) -> dict[str, Any]:
    code = frame.f_code
    return {
        "id": id(frame),
        "function": getattr(code, "co_qualname", code.co_name),
        "path": code.co_filename,
        "line": frame.f_lineno or 0,
    }


def _frame_at(question: dict[str, Any]) -> Any:
    """The frame with the `id` that was listed, else that of the number, from the innermost on."""
    thread = question.get("thread") or main_ident()
    frames = _frames(sys._current_frames().get(thread))
    wanted = question.get("id")
    if wanted is not None:
        frames = [frame for frame in frames if id(frame) == wanted]
    number = 0 if wanted is not None else question["frame"]
    if number >= len(frames):
        raise FrameEnded("The thread has returned from this frame")
    return frames[number]


def _data_first(names: dict[str, Any]) -> list[tuple[str, Any]]:
    """Variables without those of Python itself; modules, classes and functions come last."""
    code = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    own = [(name, value) for name, value in list(names.items()) if not name.startswith("__")]
    return sorted(own, key=lambda item: issubclass(type(item[1]), code))[:MOST_CHILDREN]


def _locals(frame: Any) -> dict[str, Any]:
    """A copy of the local variables.

    Until Python 3.12 the frame keeps the dictionary that it gives out, and with it the values, so it is emptied.  Not so
    where the program has that dictionary, from `locals()`, or where a debugger writes it back.
    """
    names = frame.f_locals
    copy = dict(names)
    is_cached = type(names) is dict and frame.f_code.co_flags & _CO_OPTIMIZED
    if is_cached and not _is_traced(frame) and sys.getrefcount(names) <= _OURS_AND_THE_FRAMES:
        names.clear()
    return copy


def _is_traced(frame: Any) -> bool:
    return frame.f_trace is not None or not _DEBUGGERS.isdisjoint(sys.modules)


def _is_own(top: Any) -> bool:
    return any(frame.f_code.co_filename == __file__ for frame in _frames(top))


def _exception(current: Any) -> str:
    """What is being handled in a thread: an exception, or in Python 3.9 and 3.10 its triple."""
    error = current[1] if isinstance(current, tuple) else current
    return described(error) if error is not None else ""


def main_ident() -> int:
    """The main thread.  Another tool may have imported `threading` in a thread of its own, which then counts as it."""
    tops = {ident: top for ident, top in sys._current_frames().items() if not _is_own(top)}
    threading = _threading()
    named: int = threading.main_thread().ident or 0 if threading is not None else 0
    if named in tops:
        return named
    for ident, top in tops.items():
        if any(frame.f_globals.get("__name__") == "__main__" for frame in _frames(top)):
            return ident
    # The newest thread comes first.
    return list(tops)[-1] if tops else named


def _thread_names() -> dict[int, str]:
    """The names of threads by number, read without the lock that a thread of the program may have."""
    threads = getattr(_threading(), "_active", {})
    # Not `name`, a property, which the class of a thread may have replaced.
    names = {
        ident: str(attributes_of(thread).get("_name", ""))
        for ident, thread in list(threads.items())
    }
    return names or {main_ident(): "MainThread"}


def _threading() -> Any:
    """The module, if the program has imported it.

    Python takes the thread that imports it first for the main thread, and waits at the end until that has ended.
    """
    return sys.modules.get("threading")


def held_exceptions() -> list[dict[str, Any]]:
    """The exceptions that threads handle, with an empty `variable`, and those in variables of their frames."""
    handled = sys._current_exceptions() if hasattr(sys, "_current_exceptions") else {}
    main = main_ident()
    rows = []
    for ident, top in sys._current_frames().items():
        if ident == _thread.get_ident() or _is_own(top):
            continue
        current = handled.get(ident)
        error = current[1] if isinstance(current, tuple) else current
        listed = [("", top, error)] if error is not None else []
        for frame in _frames(top):
            listed += [(name, frame, value) for name, value in _exceptions_of(frame)]
        shown = set()
        for name, frame, value in listed:
            if id(value) not in shown:
                shown.add(id(value))
                rows.append(
                    {
                        "is_main": ident == main,
                        "variable": name,
                        "frame": _frame(frame),
                        "causes": [_raised(cause) for cause in _causes(value)],
                    }
                )
    return sorted(rows, key=lambda row: not row["is_main"])[:MOST_EXCEPTIONS]


def _exceptions_of(frame: Any) -> list[tuple[str, BaseException]]:
    """The variables of a frame, and the attributes of its `self`, that are exceptions."""
    names = _locals(frame)
    attributes = attributes_of(names.get("self"))
    names.update({f"self.{_text(name)}": value for name, value in list(attributes.items())})
    # Not `isinstance`, which asks the object for its class.
    return [
        (name, value) for name, value in names.items() if issubclass(type(value), BaseException)
    ]


def _causes(error: BaseException) -> list[BaseException]:
    """`error`, what it was raised from or during, and so on."""
    causes: list[BaseException] = []
    current: BaseException | None = error
    # Not `in`, which may call `__eq__` of the program.
    while current is not None and all(current is not cause for cause in causes):
        if len(causes) == MOST_CAUSES:
            break
        causes.append(current)
        cause = _of_exception(current, "__cause__")
        if cause is None and not _of_exception(current, "__suppress_context__"):
            cause = _of_exception(current, "__context__")
        current = cause
    return causes


def _raised(error: BaseException) -> dict[str, Any]:
    frames = []
    step = _of_exception(error, "__traceback__")
    while step is not None:
        frames.append({**_frame(step.tb_frame), "line": step.tb_lineno or 0})
        step = step.tb_next
    return {
        "type": _name_of(type(error)),
        "text": described(error)[:LONGEST_VALUE],
        "frames": frames[-MOST_FRAMES:],
    }


def awaits() -> list[dict[str, Any]]:
    """What the tasks of all event loops of the process await: tasks that await the same are one entry.

    `state` is `waits`, `runs` or `ready`, and `waits_for` the task or future at the end of the chain.
    """
    entries: dict[Any, dict[str, Any]] = {}
    for task in _tasks():
        coroutine = task.get_coro()
        frames = _awaited_frames(coroutine)
        waiter = getattr(task, "_fut_waiter", None)
        runs = bool(getattr(coroutine, "cr_running", getattr(coroutine, "gi_running", False)))
        state = "runs" if runs else "ready" if waiter is None else "waits"
        key = (state, tuple((frame["path"], frame["function"], frame["line"]) for frame in frames))
        entry = entries.setdefault(
            key,
            {
                "state": state,
                "frames": frames,
                "waits_for": _future(waiter),
                "count": 0,
                "names": [],
            },
        )
        entry["count"] += 1
        if len(entry["names"]) < MOST_NAMES:
            entry["names"].append(str(task.get_name())[:LONGEST_VALUE])
    return sorted(entries.values(), key=lambda entry: -entry["count"])[:MOST_CHAINS]


def _tasks() -> list[Any]:
    """The tasks that have not ended; from outside their threads no function of asyncio lists them all."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return []
    listed: dict[int, Any] = {}
    # Up to 3.11 the first, since 3.12 the others; since 3.14 those of C are only listed by loop.
    for name in ("_all_tasks", "_scheduled_tasks", "_eager_tasks"):
        for task in _copied(getattr(asyncio.tasks, name, ())):
            listed[id(task)] = task
    for loop in _loops():
        with contextlib.suppress(Exception):
            listed.update((id(task), task) for task in asyncio.all_tasks(loop))
    tasks = [task for task in listed.values() if issubclass(type(task), asyncio.Task)]
    return [task for task in tasks if not asyncio.Future.done(task)][:MOST_TASKS]


def _copied(tasks: Any) -> list[Any]:
    """A copy of a set to which other threads add meanwhile."""
    for _attempt in range(1000):
        with contextlib.suppress(RuntimeError):
            return list(tasks)
    return []


def _loops() -> list[Any]:
    return [
        loop
        for top in sys._current_frames().values()
        for frame in _frames(top)
        if frame.f_code.co_name == "run_forever"
        and (loop := frame.f_locals.get("self")) is not None
    ]


def _awaited_frames(coroutine: Any) -> list[dict[str, Any]]:
    """The frames of a coroutine and of what it awaits, outermost first."""
    frames: list[dict[str, Any]] = []
    for _step in range(2 * MOST_FRAMES):
        if coroutine is None or len(frames) == MOST_FRAMES:
            break
        kind = type(coroutine)
        if kind is types.CoroutineType:
            frame, coroutine = coroutine.cr_frame, coroutine.cr_await
        elif kind is types.GeneratorType:
            frame, coroutine = coroutine.gi_frame, coroutine.gi_yieldfrom
        elif kind is types.AsyncGeneratorType:
            frame, coroutine = coroutine.ag_frame, coroutine.ag_await
        elif kind.__name__ in (
            "async_generator_asend",
            "async_generator_athrow",
            "coroutine_wrapper",
        ):
            # Objects of C, which name what they run only to the garbage collector.
            frame, coroutine = None, _referred(coroutine)
        elif type(kind.__dict__.get("cr_await")) is types.MemberDescriptorType:
            # Compiled by Cython, as that is which runs the methods of an async actor of Ray.
            frame, coroutine = None, _member(coroutine, "cr_await")
        else:
            break
        if frame is not None:
            frames.append(_frame(frame))
    return frames


def _member(value: Any, name: str) -> Any:
    """The value of an attribute of C, which runs no code of the program; None if it has none."""
    try:
        return type(value).__dict__[name].__get__(value)
    except AttributeError:
        return None


def _referred(value: Any) -> Any:
    generators = (types.CoroutineType, types.AsyncGeneratorType)
    return next((item for item in gc.get_referents(value) if type(item) in generators), None)


def _future(future: Any) -> str:
    if future is None:
        return ""
    task = getattr(sys.modules.get("asyncio"), "Task", None)
    if task is not None and issubclass(type(future), task):
        return str(future.get_name())[:LONGEST_VALUE]
    return type(future).__name__.lstrip("_")


def flight_record() -> dict[str, Any]:
    """The newest collectives in PyTorch's flight recorder and its counters; {} without one.

    Reads only memory of the process: no rank and no GPU is asked.
    """
    module = sys.modules.get("torch._C._distributed_c10d")
    best: dict[str, Any] = {}
    # That of NCCL is separate, where PyTorch was built with it.
    for name in ("_dump_nccl_trace_json", "_dump_fr_trace_json"):
        function = getattr(module, name, None)
        if function is None:
            continue
        record = json.loads(function(True, False))
        entries = record.get("entries", [])[-MOST_COLLECTIVES:]
        if entries or not best:
            best = {
                "version": str(record.get("version", "")),
                "pg_status": record.get("pg_status", {}),
                "entries": entries,
            }
        if entries:
            break
    if best:
        best["groups"] = _joined_groups()
    return best


def _joined_groups() -> list[list[str]]:
    """The names and descriptions of the process groups that this rank has joined: the recorder has only those that it used."""
    world = getattr(sys.modules.get("torch.distributed.distributed_c10d"), "_world", None)
    names = getattr(world, "pg_names", None)
    if type(names) is not dict:
        return []
    return [
        [str(name)[:LONGEST_VALUE], str(getattr(group, "group_desc", ""))[:LONGEST_VALUE]]
        for group, name in list(names.items())[:MOST_GROUPS]
    ]


def serve(path: str) -> None:
    """Answers on the Unix socket `path`, whose folder only its user may enter, until nobody has asked for long."""
    # Signals are for the threads of the program.
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    listener = socket.socket(socket.AF_UNIX)
    try:
        # At `path` it can be connected to at once.
        listener.bind(path + ".new")
        listener.listen(4)
        os.rename(path + ".new", path)
        listener.settimeout(IDLE_S)
        while True:
            connection, _ = listener.accept()
            if _is_ours(connection):
                _thread.start_new_thread(_converse, (connection,))
            else:
                connection.close()
    except OSError:
        # Nobody has asked for long, or the folder is gone.
        pass
    finally:
        listener.close()
        with contextlib.suppress(OSError):
            os.unlink(path)


def _is_ours(connection: socket.socket) -> bool:
    size = struct.calcsize("3i")
    _pid, uid, _gid = struct.unpack(
        "3i", connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    )
    return uid in (os.geteuid(), 0)


def _converse(connection: socket.socket) -> None:
    answers = Answers()
    try:
        with connection, connection.makefile("rwb") as stream:
            while line := stream.readline(LONGEST_LINE):
                stream.write(json.dumps(answers.answer(json.loads(line))).encode() + b"\n")
                stream.flush()
    except (OSError, ValueError):
        # The client is gone, or isn't one.
        pass
    finally:
        answers.close()
