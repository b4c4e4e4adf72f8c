"""Discovers the user's own clusters: those that the environment names or that run on this machine."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from attrs import evolve, frozen

from eagleray.clusters.addresses import normalised
from eagleray.clusters.model import ClusterProblem
from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.common.paths import runs as run_records
from eagleray.tools import processes
from eagleray.tools.processes import Listener

VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
USUAL_PORT = 8265
USUAL_ADDRESS = f"http://127.0.0.1:{USUAL_PORT}"

Source = Literal["variable", "process", "port"]


@frozen
class DiscoveredCluster:
    """The address of a cluster and how it was discovered.

    A server on the usual port ("port") may not be Ray and is checked before it is shown.  `run` is the id of the
    run that started it, "" for none.
    """

    address: str
    source: Source
    run: str = ""


@frozen
class Discovery:
    """All discovered clusters, each address once, and hints about what was ignored."""

    clusters: tuple[DiscoveredCluster, ...]
    hints: tuple[ClusterProblem, ...]


@frozen
class Machine:
    """The sources of information about this machine; tests replace them.

    `has_run` tells whether a run with this id was started by Eagleray with the same state folder.
    """

    dashboards: Callable[[], list[DashboardProcess]]
    listeners: Callable[[], list[Listener]]
    uid: int
    has_run: Callable[[str], bool] = lambda run: False


@frozen
class DashboardProcess:
    """The dashboard process of a Ray head of this user: each head has one, even when its dashboard is switched off.

    Without a dashboard Ray starts it for usage statistics alone (2.60, `start_api_server` in `_private/services.py`).
    `run` is the id of the run in whose environment it was started, "" for none.
    """

    pid: int
    arguments: tuple[str, ...]
    listeners: tuple[Listener, ...]
    run: str = ""


def discover(environ: Mapping[str, str], machine: Machine, *, own: bool) -> Discovery:
    """Discovers the user's own clusters.

    1. RAY_API_SERVER_ADDRESS, then RAY_ADDRESS if it is an http(s) address.
    2. The port on which a dashboard process of this user listens; unless `own`, only of one that a run has started.
    3. Port 8265, if its listener belongs to this user (only if `own`): a tunnel, for example.
    """
    clusters: list[DiscoveredCluster] = []
    hints: list[ClusterProblem] = []
    for name in VARIABLES:
        _of_variable(name, environ.get(name, "").strip(), clusters, hints)
    dashboards = [
        dashboard
        for dashboard in machine.dashboards()
        if own or (dashboard.run and machine.has_run(dashboard.run))
    ]
    clusters += [cluster for dashboard in dashboards if (cluster := address_of(dashboard))]
    if own:
        hints += _switched_off(dashboards)
        _of_usual_port(machine, clusters, hints)
    unique: dict[str, DiscoveredCluster] = {}
    for cluster in clusters:
        first = unique.setdefault(cluster.address, cluster)
        # The environment may name the cluster that a run has started.
        unique[cluster.address] = evolve(first, run=first.run or cluster.run)
    return Discovery(tuple(unique.values()), tuple(hints))


def _of_variable(
    name: str, value: str, clusters: list[DiscoveredCluster], hints: list[ClusterProblem]
) -> None:
    if not value or (name == "RAY_ADDRESS" and not re.match(r"https?://", value)):
        return
    try:
        clusters.append(DiscoveredCluster(normalised(value), "variable"))
    except EaglerayError as error:
        text = f"{name}: {error.message}"
        hints.append(ClusterProblem("bad-variable", text, t("Correct or unset {name}.", name=name)))


def address_of(process: DashboardProcess) -> DiscoveredCluster | None:
    """The address of a dashboard: its configured port, or one of the next if that was taken."""
    configured = _option(process.arguments, "--port", USUAL_PORT)
    retries = _option(process.arguments, "--port-retries", 50)
    ports = range(configured, configured + retries + 1)
    # It also listens on a port for metrics.
    listening = [listener for listener in process.listeners if listener.port in ports]
    if not listening:
        return None
    first = min(listening, key=lambda listener: listener.port)
    host = f"[{first.host}]" if ":" in first.host else first.host
    return DiscoveredCluster(normalised(f"{host}:{first.port}"), "process", process.run)


def _switched_off(dashboards: Iterable[DashboardProcess]) -> list[ClusterProblem]:
    """Hints on why a Ray head of this user has no dashboard to query."""
    minimal = any("--minimal" in dashboard.arguments for dashboard in dashboards)
    disabled = any("--disable-frontend" in dashboard.arguments for dashboard in dashboards)
    if minimal:
        return [
            ClusterProblem(
                "no-ray-default",
                t("Your Ray cluster on this machine has no dashboard."),
                t("Install `ray[default]` in the head's environment, then restart the cluster."),
            )
        ]
    if disabled:
        return [
            ClusterProblem(
                "no-dashboard",
                t("The dashboard of your Ray cluster on this machine is off."),
                t(
                    "Start it with `--include-dashboard=true`, or `ray.init(include_dashboard=True)` in a program."
                ),
            )
        ]
    return []


def _of_usual_port(
    machine: Machine, clusters: list[DiscoveredCluster], hints: list[ClusterProblem]
) -> None:
    if any(cluster.address == USUAL_ADDRESS for cluster in clusters):
        return
    at_port = [listener for listener in machine.listeners() if listener.port == USUAL_PORT]
    owners = {listener.uid for listener in at_port}
    if machine.uid in owners and len(owners) == 1:
        clusters.append(DiscoveredCluster(USUAL_ADDRESS, "port"))
    elif owners:
        others = ", ".join(sorted(_user(uid) for uid in owners if uid != machine.uid))
        hints.append(
            ClusterProblem(
                "not-owner",
                t(
                    "Port {port} of this machine belongs to {user}.",
                    port=USUAL_PORT,
                    user=printable(others),
                ),
                t("If it is your cluster, connect to it by its address."),
            )
        )


def this_machine() -> Machine:
    return Machine(dashboard_processes, processes.listeners, os.getuid(), _has_run)


def _has_run(run: str) -> bool:
    return (
        re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", run) is not None
        and (run_records() / run).is_dir()
    )


def dashboard_processes() -> list[DashboardProcess]:
    """The dashboards of this user's Ray heads on this machine."""
    commands = processes.own_commands()
    dashboards = [
        pid
        for pid, arguments in commands.items()
        if any(part.endswith("/ray/dashboard/dashboard.py") for part in arguments[:4])
    ]
    listeners = processes.listeners_of(dashboards) if dashboards else {}
    return [
        DashboardProcess(pid, commands[pid], listeners[pid], processes.run_of(pid))
        for pid in dashboards
    ]


def _option(arguments: Iterable[str], name: str, default: int) -> int:
    values = (part.partition("=")[2] for part in arguments if part.startswith(f"{name}="))
    value = next(values, "")
    return int(value) if value.isdigit() else default


def _user(uid: int) -> str:
    try:
        return printable(pwd.getpwuid(uid).pw_name, 40)
    except KeyError:
        return f"user {uid}"
