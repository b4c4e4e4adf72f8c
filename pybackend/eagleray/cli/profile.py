"""`eagleray profile`: starts a program whose workers nsys records, and controls the recordings."""

from __future__ import annotations

import argparse

from eagleray.app import App
from eagleray.cli import run as run_command
from eagleray.cli.arguments import CLUSTER_HELP, add_start, check_start, ranks
from eagleray.cli.output import say
from eagleray.cli.run_following import Progress, summary
from eagleray.common.errors import EaglerayError, printable
from eagleray.features.profiling.model import ClassMatch
from eagleray.features.runs.model import ProfilePlan, ProfileState, When
from eagleray.features.runs.preparing import check_seconds, validate_profile

_ACTIONS = ("record", "stop", "gather")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = (
        "eagleray profile [options] --workers PATTERN -- COMMAND…\n"
        "       eagleray profile --record|--stop|--gather RUN"
    )
    parser.add_argument("--cluster", metavar="URL", help=f"run it there as a job; {CLUSTER_HELP}")
    parser.add_argument(
        "--workers",
        metavar="PATTERN",
        action="append",
        default=[],
        help="workers whose name, class or module.class fits (shell patterns, separated by commas)",
    )
    parser.add_argument("--ranks", metavar="0,2-4", type=ranks, help="only workers of these ranks")
    when = parser.add_mutually_exclusive_group()
    when.add_argument(
        "--steps",
        metavar="3:5",
        nargs="?",
        const="",
        default=None,
        help="where the program calls cudaProfilerApi; a framework that knows steps is told these (3:5 is 3 and 4)",
    )
    when.add_argument(
        "--seconds",
        metavar="10",
        type=float,
        default=0.0,
        help="so long from each worker's start; with --record, from now",
    )
    when.add_argument(
        "--on-demand",
        action="store_true",
        help="only when --record says so (default: each worker from start to end)",
    )
    parser.add_argument(
        "--trace", metavar="LIST", default="cuda,nvtx,osrt", help="as nsys has it (cuda,nvtx,osrt)"
    )
    parser.add_argument(
        "--option",
        dest="options",
        metavar="NAME[=VALUE]",
        action="append",
        type=_option,
        default=[],
        help="another option of `nsys profile`",
    )
    parser.add_argument(
        "--nsys",
        metavar="PATH",
        default="",
        help="the program on the nodes (default: looked for on each)",
    )
    parser.add_argument(
        "--output",
        metavar="DIR",
        default="",
        help="where each run gets a folder for its reports (eagleray-profiles)",
    )
    add_start(parser)
    for action, text in (
        ("record", "begin to record in the live workers of that run, once more"),
        ("stop", "end the recordings of that run"),
        ("gather", "fetch the reports of that run that are not here"),
    ):
        parser.add_argument(f"--{action}", metavar="RUN", default="", help=text)


def check(arguments: argparse.Namespace) -> str:
    actions = [name for name in _ACTIONS if getattr(arguments, name)]
    if len(actions) > 1 or (actions and arguments.program):
        return "one of --record, --stop, --gather, or a command behind `--`"
    if not actions and not arguments.program:
        return "write the command behind `--`"
    if not actions and not arguments.workers:
        return "say which --workers; '*' is all"
    return check_start(arguments)


async def run(app: App, arguments: argparse.Namespace) -> int:
    if arguments.record:
        if arguments.seconds:
            check_seconds(arguments.seconds)
        count = await app.profiling.record(arguments.record, [], arguments.seconds)
        ends = f"it ends after {arguments.seconds:g} s" if arguments.seconds else "--stop ends it"
        say(f"{_requests_text(count)} to record; {ends}.")
        return 0
    if arguments.stop:
        count = await app.profiling.stop(arguments.stop, [])
        say(f"{_requests_text(count)} to end the recording.")
        return 0
    if arguments.gather:
        return await _gather(app, arguments.gather)
    plan = plan_of(arguments)
    await _preview(app, arguments.cluster or "", plan.workers)
    return await run_command.start(app, arguments, plan)


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


async def _gather(app: App, run: str) -> int:
    progress = Progress()

    def print_lines(state: ProfileState) -> None:
        for line in progress.lines(state):
            say(line)

    state = await app.profiling.gather(run, print_lines)
    say(summary(state))
    return 0 if state.gathered >= state.expected else 1


async def _preview(app: App, cluster: str, patterns: tuple[str, ...]) -> None:
    """Prints which classes of the cluster and of earlier runs match; a new program may have none."""
    cluster = "" if cluster.startswith("ssh://") else cluster
    try:
        classes = await app.profiling.preview(cluster, patterns)
    except EaglerayError as error:
        say(str(error))
        return
    if not cluster:
        # Classes of other programs are no mismatch.
        classes = [match for match in classes if match.matched_by]
    for line in preview_lines(classes, patterns):
        say(line)


def preview_lines(classes: list[ClassMatch], patterns: tuple[str, ...]) -> list[str]:
    """The classes that fit, and how many do not."""
    fitting = [match for match in classes if match.matched_by]
    lines = [
        f"{printable(match.name, 100)} fits {printable(match.matched_by, 60)} "
        f"({f'{match.running} live now' if match.running else 'seen before'})"
        for match in fitting
    ]
    others = len(classes) - len(fitting)
    if classes and not fitting:
        lines.append(f"None of the {others} classes that were seen fits.")
        if any("." in pattern for pattern in patterns):
            # Its table of actors names classes alone.
            lines.append(
                "Of which module a class is Ray does not say, only an earlier profile; "
                "one that fits by it is recorded."
            )
    return lines


def _requests_text(workers: int) -> str:
    return "1 worker was asked" if workers == 1 else f"{workers} workers were asked"


def _option(text: str) -> tuple[str, str]:
    name, _, value = text.lstrip("-").partition("=")
    if not name:
        raise argparse.ArgumentTypeError("write NAME or NAME=VALUE")
    return name, value
