"""A picture as text, for a terminal and as Markdown for an issue: the sentence, the tree, and what was not seen."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from eagleray.common.l10n import counted, later, t, translated
from eagleray.common.redact import redact_text
from eagleray.features.hangs import wording
from eagleray.features.hangs.comparing import Move
from eagleray.features.hangs.model import Coverage, Picture, StackClass
from eagleray.features.hangs.picture import tree_of
from eagleray.sampling.frames import PythonFrame, is_noise, is_users
from eagleray.sampling.merging import TreeNode
from eagleray.sampling.rank_sets import RankSet

REASONS = {
    "ended": later("has ended"),
    "not-found": later("has no process here"),
    "permission": later("reading it is not allowed"),
    "timeout": later("reading it took too long"),
    "no-tool": later("py-spy is missing"),
    "not-python": later("is not a Python process"),
}


def lines(taken: Picture) -> Iterator[str]:
    yield from _verdict(taken)
    yield ""
    yield from tree_lines(tree_of(taken), taken)
    yield ""
    yield counted(
        taken.coverage.processes,
        "{n} process seen in 3 samples.",
        "{n} processes seen in 3 samples.",
    )
    yield from _unseen(taken.coverage)


def markdown(taken: Picture) -> str:
    """The picture for an issue of the user's project: secrets in arguments of commands are hidden."""
    verdict, *rest = _verdict(taken)
    parts = [f"**{verdict}**", *rest, "```text", *tree_lines(tree_of(taken), taken), "```"]
    parts += [f"- {line}" for line in _unseen(taken.coverage)]
    return redact_text("\n\n".join(parts[:1]) + "\n\n" + "\n".join(parts[1:]) + "\n")


def comparison(moves: Iterable[Move]) -> Iterator[str]:
    listed = list(moves)
    if not listed:
        yield t("No rank has moved between the two pictures.")
    for move in listed:
        yield t(
            "{Ranks}: {before} → {after}",
            Ranks=wording.Ranks_of(move.ranks),
            before=_position(move.before),
            after=_position(move.after),
        )


def tree_lines(nodes: list[TreeNode], taken: Picture, depth: int = 0) -> Iterator[str]:
    several = len({each.group for each in taken.classes}) > 1
    for node in nodes:
        folded = _folded(node.frames)
        if folded:
            members = _members(node.members, several)
            yield f"{'  ' * depth}[{members}] {' > '.join(folded)}"
        yield from tree_lines(node.children, taken, depth + bool(folded))


def _verdict(taken: Picture) -> Iterator[str]:
    verdict = taken.verdict
    yield verdict.sentence
    yield verdict.next_step
    if verdict.kind == "unknown":
        for other in verdict.readings:
            yield t(
                "Possibly {kind}, {percent} %: {sentence}",
                kind=other.kind,
                percent=round(100 * other.confidence),
                sentence=other.sentence,
            )
    else:
        yield t(
            "{kind}, {percent} % sure", kind=verdict.kind, percent=round(100 * verdict.confidence)
        )


def _unseen(coverage: Coverage) -> Iterator[str]:
    by_reason: dict[str, list[int]] = defaultdict(list)
    for each in coverage.unseen:
        by_reason[each.reason].append(each.rank)
    for reason, ranks in by_reason.items():
        yield t(
            "Not seen: {ranks} ({reason})",
            ranks=wording.ranks_of(RankSet.of(ranks)),
            reason=translated(REASONS[reason]) if reason in REASONS else reason,
        )
    for node in coverage.nodes:
        why = t("it did not answer in time") if node.reason == "timeout" else node.detail
        yield t("Not seen: node {node} ({reason})", node=node.node, reason=why)


def _folded(frames: Iterable[PythonFrame]) -> list[str]:
    """The frames of a chain that tell something: those of the user, and the last."""
    shown = [frame for frame in frames if not is_noise(frame)]
    return [
        f"{wording.short_function(frame)} ({wording.line_of(frame)})"
        for index, frame in enumerate(shown)
        if is_users(frame) or index == len(shown) - 1
    ]


def _members(members: Mapping[str, RankSet], several: bool) -> str:
    return "; ".join(
        f"{group} {ranks}" if several else str(ranks) for group, ranks in members.items()
    )


def _position(each: StackClass | None) -> str:
    if each is None:
        return t("not seen")
    frames = [PythonFrame(frame.function, frame.path, frame.line) for frame in each.frames]
    return " > ".join(_folded(frames)[-2:])
