"""The picture as text: the sentence, the tree, and the ranks that could not be seen."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from eagleray.common.l10n import later, t, translated
from eagleray.features.hangs import wording
from eagleray.features.hangs.picture import Picture, SilentNode
from eagleray.sampling.frames import Frame, is_noise, is_users
from eagleray.sampling.merging import TreeNode
from eagleray.sampling.rank_sets import RankSet

REASONS = {
    "ended": later("has ended"),
    "not-found": later("has no process"),
    "permission": later("belongs to somebody else, or reading it isn't allowed"),
    "timeout": later("didn't answer in time"),
    "no-tool": later("py-spy is missing"),
    "not-python": later("isn't a Python process, or its Python isn't known"),
}


def lines(taken: Picture) -> Iterator[str]:
    reading = taken.verdict.reading
    yield reading.sentence
    yield reading.next_step
    if reading.confidence:
        yield t(
            "{kind}, confidence {percent} %",
            kind=reading.kind.value,
            percent=round(100 * reading.confidence),
        )
    for other in taken.verdict.readings if not reading.confidence else ():
        yield t("Possible: {sentence}", sentence=other.sentence)
    yield ""
    yield from _tree(taken.tree(), 0)
    yield ""
    yield t("{n} processes seen.", n=taken.seen)
    for each in taken.unseen:
        reason = REASONS.get(each.reason)
        yield t(
            "Not seen: {rank} ({reason})",
            rank=wording.ranks_of(RankSet.of([each.rank])),
            reason=translated(reason) if reason else each.reason,
        )
    yield from map(_silent, taken.silent)


def _silent(node: SilentNode) -> str:
    if node.reason == "timeout":
        return t("Not seen: node {node} (it didn't answer in time)", node=node.host)
    return t("Not seen: node {node} ({detail})", node=node.host, detail=node.detail)


def _tree(nodes: list[TreeNode], depth: int) -> Iterator[str]:
    for node in nodes:
        shown = [frame for frame in node.frames if not is_noise(frame)]
        folded = _folded(shown)
        if folded:
            yield f"{'  ' * depth}[{_members(node.members)}] {' > '.join(folded)}"
        yield from _tree(node.children, depth + bool(folded))


def _folded(frames: list[Frame]) -> list[str]:
    """The frames of a chain that tell something: those of the user, and the last."""
    return [
        f"{wording.short_function(frame)} ({wording.line_of(frame)})"
        for index, frame in enumerate(frames)
        if is_users(frame) or index == len(frames) - 1
    ]


def _members(members: Mapping[str, RankSet]) -> str:
    several = len(members) > 1
    return "; ".join(
        f"{group} {ranks}" if several else str(ranks) for group, ranks in members.items()
    )
