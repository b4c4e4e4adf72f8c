"""The route to a cluster as a value, the same in every window, file and request; and the validation of host names.

Both are checked before they reach a URL or the command line of ssh.
"""

from __future__ import annotations

import ipaddress
import re
from dataclasses import asdict, dataclass
from typing import Any, Literal

from eagleray.common.route_errors import bad_route
from eagleray.common.slurm_errors import unknown_node

# `[user@]host` or an alias as OpenSSH accepts it; never begins with a dash.
_DESTINATION = re.compile(r"[A-Za-z0-9_.:%+@\[\]-]{1,255}")
_JOB = re.compile(r"[0-9]{1,10}(_[0-9]{1,10})?(\+[0-9]{1,5})?")
_NODE = re.compile(r"[A-Za-z0-9]([A-Za-z0-9_.-]{0,252})")

HOST_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*\.?"
)

Kind = Literal["direct", "ssh", "srun"]


@dataclass(frozen=True)
class RouteSpec:
    """One route to a cluster.

    `ssh` is a destination as the user's own ssh knows it, "" for this machine.  `job` and `node` name a
    SLURM job and one of its nodes: then streams begin on that node, carried by `srun --overlap`, which runs on
    `ssh` or on this machine.  Without them streams begin on `ssh`, or on this machine: the direct route.
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
        """The route as text, as in "through …"."""
        if self.job:
            return f"job {self.job} on {self.node}" + (f" by {self.ssh}" if self.ssh else "")
        return self.ssh or "this machine"


DIRECT = RouteSpec()


def checked(spec: RouteSpec) -> RouteSpec:
    """Returns `spec`; raises `bad-route` for a value that could be taken for an option or shell syntax."""
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
    """Returns the route that a request or a file names, checked; raises `bad-route`."""
    if not isinstance(value, dict):
        raise bad_route(str(value))
    fields = (value.get(name) or "" for name in ("ssh", "job", "node"))
    return checked(RouteSpec(*(str(field) for field in fields)))


def host_of(ip: str) -> str:
    """Returns the address of a node that a cluster reported.

    Raises `bad-route` or `unknown-node` for anything but a name or an address: `x@elsewhere:1` would lead to
    a host that the cluster chose.
    """
    host = checked(RouteSpec(ssh=ip)).ssh
    if not HOST_NAME.fullmatch(host) and not _is_address(host):
        raise unknown_node(ip)
    return host


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True
