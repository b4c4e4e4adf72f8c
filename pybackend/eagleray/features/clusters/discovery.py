"""Finding one's own clusters: what the environment names and what runs on this machine under this user."""

from __future__ import annotations

import os
import pwd
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Literal

from attrs import frozen

from eagleray.common.errors import EaglerayError, printable
from eagleray.features.clusters.addresses import normalised
from eagleray.features.clusters.problems import Problem
from eagleray.tools import processes
from eagleray.tools.processes import Listener

VARIABLES = ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS")
USUAL_PORT = 8265
USUAL_ADDRESS = f"http://127.0.0.1:{USUAL_PORT}"

Source = Literal["variable", "process", "port"]


@frozen
class Found:
    """A cluster that was found, and how.

    What listens on the usual port ("port") may be no Ray at all and is asked before it is shown.
    """

    address: str
    source: Source


@frozen
class Findings:
    """All that was found, each address once, and what the person should know of what was left alone."""

    found: tuple[Found, ...]
    hints: tuple[Problem, ...]


@frozen
class Machine:
    """What is looked at on this machine; tests put their own in place of it."""

    dashboards: Callable[[], list[DashboardProcess]]
    listeners: Callable[[], list[Listener]]
    uid: int


@frozen
class DashboardProcess:
    """The dashboard of a Ray head of this user: each head runs one, even when it is switched off."""

    pid: int
    arguments: tuple[str, ...]
    listeners: tuple[Listener, ...]


def find(environ: Mapping[str, str], machine: Machine, *, own: bool) -> Findings:
    """The clusters that are one's own.

    1. RAY_API_SERVER_ADDRESS, then RAY_ADDRESS if it is an http(s) address.
    2. The port on which a dashboard process of this user listens (only if `own`).
    3. Port 8265, if its listener belongs to this user (only if `own`): a tunnel, for example.
    """
    found: list[Found] = []
    hints: list[Problem] = []
    for name in VARIABLES:
        _of_variable(name, environ.get(name, "").strip(), found, hints)
    if own:
        dashboards = machine.dashboards()
        found += [one for dashboard in dashboards if (one := address_of(dashboard))]
        hints += _switched_off(dashboards)
        _of_usual_port(machine, found, hints)
    unique: dict[str, Found] = {}
    for one in found:
        unique.setdefault(one.address, one)
    return Findings(tuple(unique.values()), tuple(hints))


def _of_variable(name: str, value: str, found: list[Found], hints: list[Problem]) -> None:
    if not value or (name == "RAY_ADDRESS" and not re.match(r"https?://", value)):
        return
    try:
        found.append(Found(normalised(value), "variable"))
    except EaglerayError as error:
        text = f"{name}: {error.message}"
        hints.append(Problem("bad-variable", text, f"Correct {name}, or unset it."))


def address_of(process: DashboardProcess) -> Found | None:
    """The port of a dashboard: the one it was told, or one of the next that it tried when that was taken."""
    told = _option(process.arguments, "--port", USUAL_PORT)
    retries = _option(process.arguments, "--port-retries", 50)
    ports = range(told, told + retries + 1)
    # It also listens on a port for metrics, which is not asked.
    listening = [one for one in process.listeners if one.port in ports]
    if not listening:
        return None
    first = min(listening, key=lambda one: one.port)
    host = f"[{first.host}]" if ":" in first.host else first.host
    return Found(normalised(f"{host}:{first.port}"), "process")


def _switched_off(dashboards: Iterable[DashboardProcess]) -> list[Problem]:
    """Why a Ray head of this user has no dashboard that could be asked."""
    minimal = any("--minimal" in one.arguments for one in dashboards)
    disabled = any("--disable-frontend" in one.arguments for one in dashboards)
    if minimal:
        return [
            Problem(
                "no-ray-default",
                "A Ray cluster of yours runs on this machine without a dashboard, because `ray` was installed without its extra.",
                "Install `ray[default]` in the head's environment and start the cluster again.",
            )
        ]
    if disabled:
        return [
            Problem(
                "no-dashboard",
                "A Ray cluster of yours runs on this machine with its dashboard switched off.",
                "Start it with `--include-dashboard=true` (in a program: ray.init(include_dashboard=True)).",
            )
        ]
    return []


def _of_usual_port(machine: Machine, found: list[Found], hints: list[Problem]) -> None:
    if any(one.address == USUAL_ADDRESS for one in found):
        return
    at_port = [one for one in machine.listeners() if one.port == USUAL_PORT]
    owners = {one.uid for one in at_port}
    if machine.uid in owners and len(owners) == 1:
        found.append(Found(USUAL_ADDRESS, "port"))
    elif owners:
        others = ", ".join(sorted(_user(uid) for uid in owners if uid != machine.uid))
        hints.append(
            Problem(
                "not-owner",
                f"Port {USUAL_PORT} of this machine belongs to {others} and was left alone.",
                "If it is your cluster all the same, add it by its address.",
            )
        )


def this_machine() -> Machine:
    return Machine(dashboard_processes, processes.listeners, os.getuid())


def dashboard_processes() -> list[DashboardProcess]:
    """The dashboards of this user's Ray heads on this machine."""
    commands = processes.own_commands()
    dashboards = [
        pid
        for pid, arguments in commands.items()
        if any(part.endswith("/ray/dashboard/dashboard.py") for part in arguments[:4])
    ]
    listeners = processes.listeners_of(dashboards) if dashboards else {}
    return [DashboardProcess(pid, commands[pid], listeners[pid]) for pid in dashboards]


def _option(arguments: Iterable[str], name: str, default: int) -> int:
    values = (part.partition("=")[2] for part in arguments if part.startswith(f"{name}="))
    value = next(values, "")
    return int(value) if value.isdigit() else default


def _user(uid: int) -> str:
    try:
        return printable(pwd.getpwuid(uid).pw_name, 40)
    except KeyError:
        return f"user {uid}"
