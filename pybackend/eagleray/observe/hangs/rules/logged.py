"""Processes that a message in a log says others have missed: at a barrier, or when they formed a process group."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.errors import printable
from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.evidence import LoggedAbsence
from eagleray.observe.hangs.rules.rule_context import Scene, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.rank_sets import RankSet

# The first of these says most.
_ORDER = ("barrier", "never", "id", "nodes", "store", "ended-store", "gloo")


def missed(scene: Scene) -> Iterator[Reading]:
    listed = scene.evidence.absences if scene.is_first else ()
    for absence in sorted(listed, key=lambda each: _ORDER.index(each.how)):
        yield _of_message(scene, absence)


def _of_message(scene: Scene, absence: LoggedAbsence) -> Reading:
    ranks = absence.ranks
    if absence.how == "barrier":
        text = counted(
            len(ranks),
            "{Ranks} didn't reach a monitored barrier, as the log says.",
            "{Ranks} didn't reach a monitored barrier, as the log says.",
            Ranks=wording.Ranks_of(ranks),
        )
        step = t("Look at the end of the log of {ranks}.", ranks=wording.ranks_of(ranks))
        return reading(scene, Kind.STRAGGLER, ranks, 0.8, text, step, is_proof=True)
    if absence.how == "never":
        text = counted(
            len(ranks),
            "{Ranks}{group} never joined a collective, as the log says.",
            "{Ranks}{group} never joined a collective, as the log says.",
            Ranks=wording.Ranks_of(ranks),
            group=_of_group(absence),
        )
        step = t("Look at the end of the log of {ranks}.", ranks=wording.ranks_of(ranks))
        culprits = RankSet() if absence.group else ranks
        return reading(scene, Kind.STRAGGLER, culprits, 0.85, text, step, is_proof=True)
    if absence.how == "id":
        first = RankSet.of([absence.first])
        text = t(
            "{Ranks}{group} waited for {first}, which didn't set up a communicator in time.",
            Ranks=wording.Ranks_of(ranks),
            group=_of_group(absence),
            first=wording.ranks_of(first),
        )
        step = t("Look at the end of the log of {ranks}.", ranks=wording.ranks_of(first))
        culprits = RankSet() if absence.group else first
        return reading(scene, Kind.STRAGGLER, culprits, 0.8, text, step, is_proof=True)
    if absence.how == "ended-store":
        text = t(
            "{Ranks} lost the store, which rank 0 or torchrun serves.",
            Ranks=wording.Ranks_of(ranks),
        )
        step = t("Look at the end of the log of {ranks}.", ranks=wording.ranks_of(RankSet.of([0])))
        return reading(scene, Kind.RANK_DEAD, (), 0.6, text, step, is_proof=True)
    if absence.how == "gloo":
        text = t(
            "{Ranks} waited in gloo ({call}) until its time limit.",
            Ranks=wording.Ranks_of(ranks) if ranks else t("A rank"),
            call=absence.call,
        )
        step = t("The log doesn't say for whom. Add the logs or stacks of the other ranks.")
        return reading(scene, Kind.STRAGGLER, RankSet(), 0.3, text, step)
    if absence.how == "nodes":
        text = t(
            "Of {size} nodes these didn't reach a barrier of torchrun: {nodes}.",
            size=absence.size,
            nodes=ranks,
        )
        step = t("Check torchrun on these nodes, and the network to them.")
    else:
        text = t(
            "Only {joined} of {size} processes joined the store, as the log says.",
            joined=absence.joined,
            size=absence.size,
        )
        step = t("Check whether the others run, with the same MASTER_ADDR and MASTER_PORT.")
    return reading(scene, Kind.INITIALIZATION, (), 0.8, text, step, is_proof=True)


def _of_group(absence: LoggedAbsence) -> str:
    """` of TP 7`, for ranks that a group numbers."""
    if not absence.group:
        return ""
    name = t("a process group") if absence.group == "?" else printable(absence.group, 60)
    return " " + t("of {group}", group=name)
