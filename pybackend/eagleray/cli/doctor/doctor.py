"""`eagleray doctor`: the first cause in logs of a program that fails, and checks of a node before it starts."""

from __future__ import annotations

import argparse
import os
import socket
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path

from attrs import asdict

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_html, add_json, add_pack, completed
from eagleray.cli.doctor.shapes import diagnosis_json
from eagleray.cli.output import print_json, say
from eagleray.cli.runs.runs import suggesting_runs
from eagleray.common.blocking_calls import off_loop
from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.doctor import texts
from eagleray.doctor.environment_report import report
from eagleray.doctor.evidence_pack import pack
from eagleray.doctor.log_reading import ReportStep
from eagleray.doctor.logs.files import list_logs
from eagleray.doctor.model import Diagnosis, DiagnosisTarget
from eagleray.doctor.rule_files import example_results, read_rules
from eagleray.page.exported_page import export_record, local_time
from eagleray.runs.model import RunPlan
from eagleray.runs.program_python import python_of

# The exit code for an error in the logs, with --exit-code.
TROUBLE = 3
# Variables with a port that the program listens at, which scripts of jobs export.
INHERITED_PORTS = ("MASTER_PORT", "VLLM_PORT")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_json(parser)
    paths = parser.add_argument(
        "paths",
        metavar="PATH",
        nargs="*",
        default=[],
        help=t("Read this log file, archive or folder; - is standard input."),
    )
    completed(paths, "files")
    run_id = parser.add_argument(
        "--run",
        metavar="RUN",
        default="",
        help=t("Read the output of this run, and the logs of its workers."),
    )
    completed(run_id, "runs")
    add_cluster(parser, t("Read the logs of all nodes of this cluster, and check them."))
    parser.add_argument(
        "--slurm",
        metavar="JOB",
        default="",
        help=t("Read the output and the Ray logs of this SLURM job.")
        + " "
        + t("Check its nodes, too.")
        + " "
        + t("Write {forms}.", forms="JOB or ssh://HOST/slurm://JOB"),
    )
    parser.add_argument(
        "--before",
        action="store_true",
        help=t("Check this node, and those of --cluster, for the program after `--`."),
    )
    parser.add_argument(
        "--report",
        action="store_true",
        help=t("Print a report of the environment for an issue, without secrets."),
    )
    add_html(parser)
    add_pack(parser)
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
    if arguments.report:
        return _check_report(arguments)
    if arguments.pack and (arguments.json or arguments.before or arguments.test):
        return t("--pack prints Markdown of logs.")
    named = (arguments.run, arguments.cluster, arguments.slurm)
    sources = (arguments.paths, *named, arguments.test, arguments.before)
    is_before_on_cluster = arguments.before and arguments.cluster
    if sum(map(bool, sources)) != (2 if is_before_on_cluster else 1):
        if not any(sources):
            return t("Pass a log file or folder, for example /tmp/ray/session_latest/logs.")
        return t("Specify one of PATH, --run, --cluster, --slurm, --before, --report and --test.")
    if arguments.program and not arguments.before:
        return t("A program after `--` needs --before.")
    return ""


def _check_report(arguments: argparse.Namespace) -> str:
    others = (arguments.paths, arguments.run, arguments.test, arguments.before, arguments.html)
    if any(others) or (arguments.cluster and arguments.slurm):
        return t("--report takes only --cluster or --slurm.")
    if arguments.json:
        return t("--report prints Markdown.")
    return ""


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.test:
        return _test(Path(arguments.test), arguments.json)
    if arguments.report:
        target = DiagnosisTarget(cluster=arguments.cluster or "", slurm_job=arguments.slurm)
        print(report(await app.doctor.facts(target)), end="")
        return 0
    diagnosis = await _diagnosis(app, arguments)
    if arguments.html:
        _export(diagnosis, arguments)
    if arguments.pack:
        logs = await off_loop(partial(_logs, app, arguments))
        print(await off_loop(partial(pack, diagnosis, arguments.tokens, logs)), end="")
    elif arguments.json:
        print_json(diagnosis_json(diagnosis))
    else:
        is_of_nodes = arguments.before or (arguments.slurm and not diagnosis.checked.files)
        shown = texts.node_lines if is_of_nodes else texts.lines
        print("\n".join(printable(line, 1000) for line in shown(diagnosis)))
    is_failing = bool(diagnosis.unknown) or any(
        cause.severity == "error" for cause in diagnosis.causes
    )
    return TROUBLE if arguments.exit_code and is_failing else 0


def _export(diagnosis: Diagnosis, arguments: argparse.Namespace) -> None:
    target = arguments.run or arguments.cluster or arguments.slurm or " ".join(arguments.paths)
    message = {
        "kind": "diagnosis",
        "stored": {"diagnosis": diagnosis},
        "from": " · ".join(filter(None, (target, local_time(time.time())))),
    }
    title = t("Diagnosis: {target}", target=target)
    export_record(arguments.html, "diagnosis_page", title, message)


def _logs(app: App, arguments: argparse.Namespace) -> list[Path]:
    """The logs of this machine that were read, the one that was written last first."""
    if arguments.run:
        return [app.runs.find(arguments.run).output]
    if not arguments.paths:
        return []
    files, _ = list_logs([Path(path) for path in arguments.paths])
    return [file.path for file in sorted(files, key=lambda file: -file.written_at)]


async def _diagnosis(app: App, arguments: argparse.Namespace) -> Diagnosis:
    if arguments.before:
        return await _before(app, arguments)
    if "-" in arguments.paths:
        copy = await off_loop(partial(app.doctor.copy_of, sys.stdin.buffer))
        arguments.paths = [str(copy) if path == "-" else path for path in arguments.paths]
    target = DiagnosisTarget(
        tuple(arguments.paths), arguments.run, arguments.cluster or "", arguments.slurm
    )
    with suggesting_runs(app, arguments.run):
        return await app.doctor.diagnose(
            target, _progress(), [Path(file) for file in arguments.rules]
        )


async def _before(app: App, arguments: argparse.Namespace) -> Diagnosis:
    """Checks this node with the Python of the program, or else with the one on the path, and the nodes of a cluster."""
    program: list[str] = arguments.program
    python = ""
    if program:
        plan = RunPlan(kind="command", argv=tuple(program), cwd=str(Path.cwd()), name="")
        python = await off_loop(partial(python_of, plan))
    command = (*program, *_inherited_ports(program))
    target = DiagnosisTarget(
        cluster=arguments.cluster or "", before=True, python=python, command=command
    )
    return await app.doctor.diagnose(target, rule_files=[Path(file) for file in arguments.rules])


def _inherited_ports(program: Sequence[str]) -> Iterator[str]:
    """The ports that the program inherits, unless its command sets them: "MASTER_PORT=29500"; not the ports of another
    machine.
    """
    for name in INHERITED_PORTS:
        is_elsewhere = name == "MASTER_PORT" and _master() not in _own_names()
        is_set = any(word.startswith(f"{name}=") for word in program)
        if name in os.environ and not is_set and not is_elsewhere:
            yield f"{name}={os.environ[name]}"


def _master() -> str:
    return os.environ.get("MASTER_ADDR", "localhost")


def _own_names() -> tuple[str, ...]:
    return ("localhost", "127.0.0.1", "::1", socket.gethostname())


# A shorter check prints no progress.
_QUIET_S = 2.0


def _progress() -> ReportStep:
    """Prints what is being done, at most once in two seconds."""
    last = time.monotonic()

    def report(sentence: str, _percent: int) -> None:
        nonlocal last
        if time.monotonic() - last > _QUIET_S:
            last = time.monotonic()
            say(printable(sentence))

    return report


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
    print(
        counted(
            len(results),
            "{n} example, {wrong} wrong",
            "{n} examples, {wrong} wrong",
            wrong=len(wrong),
        )
    )
    return 1 if wrong else 0
