"""Errors of Ray's own pdb: unknown sessions, unreachable ones and busy ones."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def unknown_pdb(session: str) -> EaglerayError:
    return EaglerayError(
        "unknown-pdb",
        t("No worker waits in pdb session “{session}”.", session=printable(session)),
        t("It may have resumed, or another user debugs it."),
    )


def ambiguous_pdb(session: str, count: int) -> EaglerayError:
    return EaglerayError(
        "ambiguous-pdb",
        t("“{session}” matches {count} pdb sessions.", session=printable(session), count=count),
        t("Enter more of its ID."),
    )


def pdb_out_of_reach(name: str, node: str, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "pdb-out-of-reach",
        t(
            "The pdb of {name} accepts connections only on node {node}.",
            name=printable(name),
            node=printable(node),
        ),
        t("Allow ssh to that node, or start nodes with `ray start --ray-debugger-external`."),
        detail,
    )


def pdb_refused(name: str) -> EaglerayError:
    return EaglerayError(
        "pdb-refused",
        t("The pdb of {name} is closed.", name=printable(name)),
        t("The worker may have ended."),
    )


def pdb_silent(name: str) -> EaglerayError:
    return EaglerayError(
        "pdb-silent",
        t("Another terminal is connected to the pdb of {name}.", name=printable(name)),
        t("Enter `c` in that terminal to leave it."),
    )


def pdb_not_followed(name: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "pdb-not-followed",
        t(
            "No task that {name} called paused within {seconds} s.",
            name=printable(name),
            seconds=f"{seconds:g}",
        ),
        t("It may be waiting for resources. It is listed once it pauses."),
    )
