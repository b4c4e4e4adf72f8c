"""`eagleray doctor`: the first cause in logs of a program that fails, and checks of a node before it starts."""

from __future__ import annotations

import argparse
import shutil
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path

from attrs import asdict

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed
from eagleray.cli.json_shapes import diagnosis_json
from eagleray.cli.output import print_json, say
from eagleray.cli.runs import suggesting_runs
from eagleray.common.errors import printable
from eagleray.common.l10n import t
from eagleray.common.off_loop import off_loop
from eagleray.features.doctor import texts
from eagleray.features.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.features.doctor.node_checks import local_facts, node_diagnosis
from eagleray.features.doctor.rule_files import example_results, read_rules
from eagleray.features.runs.model import RunPlan
from eagleray.features.runs.program_python import python_of

# The exit code for an error in the logs, with --exit-code.
TROUBLE = 3


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    paths = parser.add_argument(
        "paths", metavar="PATH", nargs="*", default=[], help=t("Read this log file or folder.")
    )
    completed(paths, "files")
    run_id = parser.add_argument(
        "--run",
        metavar="RUN",
        default="",
        help=t("Read the output of this run, by its ID or its beginning."),
    )
    completed(run_id, "runs")
    parser.add_argument(
        "--before",
        action="store_true",
        help=t("Check this node for the program after `--` instead."),
    )
    rules = parser.add_argument(
        "--rules",
        metavar="FILE",
        action="append",
        default=[],
        help=t("Use the rules in this JSON file, too."),
    )
    tested = parser.add_argument(
        "--test",
        metavar="FILE",
        default="",
        help=t("Try the examples of the rules in this JSON file instead."),
    )
    for action in (rules, tested):
        completed(action, "files")
    parser.add_argument(
        "--exit-code",
        action="store_true",
        help=t("Exit with {code} if there is an error.", code=TROUBLE),
    )


def check(arguments: argparse.Namespace) -> str:
    sources = (arguments.paths, arguments.run, arguments.test, arguments.before)
    if sum(map(bool, sources)) != 1:
        return t("Specify one of PATH, --run, --before and --test.")
    if arguments.program and not arguments.before:
        return t("A program after `--` needs --before.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.test:
        return _test(Path(arguments.test), arguments.json)
    diagnosis = await _diagnosis(app, arguments)
    if arguments.json:
        print_json(diagnosis_json(diagnosis))
    else:
        shown = texts.node_lines if arguments.before else texts.lines
        print("\n".join(printable(line, 1000) for line in shown(diagnosis)))
    is_failing = bool(diagnosis.unknown) or any(
        cause.severity == "error" for cause in diagnosis.causes
    )
    return TROUBLE if arguments.exit_code and is_failing else 0


async def _diagnosis(app: App, arguments: argparse.Namespace) -> Diagnosis:
    if arguments.before:
        return await _before(app, arguments.program)
    target = DiagnosisTarget(tuple(arguments.paths), arguments.run)
    with suggesting_runs(app, arguments.run):
        return await app.doctor.diagnose(
            target, _tenths(), [Path(file) for file in arguments.rules]
        )


async def _before(app: App, program: list[str]) -> Diagnosis:
    """Checks this node with the Python of the program, or else with the one on the path."""
    python = ""
    if program:
        plan = RunPlan("command", tuple(program), str(Path.cwd()), "")
        python = await off_loop(partial(python_of, plan))
    python = python or shutil.which("python3") or sys.executable
    return node_diagnosis([await local_facts(app.commands, python)])


def _tenths() -> Callable[[int], None]:
    """Prints how much was read, at most once for each tenth of a long reading."""
    last = 0

    def on_percent(percent: int) -> None:
        nonlocal last
        if percent // 10 > last:
            last = percent // 10
            say(t("{percent} % read", percent=10 * last))

    return on_percent


def _test(path: Path, as_json: bool) -> int:
    results = example_results(read_rules(path))
    wrong = [result for result in results if not result.is_right]
    if as_json:
        print_json({"examples": len(results), "wrong": [asdict(result) for result in wrong]})
        return 1 if wrong else 0
    for result in wrong:
        if result.should_match:
            text = t("{rule} doesn't match: {line}", rule=result.rule, line=result.line)
        else:
            text = t("{rule} matches: {line}", rule=result.rule, line=result.line)
        print(printable(text, 500))
    print(t("{n} examples, {wrong} wrong", n=len(results), wrong=len(wrong)))
    return 1 if wrong else 0
