"""Every background task has an owner that logs its failure and acts on it.

A task may be started in two places only: by `common/tasks.py`, and in a function that awaits it, which so gets its failure.
remote/scripts/bridge.py is sent to a node as one file, so that it can't use the former: its one task answers each failure.
remote/injected/agents/waves.py runs a loop until its one task is done, and takes the task's result.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"
STARTS = ("create_task", "ensure_future")
OWNERS = {
    "common/tasks.py": ("owned", "shared"),
    "remote/scripts/bridge.py": ("on_frame",),
    "remote/injected/agents/waves.py": ("drive",),
}

Function = ast.FunctionDef | ast.AsyncFunctionDef


def unowned(source: str, owners: tuple[str, ...] = ()) -> list[int]:
    """The lines that start a task without an owner."""
    if not any(start in source for start in STARTS):
        return []
    return [
        call.lineno
        for function, call in _calls(ast.parse(source), None)
        if _name(call) in STARTS
        and not (function and (function.name in owners or _is_awaited(call, function)))
    ]


def _calls(node: ast.AST, function: Function | None) -> Iterator[tuple[Function | None, ast.Call]]:
    """Each call with the function around it."""
    if isinstance(node, ast.Call):
        yield function, node
    inner = node if isinstance(node, Function) else function
    for child in ast.iter_child_nodes(node):
        yield from _calls(child, inner)


def _name(call: ast.Call) -> str:
    called = call.func
    return called.attr if isinstance(called, ast.Attribute) else getattr(called, "id", "")


def _is_awaited(call: ast.Call, function: Function) -> bool:
    """Whether it stands in an `await`, or a variable that holds it does.

    Waiting for it in a `finally`, or for its exception as a value, comes after it was forgotten.
    """
    late = {node for each in ast.walk(function) for node in _of_finally(each)}
    awaits = [
        node
        for node in ast.walk(function)
        if isinstance(node, ast.Await) and node not in late and not _takes_exceptions(node)
    ]
    if any(call in ast.walk(node) for node in awaits):
        return True
    holds = {
        target.id
        for node in ast.walk(function)
        if isinstance(node, ast.Assign) and call in ast.walk(node.value)
        for target in node.targets
        if isinstance(target, ast.Name)
    }
    used = (name for node in awaits for name in ast.walk(node) if isinstance(name, ast.Name))
    return any(name.id in holds for name in used)


def _of_finally(node: ast.AST) -> Iterator[ast.AST]:
    for statement in node.finalbody if isinstance(node, ast.Try) else []:
        yield from ast.walk(statement)


def _takes_exceptions(node: ast.Await) -> bool:
    call = node.value
    return isinstance(call, ast.Call) and any(
        word.arg == "return_exceptions" for word in call.keywords
    )


@pytest.mark.parametrize("file", sorted(str(f.relative_to(PACKAGE)) for f in PACKAGE.rglob("*.py")))
def test_each_task_has_an_owner(file: str) -> None:
    lines = unowned((PACKAGE / file).read_text(), OWNERS.get(file, ()))
    assert lines == [], f"{file}:{lines} starts a task that nobody owns: use eagleray.common.tasks"


def test_tasks_without_an_owner_are_found() -> None:
    planted = """
import asyncio
async def forgotten(): asyncio.create_task(work())
class A:
    def held(self): self._task = asyncio.ensure_future(work())
    async def passed_on(self):
        task = asyncio.create_task(work())
        self._tasks.add(task)
    async def kept(self):
        task = asyncio.create_task(work())
        await asyncio.wait([task])
    async def many(self):
        tasks = [asyncio.create_task(work()) for _ in range(3)]
        await asyncio.gather(*tasks)
    async def late(self):
        task = asyncio.create_task(work())
        try: await other()
        finally: await task
    async def swallowed(self):
        task = asyncio.create_task(work())
        await asyncio.gather(task, return_exceptions=True)
    async def inside(self): await asyncio.wait_for(asyncio.ensure_future(work()), 1)
"""
    assert unowned(planted) == [3, 5, 7, 16, 20]
