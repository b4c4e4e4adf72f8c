"""How a cluster is reached from this machine, as a value: the same in every window, file and request."""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from eagleray.common.route_errors import bad_route

# What OpenSSH takes as `[user@]host` or an alias; it never begins with a dash.
_DESTINATION = re.compile(r"[A-Za-z0-9_.:%+@\[\]-]{1,255}")
_JOB = re.compile(r"[0-9]{1,10}(_[0-9]{1,10})?(\+[0-9]{1,5})?")
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,252})")

Kind = Literal["direct", "ssh", "srun"]


@dataclass(frozen=True)
class RouteSpec:
    """One way to a cluster.

    `ssh` is a destination as the person's own ssh knows it, "" for this machine.  `job` and `node` name a
    SLURM job and one of its nodes: then streams begin there, carried by `srun --overlap` that runs on
    `ssh` or on this machine.  Without them streams begin on `ssh`, or here: the direct route.
    """

    ssh: str = ""
    job: str = ""
    node: str = ""

    @property
    def kind(self) -> Kind:
        if self.job:
            return "srun"
        return "ssh" if self.ssh else "direct"

    @property
    def text(self) -> str:
        """The route in words, as in "through …"."""
        if self.job:
            return f"job {self.job} on {self.node}" + (f" by {self.ssh}" if self.ssh else "")
        return self.ssh or "this machine"


DIRECT = RouteSpec()


def checked(spec: RouteSpec) -> RouteSpec:
    """`spec` itself; raises `bad-route` for what could be taken for an option or a shell's syntax."""
    wrong = [
        value
        for value, pattern in ((spec.ssh, _DESTINATION), (spec.job, _JOB), (spec.node, _NODE))
        if value and (value.startswith("-") or not pattern.fullmatch(value))
    ]
    if wrong or bool(spec.job) != bool(spec.node):
        raise bad_route((wrong or [spec.job or spec.node])[0])
    return spec


def to_json(spec: RouteSpec) -> dict[str, str]:
    return asdict(spec)


def of_json(value: Any) -> RouteSpec:
    """The checked route that a request or a file names; raises `bad-route`."""
    if not isinstance(value, dict):
        raise bad_route(str(value))
    fields = (value.get(name) or "" for name in ("ssh", "job", "node"))
    return checked(RouteSpec(*(str(field) for field in fields)))
