"""Errors of routes: unreachable ports, lost connections."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def bad_route(written: str) -> EaglerayError:
    return EaglerayError(
        "bad-route",
        f"“{printable(written)}” is not the name of a host, a SLURM job or a node.",
        "Write the host as in `ssh HOST`, the job as `squeue` shows it.",
    )


def port_refused(host: str, port: int, why: str, through: str = "") -> EaglerayError:
    """`why` is the message of the last hop."""
    reason = printable(why).rstrip(".")
    return EaglerayError(
        "port-refused",
        f"{printable(host)}:{port} cannot be reached{_through(through)}: {reason}.",
        "Check that it still runs, and that it listens on an address which is reached from there.",
    )


def port_silent(host: str, port: int, seconds: float, through: str = "") -> EaglerayError:
    return EaglerayError(
        "port-silent",
        f"{printable(host)}:{port} did not answer within {seconds:g} s{_through(through)}.",
        "A firewall may drop the packets, or the node be gone.",
    )


def port_taken(port: int, detail: str) -> EaglerayError:
    return EaglerayError(
        "port-taken",
        f"Port {port} of this machine cannot be listened on: {printable(detail)}.",
        "Choose another one, or 0 for any that is free.",
    )


def link_lost(through: str, why: str = "") -> EaglerayError:
    return EaglerayError(
        "link-lost",
        f"The connection{_through(through)} was lost{f': {printable(why)}' if why else ''}".rstrip(
            "."
        )
        + ".",
        retries=True,
    )


def route_not_possible(kind: str) -> EaglerayError:
    return EaglerayError(
        "route-not-possible",
        f"A connection by {printable(kind)} cannot be made from here.",
        "Use another way to the cluster.",
    )


def _through(route: str) -> str:
    return f" through {printable(route)}" if route else ""
