"""The output of ssh, srun, sbatch, squeue and nsys is in no message: an error has it as its `output`, without secrets."""

from __future__ import annotations

import ast
import inspect
import typing
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import eagleray
import pytest
from eagleray.cli.output import error_text
from eagleray.clusters.model import ClusterProblem
from eagleray.common.errors import EaglerayError
from eagleray.common.slurm_errors import slurm_failed
from eagleray.protocol.route_spec import RouteSpec
from eagleray.routes.srun import stderr as srun_stderr
from eagleray.routes.ssh.errors import _CONNECTING, StderrLines, forward_error
from eagleray.runs.errors import _REJECTED, not_submitted
from eagleray.sidecar.server import _data

ROOT = Path(eagleray.__file__).parent
# As no text of ours: what a program might print, with a secret in it.
CANARY = "slurmstepd: canary 4711 at offset 0x1f"
PRINTED = f"Welcome to the site\n{CANARY}\nAPI_TOKEN=abcdef0123456789"

Factory = Callable[..., object]

# Names that carry a program's output in our code.
_RAW = {"stderr", "stdout", "last_line", "output", "_reason", "_errors"}


@cache
def factories() -> dict[str, Factory]:
    """Every function of the package that returns an error of the catalogue, by name."""
    found: dict[str, Factory] = {}
    for path in ROOT.rglob("*.py"):
        if path.relative_to(ROOT).parts[:2] in (("remote", "injected"), ("remote", "scripts")):
            continue
        if "-> EaglerayError:" not in path.read_text("utf-8"):
            continue
        module = import_module(".".join(path.relative_to(ROOT.parent).with_suffix("").parts))
        for name, value in vars(module).items():
            if inspect.isfunction(value) and value.__module__ == module.__name__:
                returned = inspect.signature(value).return_annotation
                if returned == "EaglerayError":
                    found[name] = value
    return found


def of_programs() -> Iterator[tuple[str, Factory]]:
    for name, factory in factories().items():
        if "output" in inspect.signature(factory).parameters:
            yield name, factory


def test_errors_of_programs_are_found() -> None:
    names = dict(of_programs())
    assert {"ssh_failed", "srun_failed", "slurm_failed", "not_submitted", "export_failed"} <= {
        *names
    }
    assert len(factories()) > 150


@pytest.mark.parametrize("name", sorted(dict(of_programs())))
def test_output_is_in_no_text_of_an_error(name: str) -> None:
    factory = factories()[name]
    error = factory(**{**_arguments(factory), "output": PRINTED})
    assert isinstance(error, EaglerayError)
    assert_apart(error)


@pytest.mark.parametrize("row", _CONNECTING, ids=lambda row: row.pattern.pattern[:40])
def test_output_of_ssh_is_in_no_text(row: typing.Any) -> None:
    known = _example(row.pattern.pattern)
    lines = StderrLines()
    for line in (f"{known} {CANARY}", *PRINTED.splitlines()):
        lines.take(line)
    assert_apart(lines.explain("login")[0])


@pytest.mark.parametrize("known", ["Connection refused", "No route to host", "unknown channel"])
def test_reason_of_a_forwarded_port_is_in_no_text(known: str) -> None:
    error = forward_error("node-1:1", "login", f"{known}: {CANARY}")
    assert CANARY not in str(error)


@pytest.mark.parametrize(("pattern", "_"), srun_stderr._TABLE, ids=lambda value: str(value)[:40])
def test_output_of_srun_is_in_no_text(pattern: str, _: object) -> None:
    printed = f"{_example(pattern)} {CANARY}\n{PRINTED}"
    assert CANARY not in str(srun_stderr.explain(RouteSpec(job="1", node="n"), printed))


@pytest.mark.parametrize("pattern", ["something new", *(row[0] for row in _REJECTED)])
def test_rejected_script_says_what_to_correct(pattern: str) -> None:
    error = not_submitted(f"sbatch: error: {_example(pattern)}\n{PRINTED}")
    assert_apart(error)
    assert error.next_step


def test_terminal_shows_the_last_line_below_the_error() -> None:
    error = slurm_failed("squeue", f"API_KEY=abcdef0123\n{CANARY}\n")
    for shown in (error, ClusterProblem.of(error)):
        first, last = error_text(shown).splitlines()
        assert first.startswith("Can't reach SLURM") and CANARY not in first
        assert last == f"  {CANARY}"
    assert _data(error)["output"] == f"API_KEY=…\n{CANARY}"


def test_what_a_program_printed_is_passed_as_output() -> None:
    """Each call of a factory with an expression of a program's output has it as the parameter `output`."""
    wrong = []
    for path in ROOT.rglob("*.py"):
        tree = ast.parse(path.read_text("utf-8"))
        for call in (node for node in ast.walk(tree) if isinstance(node, ast.Call)):
            name = getattr(call.func, "attr", getattr(call.func, "id", ""))
            factory = factories().get(name)
            if factory is None:
                continue
            parameters = list(inspect.signature(factory).parameters)
            given = [
                *zip(parameters, call.args, strict=False),
                *((keyword.arg, keyword.value) for keyword in call.keywords),
            ]
            wrong += [
                f"{path.name}:{call.lineno}: {name}({parameter}=…)"
                for parameter, value in given
                if parameter not in ("output", "stderr") and _names(value) & _RAW
            ]
    assert wrong == []


def assert_apart(error: EaglerayError) -> None:
    """The texts have none of it, the output has it without secrets."""
    texts = f"{error.message} {error.next_step}"
    assert "canary" not in texts and "4711" not in texts
    assert CANARY in error.output
    assert "abcdef0123456789" not in f"{error.output} {error.detail} {texts}"


def _names(value: ast.expr) -> set[str]:
    return {
        getattr(node, "attr", getattr(node, "id", ""))
        for node in ast.walk(value)
        if isinstance(node, ast.Attribute | ast.Name)
    }


def _arguments(factory: Factory) -> dict[str, object]:
    values: dict[str, object] = {
        "float": 1.0,
        "int": 1,
        "bool": True,
        "str": "x",
        "Path": Path("x"),
    }
    parameters = inspect.signature(factory).parameters.values()
    return {kind.name: values[str(kind.annotation)] for kind in parameters}


def _example(pattern: str) -> str:
    """A text that fits the first alternative of `pattern`, as far as our tables have such patterns."""
    text = ""
    depth = 0
    at = 0
    while at < len(pattern):
        sign = pattern[at]
        if pattern.startswith("(?:", at):
            depth, at = depth + 1, at + 2
        elif pattern.startswith("(?!", at):
            at = pattern.index(")", at)
        elif sign == "(":
            depth += 1
        elif sign == ")":
            depth -= 1
        elif sign == "|":
            if not depth:
                break
            at = pattern.index(")", at) - 1
        elif sign == "[":
            at = pattern.index("]", at)
            text += "1"
        elif sign == "\\":
            at += 1
            text += {"S": "x", "d": "1", "s": " "}.get(pattern[at], pattern[at])
        elif sign == ".":
            text += "x"
        elif sign not in "?*+^$":
            text += sign
        at += 1
    return text
