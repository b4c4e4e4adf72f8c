"""A terminal never gets the advice of the editor."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.cli.next_steps import STEPS, terminal_step

# A button, a setting or a window.
EDITOR = re.compile("“[A-Z][^”]*”|setting eagleray|the editor|from a window|; in a terminal, `")
PACKAGE = Path(__file__).parents[2] / "pybackend" / "eagleray"


def texts(node: ast.AST) -> str:
    return " ".join(
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def errors() -> Iterator[tuple[str, str]]:
    """Code and next step of every error of the catalogue, with `LOG_STEP` and the like filled in."""
    for file in PACKAGE.rglob("*.py"):
        tree = ast.parse(file.read_text())
        constants = {
            target.id: texts(node.value)
            for node in tree.body
            if isinstance(node, ast.Assign)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "EaglerayError":
                named = {keyword.arg: keyword.value for keyword in node.keywords}
                code = texts(node.args[0]) if node.args else ""
                step = node.args[2] if len(node.args) > 2 else named.get("next_step")
                if step is None:
                    continue
                used = [constants.get(n.id, "") for n in ast.walk(step) if isinstance(n, ast.Name)]
                yield code, " ".join([texts(step), *used])


@pytest.mark.parametrize(("code", "step"), sorted(set(errors())))
def test_step_of_a_terminal_names_no_button(code: str, step: str) -> None:
    assert not EDITOR.search(terminal_step(code, step)), f"add “{code}” to cli/next_steps.py"


def test_steps_of_a_terminal_name_no_button() -> None:
    assert [code for code, step in STEPS.items() if EDITOR.search(step)] == []


def test_step_that_fits_a_terminal_stays() -> None:
    assert terminal_step("worker-busy", "Disconnect it there.") == "Disconnect it there."
    assert "eagleray workers logs" in terminal_step("worker-gone", "Use “Open Log”.")
    assert terminal_step("token-needed", "") == "Set RAY_AUTH_TOKEN to the token of the cluster."
