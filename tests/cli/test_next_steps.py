"""A terminal never gets the advice of the editor, and the editor never a terminal's."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from eagleray.cli.commands import COMMANDS, SHORTCUTS
from eagleray.cli.next_steps import STEPS, TerminalError, terminal_step
from eagleray.cli.output import step_now
from eagleray.common.doctor_hints import CLUSTER_CODES, MACHINE_CODES
from eagleray.common.worker_errors import unknown_worker

BUTTON = r"“[A-Z][^”]*”|\[[A-Z][a-z]+( [A-Z][a-z]+)*…?\]"
# A button, a setting or a window.
EDITOR = re.compile(
    rf"{BUTTON}|\beagleray\.[a-z]+\.[a-z]|the editor|from a window|background service"
)
# Both have code, message and next step first.
RECORDS = ("EaglerayError", "ClusterProblem")
WORDS = "|".join(sorted({*COMMANDS, *SHORTCUTS}))
TERMINAL = re.compile(rf"\beagleray ({WORDS})\b")
ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "pybackend" / "eagleray"


def texts(node: ast.AST) -> str:
    return " ".join(
        part.value
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    )


def shown(tree: ast.Module) -> Iterator[ast.Constant]:
    """The texts of a module that aren't docstrings."""
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    owners = [node for node in ast.walk(tree) if isinstance(node, documented)]
    docstrings = {id(node.body[0].value) for node in owners if isinstance(node.body[0], ast.Expr)}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in docstrings
        ):
            yield node


def errors() -> Iterator[tuple[str, str, str]]:
    """Code, message and next step of every error of the catalogue, with `LOG_STEP` and the like filled in."""
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
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in RECORDS:
                named = {keyword.arg: keyword.value for keyword in node.keywords}
                code = texts(node.args[0]) if node.args else ""
                message = texts(node.args[1]) if len(node.args) > 1 else ""
                step = node.args[2] if len(node.args) > 2 else named.get("next_step")
                names = [n.id for n in ast.walk(step) if isinstance(n, ast.Name)] if step else []
                used = [constants.get(name, "") for name in names]
                yield code, message, " ".join([texts(step) if step else "", *used])


@pytest.mark.parametrize(("code", "message", "step"), sorted(set(errors())))
def test_errors_advise_the_terminal_and_the_editor_apart(
    code: str, message: str, step: str
) -> None:
    hint = f"add the terminal's step of “{code}” to cli/next_steps.py"
    assert not EDITOR.search(f"{message} {terminal_step(code, step)}"), hint
    assert not TERMINAL.search(f"{message} {step}"), hint


def test_texts_of_the_command_line_name_no_button() -> None:
    found = [
        (file.name, text.value)
        for file in (PACKAGE / "cli").rglob("*.py")
        for text in shown(ast.parse(file.read_text()))
        if re.search(BUTTON, text.value)
    ]
    assert found == []


def test_texts_of_the_editor_name_no_terminal_command() -> None:
    sources = [ROOT / "package.nls.json", *(ROOT / "extension").rglob("*.ts")]
    found = [
        (file.name, line.strip())
        for file in sources
        for line in file.read_text().splitlines()
        if TERMINAL.search(line) and not line.lstrip().startswith(("*", "//", "/*"))
    ]
    assert found == []


def test_suggested_name_replaces_the_step_of_the_table() -> None:
    error = unknown_worker("polcy-1")
    assert step_now(error) == STEPS[error.code]
    suggestion = "Did you mean “policy-1”?"
    assert step_now(TerminalError(error.code, error.message, suggestion)) == suggestion


def test_steps_of_a_terminal_name_no_button() -> None:
    assert [code for code, step in STEPS.items() if EDITOR.search(step)] == []


def test_step_that_fits_a_terminal_stays() -> None:
    assert terminal_step("worker-busy", "Disconnect it there.") == "Disconnect it there."
    assert "eagleray workers logs" in terminal_step("worker-gone", "Use “Open Log”.")
    assert terminal_step("token-needed", "") == "Set RAY_AUTH_TOKEN to the token of the cluster."


def test_errors_of_machines_and_clusters_lead_to_the_doctor() -> None:
    assert terminal_step("cluster-unreachable", "Check that Ray is running.") == (
        "Check that Ray is running. `eagleray doctor --before` checks this machine."
    )
    assert terminal_step("node-gone", "") == "`eagleray doctor --cluster URL` may say why."
    assert terminal_step("worker-gone", "").endswith("`eagleray doctor --cluster URL` may say why.")
    assert "doctor" not in terminal_step("unknown-run", "")


@pytest.mark.parametrize("code", sorted(CLUSTER_CODES | MACHINE_CODES))
def test_code_that_leads_to_the_doctor_is_of_the_catalogue(code: str) -> None:
    sources = [*PACKAGE.rglob("*errors*.py"), ROOT / "extension" / "common" / "errors.ts"]
    assert any(f'"{code}"' in file.read_text() for file in sources)


def test_code_leads_to_one_part() -> None:
    assert not CLUSTER_CODES & MACHINE_CODES
