"""Names and addresses of hosts, checked before they reach a URL or the command line of ssh."""

from __future__ import annotations

import ipaddress
import re

from eagleray.common.slurm_errors import unknown_node
from eagleray.protocol.route_spec import RouteSpec, checked

HOST_NAME = re.compile(
    r"(?=.{1,253}$)[A-Za-z0-9_]([A-Za-z0-9_-]*[A-Za-z0-9_])?(\.[A-Za-z0-9_-]+)*\.?"
)


def host_of(ip: str) -> str:
    """The address of a node as a cluster reports it.

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
