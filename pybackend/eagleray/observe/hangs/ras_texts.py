"""The answers of NCCL's RAS, in sentences for the terminal and the page."""

from __future__ import annotations

from collections.abc import Iterator

from attrs import evolve

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs.model import RasRow
from eagleray.observe.hangs.wording import Ranks_of
from eagleray.remote.sampling.rank_sets import RankSet
from eagleray.remote.sampling.ras import OLD, TIMEOUT


def with_sentences(row: RasRow, *, has_messages: bool) -> RasRow:
    """The row with what it says; `has_messages`: ranks are in a send or a recv."""
    return evolve(row, sentences=tuple(_sentences(row, has_messages=has_messages)))


def _sentences(row: RasRow, *, has_messages: bool) -> Iterator[str]:
    if row.communicators:
        yield counted(
            row.communicators,
            "NCCL RAS: {n} communicator of {ranks} ranks.",
            "NCCL RAS: {n} communicators, the largest of {ranks} ranks.",
            ranks=row.ranks,
        )
        if row.state == "equal":
            yield t("All ranks that answer have launched the same, which excludes no hang.")
        elif row.state == "advance":
            yield t("Some ranks are ahead, and ranks have launched more between the samples.")
        elif not row.state:
            yield t("Some ranks are ahead. Whether that lasts isn't known.")
        if has_messages:
            yield t("NCCL RAS doesn't count send and recv.")
    for each in row.notable:
        if behind := RankSet.parse(each.behind):
            yield counted(
                len(behind),
                "{Ranks} of communicator {name} lacks launches ({call}).",
                "{Ranks} of communicator {name} lack launches ({call}).",
                Ranks=Ranks_of(behind),
                name=each.name,
                call=each.call or "?",
            )
        if absent := RankSet.parse(each.absent):
            yield counted(
                len(absent),
                "{Ranks} of communicator {name} doesn't answer.",
                "{Ranks} of communicator {name} don't answer.",
                Ranks=Ranks_of(absent),
                name=each.name,
            )
    if OLD in row.reasons:
        yield t(
            "NCCL RAS on {node} wasn't read: before 2.29 that may crash it.",
            node=row.node or t("this machine"),
        )
    elif TIMEOUT in row.reasons:
        yield t(
            "A process on {node} didn't answer NCCL RAS. It may be stopped.",
            node=row.node or t("this machine"),
        )
    elif row.reasons:
        yield t("NCCL RAS on {node} could not be read.", node=row.node or t("this machine"))
