"""Errors of routes: unreachable ports, lost connections."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t

# The codes of these errors where the node is reached, and nothing listens there.
NOT_LISTENING = frozenset({"port-refused", "far-port-refused"})


# fmt: off
@error("bad-route", "“{written}” is not a host, SLURM job or node.",
       "Enter a host as for ssh, or a job ID of `squeue`.")
def bad_route(written: str) -> EaglerayError: ...
@error("port-taken", "Can't listen on port {port} of this machine: {why}.", "Use another port, or 0 for any free one.")
def port_taken(port: int, why: str) -> EaglerayError: ...
@error("route-not-possible", "Can't connect by {kind} from this machine.", "Use another address of the cluster.")
def route_not_possible(kind: str) -> EaglerayError: ...
# fmt: on


def port_refused(host: str, port: int, why: str, through: str = "") -> EaglerayError:
    """`why` is the message of the last hop."""
    reason = printable(why).rstrip(".")
    return EaglerayError(
        "port-refused",
        t(
            "Can't connect to {host}:{port}{through}: {reason}.",
            host=printable(host),
            port=port,
            through=_through(through),
            reason=reason,
        ),
        t("Check that it is running, and that its address is reachable."),
    )


def port_silent(host: str, port: int, seconds: float, through: str = "") -> EaglerayError:
    return EaglerayError(
        "port-silent",
        t(
            "{host}:{port} did not answer within {seconds} s{through}.",
            host=printable(host),
            port=port,
            seconds=f"{seconds:g}",
            through=_through(through),
        ),
        t("The node may be down, or a firewall drops the packets."),
    )


def link_lost(through: str, detail: str = "", output: str = "") -> EaglerayError:
    """`output`: what the program that carried the connection printed."""
    return EaglerayError(
        "link-lost",
        t("Lost connection{through}.", through=_through(through)),
        detail=detail,
        retries=True,
        output=output,
    )


def _through(route: str) -> str:
    return t(" through {route}", route=printable(route)) if route else ""
