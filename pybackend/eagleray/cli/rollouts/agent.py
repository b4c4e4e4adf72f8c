"""`eagleray agent`: runs an agent against an inference server, once or as a wave of groups."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_json, completed, positive
from eagleray.cli.output import print_json, say
from eagleray.cli.rollouts.agent_shapes import agent_run_json, agent_wave_json
from eagleray.cli.rollouts.agent_texts import progress_line, run_lines, wave_lines
from eagleray.common.l10n import t
from eagleray.rollouts.agents import agents
from eagleray.rollouts.agents.answers import are_all_refused
from eagleray.rollouts.agents.data_items import data_choice
from eagleray.rollouts.agents.model import AgentPlan, Observed, WaveProgress
from eagleray.rollouts.servers.environment import NO_KEY
from eagleray.rollouts.servers.errors import server_not_ready
from eagleray.rollouts.servers.model import InferenceServer

TIMEOUT_S = 600.0
GROUPS, GROUP_SIZE = 64, 8
# The exit code after Ctrl-C, as a shell's.
INTERRUPTED = 130


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Adds the arguments of `agent run`."""
    parser.add_argument(
        "target", metavar="MODULE:CLASS", help=t("The class of the agent, or FILE.py:CLASS.")
    )
    data = parser.add_argument(
        "--data",
        metavar="FILE[:N]",
        required=True,
        help=t("Data as JSONL, JSON or Parquet; N is an item, counted from 1."),
    )
    server = parser.add_argument(
        "--server",
        metavar="NAME|URL",
        required=True,
        help=t("Name or URL of the inference server."),
    )
    completed(server, "servers")
    parser.add_argument(
        "--mode",
        choices=("inline", "subproc"),
        default="inline",
        help=t("How the agent gets the server: inline (arguments) or subproc (environment)."),
    )
    python = parser.add_argument(
        "--python",
        metavar="PATH",
        default="",
        help=t("Run the agent with this Python. The default is that of PATH."),
    )
    parser.add_argument(
        "--kwargs",
        metavar="JSON",
        default="",
        help=t("Construct the class with these arguments, a JSON object."),
    )
    parser.add_argument(
        "--timeout",
        metavar="S",
        type=_limit,
        default=TIMEOUT_S,
        help=t("Cancel a run after S seconds, 0 for never. Default {n}.", n=f"{TIMEOUT_S:g}"),
    )
    out = parser.add_argument(
        "--out",
        metavar="FILE.jsonl",
        default="",
        help=t("Write each run with its requests into this file."),
    )
    for action in (data, python, out):
        completed(action, "files")
    add_json(parser)


def add_wave_arguments(parser: argparse.ArgumentParser) -> None:
    add_arguments(parser)
    parser.add_argument(
        "--groups",
        metavar="N",
        type=positive,
        default=GROUPS,
        help=t("Run N groups at once, one for each item. Default {n}.", n=GROUPS),
    )
    parser.add_argument(
        "--group-size",
        metavar="N",
        type=positive,
        default=GROUP_SIZE,
        help=t("Run each item N times at once. Default {n}.", n=GROUP_SIZE),
    )


async def run(app: App, arguments: argparse.Namespace) -> int:
    """The exit code is 0 if the framework would take the result."""
    observed = await _observed(app, arguments, 1, 1)
    if arguments.json:
        print_json(agent_run_json(observed, arguments.out))
    else:
        print("\n".join(run_lines(observed)))
    return _code(observed)


async def wave(app: App, arguments: argparse.Namespace) -> int:
    """The exit code is 0 if every run gave a result that the framework would take, and the server refused not all requests."""
    observed = await _observed(app, arguments, arguments.groups, arguments.group_size)
    if arguments.json:
        print_json(agent_wave_json(observed, arguments.out))
    else:
        print("\n".join(wave_lines(observed)))
    return _code(observed)


def _code(observed: Observed) -> int:
    if observed.is_interrupted:
        return INTERRUPTED
    is_whole = len(observed.runs) == observed.plan.runs
    done = all(run.outcome == "done" and not run.broken for run in observed.runs)
    is_good = is_whole and done and all(rule.ok for rule in observed.contract)
    return 0 if is_good and not are_all_refused(observed) else 1


async def _observed(
    app: App, arguments: argparse.Namespace, groups: int, group_size: int
) -> Observed:
    server = await _server(app, arguments.server)
    plan = await agents.with_items(
        AgentPlan(
            target=arguments.target,
            base_url=server.url,
            api_key=server.api_key or NO_KEY,
            cwd=str(Path.cwd()),
            python=arguments.python,
            mode=arguments.mode,
            groups=groups,
            group_size=group_size,
            timeout_s=arguments.timeout or None,
            arguments=arguments.kwargs,
        ),
        data_choice(arguments.data),
    )
    trace = Path(arguments.out) if arguments.out else None
    stop = asyncio.Event()
    with _until_interrupted(stop), ProgressLine(plan.runs) as progress:
        return await agents.observe(plan, stop, _print_output, progress.show, trace)


@contextlib.contextmanager
def _until_interrupted(stop: asyncio.Event) -> Iterator[None]:
    """The first Ctrl-C sets `stop`, a second one ends the command."""
    loop = asyncio.get_running_loop()

    def interrupted() -> None:
        loop.remove_signal_handler(signal.SIGINT)
        stop.set()

    # Only the main thread has signals.
    with contextlib.suppress(ValueError, RuntimeError):
        loop.add_signal_handler(signal.SIGINT, interrupted)
    try:
        yield
    finally:
        with contextlib.suppress(ValueError, RuntimeError):
            loop.remove_signal_handler(signal.SIGINT)


class ProgressLine:
    """A line on the terminal that is written again; nothing without a terminal."""

    def __init__(self, runs: int) -> None:
        self._is_shown = runs > 1 and sys.stderr.isatty()

    def __enter__(self) -> ProgressLine:
        return self

    def __exit__(self, *_: object) -> None:
        if self._is_shown:
            print(file=sys.stderr)

    def show(self, progress: WaveProgress) -> None:
        if self._is_shown:
            print(f"\r\x1b[K{progress_line(progress)}", end="", file=sys.stderr, flush=True)


def _print_output(output: bytes) -> None:
    """Prints the agent's output on standard error: standard output is for the result."""
    sys.stderr.write(output.decode("utf-8", "replace"))
    sys.stderr.flush()


async def _server(app: App, written: str) -> InferenceServer:
    """The server; says why one may not answer, since an agent may need no answer."""
    server = await app.servers.resolve(written)
    if not server.url:
        raise server_not_ready(server.name, server.reason)
    if server.state != "ready" and server.reason:
        say(server.reason)
    return server


def _limit(text: str) -> float:
    number = float(text)
    if not 0 <= number < float("inf"):
        raise argparse.ArgumentTypeError(t("must be at least 0"))
    return number
