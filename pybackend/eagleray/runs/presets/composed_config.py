"""Composes the configuration of a debug run with the program's own Python, before anything is started.

Only on request and in a trusted workspace, since it runs the program's imports.

1. The arguments are the training line's with the preset's.  A line whose arguments a script computes is refused.
2. Hydra composes with `--cfg job`; other programs run up to where their configuration is complete.
3. No GPU is visible, no Ray is started, and the processes end at the time limit or when the request is cancelled.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from collections.abc import Mapping, Sequence
from pathlib import Path

from attrs import field, frozen

from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.redact import HIDDEN, is_secret, redact_text
from eagleray.routes.commands import CommandResult, run
from eagleray.runs.model import RunPlan
from eagleray.runs.presets.analysis import ProgramAnalysis
from eagleray.runs.presets.checkout.keys import program_of
from eagleray.runs.presets.checkout_files import Files
from eagleray.runs.presets.errors import not_composed
from eagleray.runs.presets.yaml_tree import YamlNode, read_yaml
from eagleray.runs.program_python import environment_of
from eagleray.runs.scripts.launch_lines import LineWord

LIMIT_S = 120.0
_PROGRAM = Path(__file__).with_name("compose_program.py")
_PYTHON = re.compile(r"(?:.*/)?python[\d.]*")
_ALL_ARGUMENTS = re.compile(r"\"?\$(?:\{?[@*]\}?)\"?")
_NOISE = re.compile(r"\s|Set the environment variable HYDRA_FULL_ERROR|.*[Ww]arning\b")
_NOT_IMPORTED = re.compile(r"(?:ModuleNotFound|Import)Error: (?P<what>.*)")


@frozen
class Composed:
    """The composed `values` of the keys that the preset sets, None for a missing key; or an `error` with its `next_step`."""

    values: Mapping[str, str | None] = field(factory=dict)
    error: str = ""
    next_step: str = ""


@frozen
class CompositionCommand:
    """The command that composes a configuration, and the keys whose values are wanted."""

    argv: list[str]
    environ: Mapping[str, str]
    keys: tuple[str, ...]
    mark: str = ""


async def compose(
    plan: RunPlan, analysis: ProgramAnalysis, original: Sequence[str], python: str = ""
) -> Composed:
    """The configuration of the debug run `plan`, whose `analysis` were read with the preset.

    `original` are the arguments of the training line without the preset.  `python` is the interpreter, "" for the
    line's.
    """
    made = await off_loop(lambda: _composition(plan, analysis, original, python))
    if isinstance(made, Composed):
        return made
    try:
        ended = await run(made.argv, b"", LIMIT_S, plan.cwd, made.environ)
    except EaglerayError as error:
        return Composed(error=error.message, next_step=error.next_step)
    values = _values(ended, made)
    if ended.code or values is None:
        return _failed(ended, made.argv[0])
    return Composed({key: values.get(key) for key in made.keys})


def _composition(
    plan: RunPlan, analysis: ProgramAnalysis, original: Sequence[str], python: str
) -> CompositionCommand | Composed:
    """The program to run, or the error that prevents it."""
    recognised, launch = analysis.recognised, analysis.launch
    configuration = recognised.table.configuration if recognised else None
    if recognised is None or configuration is None or launch is None:
        return Composed(
            error=t("No configuration of a known framework was recognised."),
            next_step=t("Start the run without the check."),
        )
    files = Files([Path(plan.cwd), Path(plan.cwd, analysis.script_argument or "_").parent])
    arguments = _arguments(_line(plan, analysis), files)
    if isinstance(arguments, Composed):
        return arguments
    program = program_of(launch.target, launch.module, files)
    if program is None:
        return Composed(
            error=t("{program} was not found.", program=launch.target),
            next_step=t("Check the folder in which the program starts."),
        )
    keys = _keys(
        [argument for argument in arguments if argument not in original], recognised.table.syntax
    )
    environ = _environment(plan, files, recognised.table.package)
    interpreter = python or _interpreter(launch.tokens, Path(plan.cwd))
    target = ["-m", launch.target] if launch.module else [str(program)]
    if configuration.kind == "hydra":
        return CompositionCommand([interpreter, *target, *arguments, "--cfg", "job"], environ, keys)
    mark = secrets.token_hex(16)
    request = {
        "complete": configuration.complete,
        "target": target[-1],
        "module": launch.module,
        "keys": keys,
        "mark": mark,
        "incomplete": t("The program ended before its configuration was complete."),
    }
    text = _PROGRAM.read_text(encoding="utf-8")  # own file
    return CompositionCommand(
        [interpreter, "-c", text, json.dumps(request), *arguments], environ, keys, mark
    )


def line_arguments(plan: RunPlan, analysis: ProgramAnalysis) -> list[str]:
    """The arguments of the training line as they are written, with those that its script passes on."""
    return [token.text for token in _line(plan, analysis)]


def _line(plan: RunPlan, analysis: ProgramAnalysis) -> list[LineWord]:
    launch = analysis.launch.arguments if analysis.launch else ()
    tokens = [token for token in launch if not _ALL_ARGUMENTS.fullmatch(token.text)]
    if analysis.script and analysis.script.forwards:
        behind = plan.command[plan.command.index(analysis.script_argument) + 1 :]
        tokens += [LineWord(token) for token in behind]
    return tokens


def _arguments(line: Sequence[LineWord], files: Files) -> list[str] | Composed:
    """The arguments as the program gets them, or an error if a script computes them.

    Values that the script computes are left out: they don't decide whether a key exists.
    """
    arguments = []
    for token in line:
        if token.is_resolved:
            arguments.append(token.text)
        elif file := files.located(token.text, files.near[0]):
            arguments.append(str(file))
        elif re.match(r"\+*[\w.@/~-]+=", token.text) and not token.text.startswith("-"):
            continue
        else:
            shown = redact_text(token.text)
            return Composed(
                error=t("The script computes {argument} only when it runs.", argument=shown),
                next_step=t("Write its value into the script, or start without the check."),
            )
    return arguments


def _keys(arguments: Sequence[str], syntax: str) -> tuple[str, ...]:
    """The keys that these arguments set."""
    if syntax in ("hydra", "dotlist"):
        named = (
            argument.partition("=")[0].lstrip("+") for argument in arguments if "=" in argument
        )
    else:
        named = (argument.partition("=")[0] for argument in arguments if argument.startswith("--"))
    return tuple(dict.fromkeys(named))


def _environment(plan: RunPlan, files: Files, package: str) -> dict[str, str]:
    environ = environment_of(plan)
    folder = files.package(package)
    paths = [str(folder.parent) if folder else "", environ.get("PYTHONPATH", "")]
    return {
        **{
            name: value
            for name, value in environ.items()
            if name not in ("RAY_ADDRESS", "EAGLERAY_RUN")
        },
        "PYTHONPATH": os.pathsep.join(path for path in paths if path),
        "CUDA_VISIBLE_DEVICES": "",
    }


def _interpreter(tokens: Sequence[LineWord], cwd: Path) -> str:
    """The Python of the training line; for `uv run`, the Python of the project's environment."""
    named = (token.text for token in tokens if token.is_resolved and _PYTHON.fullmatch(token.text))
    project = cwd / ".venv" / "bin" / "python"
    if any(token.text.endswith("uv") for token in tokens) and project.is_file():
        return str(project)
    return next(named, "python3")


def _values(ended: CommandResult, made: CompositionCommand) -> dict[str, str] | None:
    """The values of the keys in what was printed; None if the program reported none."""
    printed = ended.stdout.decode("utf-8", "replace")
    if made.mark:
        report = printed.rpartition(made.mark)[2] if made.mark in printed else ""
        try:
            values = json.loads(report)
        except ValueError:
            return None
        return {str(key): str(value) for key, value in values.items()}
    root = read_yaml(printed)
    return {key: _shown(node) for key in made.keys if (node := root.at(key))}


def _shown(node: YamlNode) -> str:
    if node.is_list:
        return f"[{', '.join(_shown(element) for element in node.items())}]"
    return "{…}" if node.children is not None else node.value


def _failed(ended: CommandResult, python: str) -> Composed:
    """The error of the program in one or two sentences."""
    lines = ended.stderr.decode("utf-8", "replace").splitlines()
    if import_error := next(
        (match for line in reversed(lines) if (match := _NOT_IMPORTED.match(line))), None
    ):
        return Composed(
            error=t(
                "{python} can't import the program: {why}.", python=python, why=import_error["what"]
            ),
            next_step=t("Select the Python of the training environment, or activate it."),
        )
    printed = [line for line in lines if line.strip() and not _NOISE.match(line)]
    if "Traceback (most recent call last):" in lines:
        printed = printed[-1:]
    sentences = " ".join(line.strip().rstrip(".") + "." for line in printed[:2])
    return Composed(
        error=sentences
        or t("The program ended with exit code {code} and printed no error.", code=ended.code),
        next_step=t("Check the program's arguments and the answers of the debug run."),
    )


def shown_values(composed: Composed) -> dict[str, str]:
    """The value of each key, in the order of the settings."""
    return {printable(key, 200): _shown_value(key, value) for key, value in composed.values.items()}


def error_of(composed: Composed) -> EaglerayError | None:
    """The error of a configuration that can't be composed."""
    return not_composed(redact_text(composed.error), composed.next_step) if composed.error else None


def _shown_value(key: str, value: str | None) -> str:
    if value is None:
        return t("not in the configuration")
    return HIDDEN if is_secret(key, value) else printable(redact_text(value), 200) or t("(empty)")
