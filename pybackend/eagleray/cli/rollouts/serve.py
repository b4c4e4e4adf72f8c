"""`eagleray serve`: starts inference servers that outlive the terminal, lists, stops and restarts them."""

from __future__ import annotations

import argparse
import asyncio
from pathlib import Path

from eagleray.app import App
from eagleray.cli.arguments import add_cluster, add_json, add_variables, completed
from eagleray.cli.command_line import did_you_mean
from eagleray.cli.next_steps import TerminalError
from eagleray.cli.output import print_json, say
from eagleray.cli.questions import confirmed
from eagleray.cli.rollouts.server_shapes import (
    server_json,
    server_variables_json,
    started_server_json,
)
from eagleray.cli.table import TableColumn, add_list_output, print_rows
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.rollouts.servers.environment import export_lines
from eagleray.rollouts.servers.model import InferenceServer
from eagleray.rollouts.servers.servers import ServerRequest
from eagleray.runs.handlers import wire_run
from eagleray.runs.model import RunPlan, confirm_text


def add_list_arguments(parser: argparse.ArgumentParser) -> None:
    add_list_output(parser)


def add_start_arguments(parser: argparse.ArgumentParser) -> None:
    parser.usage = "eagleray serve start [options] -- COMMAND…"
    parser.add_argument(
        "--name", default="", help=t("Name of the server. The default is that of its engine.")
    )
    add_cluster(parser, t("Run the server as a job of this cluster."))
    parser.add_argument(
        "--host",
        metavar="HOST",
        default="",
        help=t("Run the server on this host, as in `ssh HOST`."),
    )
    parser.add_argument(
        "--slurm",
        metavar="JOB",
        default="",
        help=t("Run the server in this SLURM job, by `srun`.")
        + " "
        + t("Write {forms}.", forms="JOB or ssh://HOST/slurm://JOB"),
    )
    add_variables(parser)
    parser.add_argument(
        "--key-env",
        metavar="NAME",
        default="",
        help=t("Pass the API key to the server in this variable."),
    )
    parser.add_argument(
        "--detach", action="store_true", help=t("Return before the server answers.")
    )
    parser.add_argument(
        "--yes", action="store_true", help=t("Don't ask before submitting to SLURM.")
    )
    add_json(parser)


def add_name_arguments(parser: argparse.ArgumentParser) -> None:
    server = parser.add_argument("server", metavar="NAME", help=t("Name or URL of the server."))
    completed(server, "servers")
    add_json(parser)


def add_stop_arguments(parser: argparse.ArgumentParser) -> None:
    add_name_arguments(parser)
    parser.add_argument(
        "--yes",
        action="store_true",
        help=t("Don't ask before cancelling or submitting a SLURM job."),
    )


def add_url_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("url", metavar="URL", help=t("Such as http://127.0.0.1:8000/v1."))
    parser.add_argument(
        "--name", default="", help=t("Name of the server. The default is its host.")
    )
    parser.add_argument(
        "--key-env", metavar="NAME", default="", help=t("Variable that holds its API key.")
    )
    add_json(parser)


def check(arguments: argparse.Namespace) -> str:
    if arguments.command.takes_program and not arguments.program:
        return t("Write the command after `--`, such as `-- vllm serve MODEL`.")
    return ""


async def list_servers(app: App, arguments: argparse.Namespace) -> int:
    servers = await app.servers.list()
    if arguments.json:
        print_json([server_json(server) for server in servers])
        return 0
    if not servers:
        say(t("No servers yet. Start one: `eagleray serve start -- COMMAND`."))
    rows = [
        [
            server.name,
            server.state,
            server.url,
            printable(server.model, 60),
            server.engine,
            server.run_id,
            printable(server.reason or server.warning, 200),
        ]
        for server in servers
    ]
    print_rows(_COLUMNS, rows, [server.name for server in servers], arguments)
    return 0


async def start(app: App, arguments: argparse.Namespace) -> int:
    prepared = await app.servers.prepare(
        ServerRequest(
            argv=arguments.program,
            cwd=str(Path.cwd()),
            name=arguments.name,
            cluster=arguments.cluster or "",
            host=arguments.host,
            slurm=arguments.slurm,
            env=dict(arguments.env),
            key_variable=arguments.key_env,
        )
    )
    is_confirmed = await _confirmed(prepared.plan, arguments)
    run_id = await app.servers.start(prepared, confirmed=is_confirmed)
    return await _answered(app, run_id, arguments, detach=arguments.detach)


async def restart(app: App, arguments: argparse.Namespace) -> int:
    server = await _resolved(app, arguments.server)
    is_confirmed = arguments.yes
    if server.run_id:
        is_confirmed = await _confirmed(app.runs.load(server.run_id).plan, arguments)
    run_id = await app.servers.restart(server.run_id or server.name, confirmed=is_confirmed)
    return await _answered(app, run_id, arguments)


async def stop(app: App, arguments: argparse.Namespace) -> int:
    server = await _resolved(app, arguments.server)
    question = wire_run(app.runs.load(server.run_id)).confirm_stop if server.run_id else ""
    is_confirmed = bool(question) and (arguments.yes or await confirmed(question))
    stopped = await app.servers.stop(server.run_id or server.name, confirmed=is_confirmed)
    if arguments.json:
        print_json(server_json(stopped))
    return 0


async def env(app: App, arguments: argparse.Namespace) -> int:
    server = await _resolved(app, arguments.server)
    if arguments.json:
        print_json(server_variables_json(server))
    else:
        print(export_lines(server))
    return 0


async def add(app: App, arguments: argparse.Namespace) -> int:
    server = await app.servers.add(arguments.url, arguments.name, arguments.key_env)
    if arguments.json:
        print_json(server_json(server))
    else:
        say(_sentence(server))
    return 0


async def _answered(
    app: App, run_id: str, arguments: argparse.Namespace, *, detach: bool = False
) -> int:
    """Prints the server when it answers; Ctrl-C leaves it to start."""
    if not arguments.json:
        say(t("Log: `eagleray runs output {run}`", run=run_id))
    try:
        answered = app.servers.resolve(run_id) if detach else app.servers.until_answers(run_id)
        server = await answered
    except asyncio.CancelledError:
        say(t("The server keeps starting."))
        say(t("To end it: `eagleray serve stop {run}`", run=run_id))
        raise
    if arguments.json:
        print_json(started_server_json(server))
    else:
        say(_sentence(server))
        if server.warning:
            say(server.warning)
    return 0 if detach or server.state == "ready" else 1


def _sentence(server: InferenceServer) -> str:
    name, model = server.name, printable(server.model, 100)
    if server.state == "ready":
        if model:
            return t("{name} serves {model} at {url}.", name=name, model=model, url=server.url)
        return t("{name} answers at {url}.", name=name, url=server.url)
    return server.reason or t("{name} is {state}.", name=name, state=server.state)


async def _resolved(app: App, written: str) -> InferenceServer:
    try:
        return await app.servers.resolve(written)
    except EaglerayError as error:
        if error.code != "unknown-server":
            raise
        names = {server.name: server for server in app.servers.stored()}
        step = did_you_mean(written, names) or error.next_step
        raise TerminalError(error.code, error.message, step) from error


async def _confirmed(plan: RunPlan, arguments: argparse.Namespace) -> bool:
    question = confirm_text(plan)
    return bool(question) and (arguments.yes or await confirmed(question))


_COLUMNS = (
    TableColumn("NAME"),
    TableColumn("STATE", states=True),
    TableColumn("URL"),
    TableColumn("MODEL"),
    TableColumn("ENGINE", wide=True),
    TableColumn("RUN"),
    TableColumn("REASON", wide=True),
)
