"""Encodes the config of a run for the injected code: one variable of the program's environment."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from attrs import Attribute, asdict, frozen

from eagleray.common.paths import host_name
from eagleray.remote.injected.ed25519 import SecretKey
from eagleray.runs.model import RunPlan
from eagleray.tools.code_copies import NAME, SITE, Package, zip_package

VARIABLE = "EAGLERAY_RUN"
# How long a worker waits at a breakpoint for a debugger, and how long a stop is held when the connection is lost.
WAIT_S = 15
HOLD_S = 600


def verifier(secret: str) -> str:
    """The public key: Ray shows the environment of its workers and writes it to logs."""
    return SecretKey(bytes.fromhex(secret)).public.hex()


@frozen
class InjectedConfig:
    """The config of the injected code besides the plan.

    `has_input`: a terminal or script waits for the program, and its input is the program's input.
    `path` is the folder that holds the package, "" where it comes by Ray's package store as `uri`.  `folder` is the
    run's, "" where it is not shared.  `debugger` is a folder with a debugpy for programs without one.  `main` is the
    main program of the run.  `reports` is a folder in which workers that share a file system with us put nsys reports;
    `reader` is the version of the nsys that reads them here, "" for none.  `nsys` is the one of this machine: a node
    that has a program at this path records with it, unless the profile names another.
    """

    run: str
    verifier: str
    package: Package
    path: str = ""
    uri: str = ""
    folder: str = ""
    debugger: str = ""
    main: str = ""
    has_input: bool = False
    reports: str = ""
    reader: str = ""
    nsys: str = ""


def encode_config(plan: RunPlan, config: InjectedConfig) -> str:
    """The value of the variable."""
    value: dict[str, Any] = {
        "run": config.run,
        "verifier": config.verifier,
        "package": config.package.name,
        "path": config.path,
        "uri": config.uri,
        "breakpoints": [dataclasses.asdict(breakpoint_) for breakpoint_ in plan.breakpoints],
        "workers": list(plan.workers),
        "ranks": None if plan.ranks is None else list(plan.ranks),
        "post_mortem": plan.post_mortem,
        "children": plan.children,
        "everywhere": plan.everywhere,
        "input": config.has_input,
        "wait_s": WAIT_S,
        "hold_s": HOLD_S,
        "folder": config.folder,
        "debugpy": config.debugger,
        "main": config.main,
        "host": host_name(),
    }
    if plan.profile is not None:
        value["profile"] = asdict(plan.profile, filter=_is_sent) | {
            "reports": config.reports,
            "reader": config.reader,
            "preferred_nsys": config.nsys,
        }
    return plain_json(value)


def _is_sent(field: Attribute[object], value: object) -> bool:
    """The local folder for reports is not sent."""
    return field.name != "output"


def plain_json(value: Any) -> str:
    """JSON without a dollar sign, since Ray puts variables in place of what follows one (2.60, `update_envs`)."""
    return json.dumps(value, separators=(",", ":")).replace("$", "\\u0024")


def package_uri(of: Package) -> str:
    """How Ray's package store names our code."""
    return f"gcs://{zip_package(of)[0]}"


def with_site(environ: Mapping[str, str], folder: str, package: str) -> str:
    """PYTHONPATH with the injected package first, and without the package of a run that starts this one."""
    before = environ.get("PYTHONPATH", "")
    own = [entry for entry in before.split(":") if f"/{NAME}" not in entry] if before else []
    return ":".join([f"{folder}/{package}/{SITE}", *own])
