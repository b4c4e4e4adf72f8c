"""Errors of Ray's own pdb: unknown sessions, unreachable ones and busy ones."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def unknown_pdb(session: str) -> EaglerayError:
    return EaglerayError(
        "unknown-pdb",
        f"No worker waits in pdb as “{printable(session)}”.",
        "It may have resumed, or somebody else debugs it.",
    )


def ambiguous_pdb(session: str, count: int) -> EaglerayError:
    return EaglerayError(
        "ambiguous-pdb",
        f"“{printable(session)}” fits {count} waiting pdb sessions.",
        "Enter more of its ID.",
    )


def pdb_out_of_reach(name: str, node: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "pdb-out-of-reach",
        f"The pdb of {printable(name)} listens only on the node {printable(node)} itself, which is not reached from here.",
        "Allow ssh to that node, or start the nodes with `ray start --ray-debugger-external`, which opens pdb to the network.",
        detail,
    )


def pdb_refused(name: str) -> EaglerayError:
    return EaglerayError(
        "pdb-refused",
        f"The pdb of {printable(name)} is closed.",
        "The worker may have ended.",
    )


def pdb_silent(name: str) -> EaglerayError:
    return EaglerayError(
        "pdb-silent",
        f"The pdb of {printable(name)} says nothing: somebody else is connected to it.",
        "It takes one connection; leave it in the other terminal with `c`.",
    )


def pdb_not_followed(name: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "pdb-not-followed",
        f"No task that {printable(name)} called has stopped within {seconds:g} s.",
        "It may be waiting for resources. It is listed once it pauses.",
    )
