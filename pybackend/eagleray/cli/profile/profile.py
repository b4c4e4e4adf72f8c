"""`eagleray profile`: starts a program whose workers nsys records, and controls the recordings."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_start, check_start, completed, ranks
from eagleray.cli.output import error_text, say
from eagleray.cli.runs import run as run_command
from eagleray.cli.runs.run_following import Progress, summary
from eagleray.cli.runs.runs import run_help, suggesting_runs
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import counted, t
from eagleray.profile.recordings.model import ClassMatch
from eagleray.runs.model import ProfilePlan, ProfileState, When
from eagleray.runs.planner import check_seconds, validate_profile

_ACTIONS = ("record", "stop", "gather")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "eagleray profile start [options] --workers PATTERN -- COMMAND…"
    add_cluster(parser, t("Run the program as a job of this cluster."))
    parser.add_argument(
        "--workers",
        metavar="PATTERN",
        action="append",
        default=[],
        help=t(
            "Record workers of this class, actor or module.class, such as '*Policy*'."
            " Separate several patterns by commas."
        ),
    )
    parser.add_argument(
        "--ranks", metavar="0,2-4", type=ranks, help=t("Record only workers of these ranks.")
    )
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--steps",
        metavar="3:5",
        nargs="?",
        const="",
        default=None,
        help=t(
            "Record where the program calls cudaProfilerApi."
            " 3:5 records steps 3 and 4 of a framework that knows steps."
        ),
    )
    when.add_argument(
        "--seconds",
        metavar="10",
        type=float,
        default=0.0,
        help=t("Record for this long from each worker's start."),
    )
    when.add_argument(
        "--on-demand",
        action="store_true",
        help=t("Record on `eagleray profile record` only. The default is from start to end."),
    )
    parser.add_argument(
        "--trace",
        metavar="LIST",
        default="cuda,nvtx,osrt",
        help=t("Trace these, as nsys names them. The default is cuda,nvtx,osrt."),
    )
    parser.add_argument(
        "--option",
        dest="options",
        metavar="NAME[=VALUE]",
        action="append",
        type=_option,
        default=[],
        help=t("Pass another option to `nsys profile`."),
    )
    parser.add_argument(
        "--nsys",
        metavar="PATH",
        default="",
        help=t("Use this nsys on the nodes. The default is the one that each node has."),
    )
    output = parser.add_argument(
        "--output",
        metavar="DIR",
        default="",
        help=t("Save the reports of each run below this folder. The default is eagleray-profiles."),
    )
    completed(output, "files")
    add_start(parser)
    # The options of `eagleray profile` before it had verbs.
    for action in _ACTIONS:
        parser.add_argument(f"--{action}", metavar="RUN", default="", help=argparse.SUPPRESS)


def add_run_argument(parser: argparse.ArgumentParser) -> None:
    completed(parser.add_argument("run", metavar="RUN", help=run_help()), "runs")


def add_record_arguments(parser: argparse.ArgumentParser) -> None:
    add_run_argument(parser)
    parser.add_argument(
        "--seconds",
        metavar="10",
        type=float,
        default=0.0,
        help=t("End the recording after this long. The default is until `profile stop`."),
    )


def check(arguments: argparse.Namespace) -> str:
    if "workers" not in arguments:
        return ""
    actions = [name for name in _ACTIONS if getattr(arguments, name)]
    if len(actions) > 1 or (actions and arguments.program):
        return t("Use only one of --record, --stop, --gather, or a program after `--`.")
    if not actions and not arguments.program:
        return t("Write the program after `--`, such as `-- python train.py`.")
    if not actions and not arguments.workers:
        return t("Specify --workers PATTERN. '*' records all workers.")
    return check_start(arguments)


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.record:
        return await _record(app, arguments.record, arguments.seconds)
    if arguments.stop:
        return await _stop(app, arguments.stop)
    if arguments.gather:
        return await _download(app, arguments.gather)
    plan = plan_of(arguments)
    await _preview(app, arguments.cluster or "", plan.workers)
    return await run_command.start(app, arguments, plan)


async def record(app: App, arguments: argparse.Namespace) -> int:
    return await _record(app, arguments.run, arguments.seconds)


async def stop(app: App, arguments: argparse.Namespace) -> int:
    return await _stop(app, arguments.run)


async def download(app: App, arguments: argparse.Namespace) -> int:
    return await _download(app, arguments.run)


async def _record(app: App, run: str, seconds: float) -> int:
    if seconds:
        check_seconds(seconds)
    with suggesting_runs(app, run):
        count = await app.profiling.record(run, [], seconds)
    say(counted(count, "Started a recording in {n} worker.", "Started a recording in {n} workers."))
    if seconds:
        say(t("It ends after {seconds} s.", seconds=f"{seconds:g}"))
    else:
        say(t("End it: `eagleray profile stop {run}`.", run=run))
    return 0


async def _stop(app: App, run: str) -> int:
    with suggesting_runs(app, run):
        count = await app.profiling.stop(run, [])
    say(counted(count, "Ended the recording in {n} worker.", "Ended the recording in {n} workers."))
    return 0


def plan_of(arguments: argparse.Namespace) -> ProfilePlan:
    """The profile that the arguments describe; raises `bad-profile`."""
    profile = ProfilePlan(
        workers=tuple(arguments.workers),
        ranks=arguments.ranks,
        steps=arguments.steps or "",
        seconds=arguments.seconds,
        trace=arguments.trace,
        options=dict(arguments.options),
        nsys=arguments.nsys,
        output=arguments.output,
        when=_when(arguments),
    )
    return validate_profile(profile)


def _when(arguments: argparse.Namespace) -> When:
    if arguments.steps is not None:
        return "steps"
    if arguments.seconds:
        return "seconds"
    return "on-demand" if arguments.on_demand else "always"


async def _download(app: App, run: str) -> int:
    progress = Progress()

    def print_lines(state: ProfileState) -> None:
        for line in progress.lines(state):
            say(line)

    with suggesting_runs(app, run):
        state = await app.profiling.gather(run, print_lines)
    say(summary(state))
    return 0 if state.gathered >= state.expected else 1


async def _preview(app: App, cluster: str, patterns: tuple[str, ...]) -> None:
    """Prints which classes of the cluster and of earlier runs match; a new program may have none."""
    cluster = "" if cluster.startswith("ssh://") else cluster
    try:
        classes = await app.profiling.preview(cluster, patterns)
    except EaglerayError as error:
        say(error_text(error))
        return
    if not cluster:
        # Classes of other programs don't count as a mismatch.
        classes = [match for match in classes if match.matched_by]
    for line in preview_lines(classes, patterns):
        say(line)


def preview_lines(classes: list[ClassMatch], patterns: tuple[str, ...]) -> list[str]:
    """The classes that fit, and how many do not."""
    fitting = [match for match in classes if match.matched_by]
    lines = [_match_line(match) for match in fitting]
    if classes and not fitting:
        lines.append(
            counted(len(classes), "The {n} class doesn't match.", "None of the {n} classes match.")
        )
        if any("." in pattern for pattern in patterns):
            # Its table of actors names classes alone.
            lines.append(
                t(
                    "Ray lists classes without their modules. A class that fits by its module is recorded."
                )
            )
    return lines


def _match_line(match: ClassMatch) -> str:
    name, pattern = printable(match.name, 100), printable(match.matched_by, 60)
    if match.running:
        return t("{name} fits {pattern} ({n} running)", name=name, pattern=pattern, n=match.running)
    return t("{name} fits {pattern} (of an earlier run)", name=name, pattern=pattern)


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.lstrip("-").partition("=")
    if not name:
        raise argparse.ArgumentTypeError(t("must be NAME or NAME=VALUE"))
    return name, value
