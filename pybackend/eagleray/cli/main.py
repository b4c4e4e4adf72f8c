"""The `eagleray` command: a thin face over the features, for terminals, scripts and CI.

Results go to standard output, words about them and errors to standard error.  It ends with 0 when all
was done, 1 with an error of the catalogue, 2 when the command line is wrong, 126 or 127 when a program cannot be started.
"""

from __future__ import annotations

import argparse
import errno
import io
import os
import sys
from collections.abc import Sequence

from eagleray import __version__
from eagleray.cli import profile_arguments, report_arguments, run_arguments
from eagleray.cli.cluster_help import CLUSTER_HELP
from eagleray.common.errors import EaglerayError

# The exit codes of a shell for a command that it cannot start.
CODES = {"program-not-found": 127, "not-executable": 126}
# What writing to a full or broken disk, or to a terminal that is gone, says.
_UNWRITABLE = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def main(arguments: Sequence[str] | None = None) -> int:
    top = parser()
    ours, program = run_arguments.split(sys.argv[1:] if arguments is None else arguments)
    asked = top.parse_args(ours)
    asked.program = program
    if wrong := _wrong(asked):
        asked.refuse(wrong)
    try:
        return _run(asked)
    except EaglerayError as error:
        print(f"eagleray: {error.message}", _step_now(error), sep="\n", file=sys.stderr)
        return CODES.get(error.code, 1)
    except BrokenPipeError:
        # The reader of our output has enough of it.
        _drop_output()
        return 0
    except OSError as error:
        if error.filename is not None or error.errno not in _UNWRITABLE:
            raise
        _drop_output()
        print(f"eagleray: The output can't be written: {error.strerror}.", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        return 130


def _run(asked: argparse.Namespace) -> int:
    # Imported late: `--help` and a wrong command line are answered at once.
    from eagleray.cli.commands import run

    _start_log(asked.verbose)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # A terminal that can't show a name must not keep the command from its end.
        sys.stdout.reconfigure(errors="backslashreplace")
    code = run(asked)
    sys.stdout.flush()
    return code


def _step_now(error: EaglerayError) -> str:
    from eagleray.cli.printing import step_now

    return step_now(error)


def _drop_output() -> None:
    """The interpreter would complain at its end of what it couldn't write."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def parser() -> argparse.ArgumentParser:
    """The command line."""
    top = argparse.ArgumentParser(
        prog="eagleray", description="Debug and profile distributed training on Ray."
    )
    top.add_argument("--version", action="version", version=f"eagleray {__version__}")
    top.add_argument("--verbose", action="store_true", help="say what is done, on standard error")
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")

    _command(commands, "clusters", "the known clusters, and what is seen of them")
    slurm = _command(
        commands, "slurm", "your SLURM jobs, and which of them hold a Ray", cluster=False
    )
    tunnel = _command(
        commands,
        "tunnel",
        "a port of 127.0.0.1 that leads into a cluster until Ctrl-C",
        cluster=False,
        json=False,
    )
    _command(commands, "paused", "workers that wait at a breakpoint() or that are held")
    attach = _command(
        commands, "attach", "attach to a worker; prints a Unix socket for any DAP client"
    )
    continue_ = _command(commands, "continue", "let workers run on")
    release = _command(commands, "release", "let held workers run on and give them up")
    logs = _command(commands, "logs", "the end of a worker's log")

    run_arguments.add_run(
        _command(commands, "run", run_arguments.RUN_HELP, cluster=False, json=False)
    )
    profile_arguments.add_profile(
        _command(commands, "profile", profile_arguments.PROFILE_HELP, cluster=False, json=False)
    )
    run_arguments.add_runs(_command(commands, "runs", run_arguments.RUNS_HELP, cluster=False))
    report = _command(
        commands,
        "report",
        "what nsys has recorded: GPUs, kernels, NVTX ranges, gaps",
        cluster=False,
    )
    pdb = _command(
        commands,
        "pdb",
        "workers that wait in Ray's own pdb (RAY_DEBUG=legacy), or a terminal to one",
    )

    worker_help = "worker id, an unambiguous beginning of one, or the worker's name"
    attach.add_argument("worker", metavar="WORKER", help=worker_help)
    attach.add_argument(
        "--folder",
        action="append",
        default=[],
        help="where to look for the worker's files (default: the current folder)",
    )
    for several in (continue_, release):
        several.add_argument("workers", metavar="WORKER", nargs="*", help=worker_help)
        several.add_argument("--all", action="store_true", help="all of them")
    logs.add_argument("worker", metavar="WORKER", help=worker_help)
    logs.add_argument("--err", action="store_true", help="standard error instead of output")
    logs.add_argument("--lines", type=_positive, default=1000, help="at most so many (1000)")
    logs.add_argument("--follow", action="store_true", help="go on with what is appended")
    pdb.add_argument(
        "session", metavar="SESSION", nargs="?", help="the id, the beginning of it, or the name"
    )
    pdb.add_argument("--at", default="", help=argparse.SUPPRESS)
    report_arguments.add_report(report)
    slurm.add_argument(
        "--host",
        metavar="HOST",
        action="append",
        default=[],
        help="a login node as in `ssh HOST` (default: this machine and the hosts that were added)",
    )
    tunnel.add_argument("cluster_id", metavar="CLUSTER", help=CLUSTER_HELP)
    tunnel.add_argument(
        "to",
        metavar="HOST:PORT",
        nargs="?",
        type=_host_and_port,
        help="where it leads, as the cluster knows it (default: the dashboard)",
    )
    tunnel.add_argument(
        "--port", metavar="PORT", type=_port, default=0, help="the port here (default: a free one)"
    )
    tunnel.add_argument(
        "--shared", action="store_true", help="let other users of this machine connect as well"
    )
    return top


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    text: str,
    *,
    cluster: bool = True,
    json: bool = True,
) -> argparse.ArgumentParser:
    command = commands.add_parser(name, help=text, description=text)
    # With the usage of the command itself.
    command.set_defaults(refuse=command.error)
    if cluster:
        command.add_argument("--cluster", metavar="URL", help=CLUSTER_HELP)
    if json:
        command.add_argument("--json", action="store_true", help="print JSON")
    return command


def _wrong(asked: argparse.Namespace) -> str:
    """What argparse cannot say about the arguments."""
    if asked.command == "profile":
        return profile_arguments.wrong(asked) or run_arguments.wrong(asked)
    if asked.command in ("run", "runs"):
        return run_arguments.wrong(asked)
    if asked.command == "report":
        return report_arguments.wrong(asked)
    if "workers" in asked and bool(asked.workers) == asked.all:
        return "name workers, or say --all"
    if asked.command == "logs" and asked.follow and asked.json:
        return "--follow cannot be had as JSON"
    if asked.command == "pdb" and asked.json and (asked.session or asked.at):
        return "only the list can be had as JSON"
    return ""


def _positive(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("must be at least 1")
    return number


def _port(text: str) -> int:
    number = int(text)
    if not 0 <= number < 2**16:
        raise argparse.ArgumentTypeError("no port")
    return number


def _host_and_port(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    host = host.removeprefix("[").removesuffix("]")
    if not colon or not host or not port.isdecimal() or not 0 < int(port) < 2**16:
        raise argparse.ArgumentTypeError("write HOST:PORT")
    return host, int(port)


def _start_log(verbose: bool) -> None:
    import logging

    logging.basicConfig(
        stream=sys.stderr,
        level=logging.INFO if verbose else logging.CRITICAL,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
