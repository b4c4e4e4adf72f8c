"""Evaluates expressions that can neither change the program nor wait for a GPU or for other ranks.

They come as the tree of `remote/inspecting/parsing.py`, so that no parser runs in the program, which could print warnings there.
"""

from __future__ import annotations

import operator

from .arrays import MOST_MADE, Array, indexed, is_array
from .attributes import attribute
from .calculation import calculated, mapped
from .descriptions import described
from .functions import FUNCTIONS, called, called_method
from .limits import Refused, check, too_many
from .objects import DICTIONARIES, SEQUENCES, SETS, is_torch_shape, kind_of, name_of, named
from .operations import check_product, check_times, contains, looked_up, number_of, operand, truth

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

_BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mult": operator.mul,
    "Div": operator.truediv,
    "FloorDiv": operator.floordiv,
    "Mod": operator.mod,
}
_UNARY: dict[str, Callable[[Any], Any]] = {
    "USub": operator.neg,
    "UAdd": operator.pos,
    "Invert": operator.invert,
}
_COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "Eq": operator.eq,
    "NotEq": operator.ne,
    "Lt": operator.lt,
    "LtE": operator.le,
    "Gt": operator.gt,
    "GtE": operator.ge,
}
_ELLIPSIS = ["Constant", "ellipsis", None]
_DEEPEST_TREE = 60


def evaluate(tree: Any, global_names: dict[str, Any], local_names: dict[str, Any]) -> Any:
    """The value of an expression, of what can neither change the program nor wait for a GPU or for other ranks.

    Raises Refused for anything else, and what the expression itself raises.
    """
    return _Evaluation(global_names, local_names).value(tree)


class _Evaluation:
    def __init__(self, global_names: dict[str, Any], local_names: dict[str, Any]) -> None:
        self.global_names = global_names
        self.local_names = local_names
        self._depth = 0

    def value(self, tree: Any) -> Any:
        check()
        kind, *parts = tree
        method = getattr(self, f"_on_{kind.lower()}", None)
        if method is None:
            raise Refused(f"{kind} may change the program")
        self._depth += 1
        if self._depth > _DEEPEST_TREE:
            raise Refused("This expression has too many levels")
        try:
            return method(*parts)
        finally:
            self._depth -= 1

    def _on_constant(self, kind: str, value: Any) -> Any:
        if kind == "complex":
            return complex(*value)
        if kind == "ellipsis":
            return Ellipsis
        return value.encode("latin-1") if kind == "bytes" else value

    def _on_name(self, name: str) -> Any:
        for names in (self.local_names, self.global_names):
            for value in named(names, name):
                return value
        builtin = FUNCTIONS.get(name)
        if builtin is None:
            raise NameError(f"name {name!r} is not defined")
        return builtin

    def _on_attribute(self, owner: Any, name: str) -> Any:
        return attribute(self.value(owner), name)

    def _on_subscript(self, owner: Any, index_tree: Any) -> Any:
        items = self.value(owner)
        if is_array(items):
            return indexed(operand(items), self._array_index(index_tree))
        index = number_of(operand(self.value(index_tree)))
        # A subclass of dict may have its own way, and a defaultdict would get another item.
        if kind_of(items) in DICTIONARIES:
            return looked_up(items, index)
        if is_torch_shape(items):
            items = tuple(items)
        if kind_of(items) not in (*SEQUENCES, range):
            raise Refused(f"Indexing a {name_of(type(items))} runs its code")
        if type(index) is slice and kind_of(items) is not range:
            count = len(range(*index.indices(len(items))))
            if count > MOST_MADE:
                raise too_many(count)
        return items[index]

    def _array_index(self, tree: Any) -> Any:
        if tree[0] == "Tuple":
            return tuple(
                operand(self.value(part)) if part != _ELLIPSIS else ... for part in tree[1]
            )
        return ... if tree == _ELLIPSIS else operand(self.value(tree))

    def _on_slice(self, *parts: Any) -> slice:
        return slice(*(self.value(part) if part else None for part in parts))

    def _on_tuple(self, parts: Any) -> Any:
        return tuple(map(self.value, parts))

    def _on_list(self, parts: Any) -> Any:
        return list(map(self.value, parts))

    def _on_binop(self, name: str, left_tree: Any, right_tree: Any) -> Any:
        function = _BINARY.get(name)
        if function is None:
            raise Refused(f"{name} isn't allowed")
        left, right = operand(self.value(left_tree)), operand(self.value(right_tree))
        if type(left) is Array or type(right) is Array:
            return calculated(function, left, right)
        kinds = kind_of(left), kind_of(right)
        if name == "Mod" and (kinds[0] is str or kinds[0] is bytes):
            raise Refused("Formatting isn't allowed")
        if name == "Mult":
            check_product(left, right)
            for items, times in ((left, right), (right, left)):
                check_times(len(items) if kind_of(items) in SEQUENCES else 0, times)
        if any(kind in SETS for kind in kinds) and name != "Sub":
            raise TypeError("unsupported operand of a set")
        return function(left, right)

    def _on_unaryop(self, name: str, tree: Any) -> Any:
        if name == "Not":
            return not truth(self.value(tree))
        value = operand(self.value(tree))
        if type(value) is Array:
            return mapped(_UNARY[name].__name__, value)
        if name == "Invert" and type(value) is bool:
            # Python 3.12 prints a warning.
            value = int(value)
        return _UNARY[name](value)

    def _on_boolop(self, name: str, trees: Any) -> Any:
        value = None
        for tree in trees:
            value = self.value(tree)
            if tree is not trees[-1] and truth(value) is (name == "Or"):
                break
        return value

    def _on_compare(self, left_tree: Any, comparisons: Any) -> Any:
        left, result = self.value(left_tree), None
        for number, (name, tree) in enumerate(comparisons):
            right = self.value(tree)
            if name in ("In", "NotIn"):
                result = contains(right, operand(left)) is (name == "In")
            elif name in ("Is", "IsNot"):
                result = (left is right) is (name == "Is")
            else:
                result = self._compared(_COMPARISONS[name], operand(left), operand(right))
            if number + 1 < len(comparisons) and not truth(result):
                break
            left = right
        return result

    @staticmethod
    def _compared(function: Callable[[Any, Any], Any], left: Any, right: Any) -> Any:
        if type(left) is Array or type(right) is Array:
            other = right if type(left) is Array else left
            if other is None and function in (operator.eq, operator.ne):
                return function is operator.ne
            return calculated(function, left, right)
        return function(left, right)

    def _on_ifexp(self, test: Any, body: Any, orelse: Any) -> Any:
        return self.value(body if truth(self.value(test)) else orelse)

    def _on_call(self, function_tree: Any, trees: Any, named_trees: Any) -> Any:
        if any(name is None for name, _ in named_trees):
            raise Refused("** isn't allowed")
        is_method = function_tree[0] == "Attribute"
        function = self.value(function_tree[1]) if is_method else None
        if function_tree[0] == "Name" and function_tree[1] in ("str", "repr"):
            (tree,) = trees
            return described(self.value(tree))
        if not is_method:
            function = self.value(function_tree)
        positional = list(map(self.value, trees))
        named_values = {name: self.value(tree) for name, tree in named_trees}
        if is_method:
            return called_method(function, function_tree[2], positional, named_values)
        return called(function, positional, named_values)
