"""Reads in a program's source the lines at which its ranks are stopped: branches and process groups.

Files are read on this machine, where the user's checkout is; a file that isn't here, or isn't Python, says nothing.
"""

from __future__ import annotations

import ast
from functools import lru_cache

from eagleray.remote.sampling.source_blocks import around, holds, parsed


def branch_between(file: str, first: int, second: int) -> int:
    """The line of the innermost `if` or `match` of which `first` and `second` are in different branches; 0 if there is none.

    A line after an `if` that returns is in another branch than the lines within it.
    """
    result = 0
    for node in around(file, min(first, second)):
        if isinstance(node, ast.If | ast.Match) and any(
            holds(body, first) != holds(body, second) for body in _bodies(node)
        ):
            result = node.lineno
    return result


def calls_at(file: str, line: int) -> tuple[str, ...]:
    """The names of the functions that are called at `line`, such as `wait` for `handle.wait()`."""
    return tuple(name for call in _calls(file, line) if (name := _name(call)))


def is_in_loop(file: str, line: int) -> bool:
    result = False
    for node in around(file, line):
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
        result = not is_function and (result or isinstance(node, ast.While | ast.For))
    return result


def group_at(file: str, line: int, function: str) -> str:
    """The text of the argument `group` in the call of `function` at `line`; "" for the default group."""
    for call in _calls(file, line):
        if _name(call) == function:
            for keyword in call.keywords:
                if keyword.arg in ("group", "process_group"):
                    text = ast.unparse(keyword.value)
                    return "" if text == "None" else text
    return ""


def reads_message_at(file: str, line: int) -> bool:
    """Whether `line` reads the body of a message of `multiprocessing`, whose length it knows (Python 3.10 to 3.14)."""
    calls = (call for call in _calls(file, line) if _name(call) == "_recv")
    return any(isinstance(each, ast.Name) for call in calls for each in call.args)


def store_key_at(file: str, line: int) -> str:
    """The keys in the only call at `line` that waits for keys of a store, `store.get` or `store.wait`; "" unless they are literals."""
    calls = [
        call
        for call in _calls(file, line)
        if _name(call) in ("get", "wait")
        and isinstance(call.func, ast.Attribute)
        and "store" in ast.unparse(call.func.value).lower()
        and call.args
    ]
    argument = calls[0].args[0] if len(calls) == 1 else None
    parts = argument.elts if isinstance(argument, ast.List | ast.Tuple) else [argument]
    is_literal = all(isinstance(part, ast.Constant) for part in parts)
    return ast.unparse(argument) if argument and is_literal else ""


def _calls(file: str, line: int) -> tuple[ast.Call, ...]:
    module = parsed(file)
    return _calls_in(module, line) if module else ()


# Thousands of ranks share a few lines.
@lru_cache(1024)
def _calls_in(module: ast.Module, line: int) -> tuple[ast.Call, ...]:
    return tuple(
        node
        for node in ast.walk(module)
        if isinstance(node, ast.Call) and node.lineno <= line <= (node.end_lineno or node.lineno)
    )


def _name(call: ast.Call) -> str:
    if isinstance(call.func, ast.Attribute):
        return call.func.attr
    return call.func.id if isinstance(call.func, ast.Name) else ""


def _bodies(node: ast.If | ast.Match) -> list[list[ast.stmt]]:
    if isinstance(node, ast.If):
        return [node.body, node.orelse]
    return [case.body for case in node.cases]
