"""Evaluates expressions that can neither change the program nor wait for a GPU or for other ranks."""

from __future__ import annotations

import ast
import collections
import math
import operator

from .attributes import attribute
from .descriptions import described
from .objects import CONTAINERS, is_array, is_torch_size, kind_of, name_of
from .operations import (
    KEYS,
    Refused,
    check_arrays,
    check_call,
    check_index,
    check_made,
    check_operation,
    contains,
    looked_up,
    operand,
    parts_of,
    read_function,
)

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

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
FUNCTIONS: dict[str, Any] = {
    function.__name__: function
    for function in (
        *(abs, all, any, bool, enumerate, float, id, int, isinstance, len, list),
        *(max, min, round, set, sorted, sum, tuple, dict, type, zip),
    )
}
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
        builtin = FUNCTIONS.get(node.id)
        if builtin is None:
            raise NameError(f"name {node.id!r} is not defined")
        return builtin

    def _attribute(self, node: ast.Attribute) -> Any:
        return attribute(self.value(node.value), node.attr)

    def _subscript(self, node: ast.Subscript) -> Any:
        items, index = self.value(node.value), operand(self.value(node.slice))
        # A subclass of dict may have its own way, and a defaultdict would get another item.
        if kind_of(items) in (dict, collections.OrderedDict):
            return looked_up(items, index)
        if is_array(items):
            check_index(items, index)
        elif kind_of(items) in (str, bytes, *CONTAINERS) or is_torch_size(items):
            if type(index) is slice:
                check_made(len(range(*index.indices(len(items)))))
        else:
            raise Refused(f"Indexing a {name_of(type(items))} runs its code")
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
        left, right = operand(self.value(node.left)), operand(self.value(node.right))
        check_operation(node.op, left, right)
        return function(left, right)

    def _unaryop(self, node: ast.UnaryOp) -> Any:
        value = operand(self.value(node.operand))
        check_arrays(value)
        return _UNARY[type(node.op)](value)

    def _boolop(self, node: ast.BoolOp) -> Any:
        stops_at = isinstance(node.op, ast.Or)
        value = None
        for item in node.values:
            value = operand(self.value(item))
            if bool(value) is stops_at:
                break
        return value

    def _compare(self, node: ast.Compare) -> Any:
        left = self.value(node.left)
        for comparison, item in zip(node.ops, node.comparators):
            right = self.value(item)
            if isinstance(comparison, (ast.In, ast.NotIn)):
                result = contains(right, operand(left)) is isinstance(comparison, ast.In)
            elif isinstance(comparison, (ast.Is, ast.IsNot)):
                result = _COMPARISONS[type(comparison)](left, right)
            else:
                check_arrays(operand(left), operand(right))
                result = _COMPARISONS[type(comparison)](left, right)
            if isinstance(result, bool) and not result:
                return False
            left = right
        return result

    def _ifexp(self, node: ast.IfExp) -> Any:
        return self.value(node.body if operand(self.value(node.test)) else node.orelse)

    def _call(self, node: ast.Call) -> Any:
        if isinstance(node.func, ast.Attribute):
            return self._method(node, self.value(node.func.value), node.func.attr)
        if isinstance(node.func, ast.Name) and node.func.id in ("str", "repr"):
            return described(self.value(node.args[0]))
        function = self.value(node.func)
        if not any(function is allowed for allowed in FUNCTIONS.values()):
            raise Refused("Calling this function may change the program or wait")
        if function in (type, id, isinstance, len):
            return read_function(function, list(map(self.value, node.args)), node.keywords)
        positional, named = self._arguments(node)
        check_call(function.__name__, positional, named)
        return function(*positional, **named)

    def _method(self, node: ast.Call, owner: Any, name: str) -> Any:
        kind = kind_of(owner)
        if is_array(owner) and name in _TENSOR_METHODS:
            positional, named = self._arguments(node)
            # One would be written to, as `out`.
            if any(is_array(value) for value in parts_of((positional, *named.values()))):
                raise Refused(f"{name}() of arrays may change them")
            if name in _MAKING_METHODS:
                check_arrays(owner)
            if name == "tolist":
                check_made(math.prod(owner.shape))
            return getattr(owner, name)(*positional, **named)
        if kind not in (str, bytes, *CONTAINERS) or name not in _PLAIN_METHODS:
            raise Refused(f"Calling {name}() may change the program or wait")
        positional, named = self._arguments(node)
        if name == "get" and positional and not named:
            default = positional[1] if len(positional) > 1 else None
            return looked_up(owner, positional[0], [default])
        if name in ("count", "index"):
            operand(owner)
        if name == "split":
            check_made(len(owner))
        return getattr(owner, name)(*positional, **named)

    def _arguments(self, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
        if any(part.arg is None for part in node.keywords):
            raise Refused("** isn't allowed")
        positional = [operand(self.value(argument)) for argument in node.args]
        named = {str(part.arg): self.value(part.value) for part in node.keywords}
        for value in named.values():
            if not any(value is key for key in KEYS):
                operand(value)
        return positional, named
