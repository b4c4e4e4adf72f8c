"""Finds the agents in the text of a Python file; nothing of it is executed."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from eagleray.remote.injected.source_trees import tree_of
from eagleray.rollouts.agents.model import AgentClass

# Arguments that the framework passes by name; an agent takes them all with `**kwargs`, or by these names.
_PASSED = frozenset({"base_url", "api_key", "http_client"})


def agent_classes(text: str) -> tuple[AgentClass, ...] | None:
    """The classes that a framework would run, from top to bottom; None while the text isn't valid Python."""
    module = tree_of(text)
    if module is None:
        return None
    return tuple(_classes(module.body, ""))


def _classes(body: list[ast.stmt], outer: str) -> Iterator[AgentClass]:
    for node in body:
        if isinstance(node, ast.ClassDef):
            name = f"{outer}{node.name}"
            yield from _agents(node, name)
            yield from _classes(node.body, f"{name}.")
        elif isinstance(node, (ast.If, ast.Try)):
            yield from _classes([*node.body, *node.orelse], outer)


def _agents(node: ast.ClassDef, name: str) -> Iterator[AgentClass]:
    """1. A class with `run` stands for itself.

    2. A workflow is marked at its method, which the framework calls.
    """
    methods = [part for part in node.body if isinstance(part, ast.AsyncFunctionDef)]
    if any(method.name == "run" and _takes_data(method) for method in methods):
        yield AgentClass(name, _first_line(node), "agent")
        return
    for method in methods:
        if method.name == "arun_episode":
            yield AgentClass(name, _first_line(method), "workflow")


def _takes_data(method: ast.AsyncFunctionDef) -> bool:
    """Whether it takes `data`, and what the framework passes by name."""
    given = method.args
    positional = [*given.posonlyargs, *given.args]
    names = {argument.arg for argument in (*positional, *given.kwonlyargs)}
    return len(positional) >= 2 and (given.kwarg is not None or bool(names & _PASSED))


def _first_line(node: ast.ClassDef | ast.AsyncFunctionDef) -> int:
    """The line of its first decorator, above which the editor draws."""
    return min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
