"""Messages between two ranks that don't match (`pipeline-mismatch`)."""

from __future__ import annotations

from collections.abc import Iterator

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs.activity import MESSAGES
from eagleray.observe.hangs.counter_readings import not_started
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading


def unmatched_messages(scene: Scene) -> Iterator[Reading]:
    """A rank waits for a message of a rank that sends none to it, or sends a message that no rank receives."""
    in_messages = [each for each in scene.waiting if each.activity.call in MESSAGES]
    if not in_messages or scene.world.others(scene.waiting):
        return
    by_rank = {each.rank: each for each in scene.world.ranks}
    wait = {id(each) for each in in_messages}
    # A rank that waits for another that waits in a message, too, is only further down the pipeline.
    unmatched = [
        each
        for each in in_messages
        if (peer := by_rank.get(_peer(each))) is not None
        and not _answers(peer, each)
        and (id(peer) not in wait or _is_cycle(each, by_rank))
    ]
    if not unmatched:
        return
    at_others = [each for each in scene.waiting if each.activity.call not in MESSAGES]
    if any(by_rank[_peer(each)] in at_others for each in unmatched):
        # One side has a call too many.  Neither stacks nor counters tell which, so the smaller one is only likely.
        fewer = min(unmatched, at_others, key=len)
        kind = Kind.PIPELINE_MISMATCH if fewer is unmatched else Kind.COLLECTIVE_MISMATCH
        text = counted(
            len(fewer),
            "{Ranks} waits in {calls} while {others_wait}.",
            "{Ranks} wait in {calls} while {others_wait}.",
            **about(scene, fewer),
        )
        text += f" {late}" if (late := not_started(scene.world, unmatched)) else ""
        step = t("See which side has a message or a collective too many.")
        yield reading(scene, kind, fewer, 0.6, text, step)
        return
    if all("recv" in each.activity.call for each in unmatched):
        text = counted(
            len(unmatched),
            "{Ranks} waits in {calls} for a message that no rank sends.",
            "{Ranks} wait in {calls} for messages that no rank sends.",
            **about(scene, unmatched),
        )
    elif any("recv" in each.activity.call for each in unmatched):
        text = t(
            "{Ranks} wait in {calls} for messages that don't match.", **about(scene, unmatched)
        )
    elif len(unmatched) == 2 and all(
        _peer(by_rank[_peer(each)]) == each.rank for each in unmatched
    ):
        text = t(
            "{Ranks} send to each other in {calls}, and neither receives.",
            **about(scene, unmatched),
        )
    else:
        text = counted(
            len(unmatched),
            "{Ranks} waits in {calls} for a rank that takes its message.",
            "{Ranks} wait in {calls} for ranks that take their messages.",
            **about(scene, unmatched),
        )
    step = t("Compare the order of sends and receives of these ranks.")
    yield reading(scene, Kind.PIPELINE_MISMATCH, unmatched, 0.85, text, step)


def _peer(each: SampledProcess) -> int:
    peers = dict(each.last.peers)
    return next(
        (peers[name] for name in ("src", "dst", "group_src", "group_dst") if name in peers), -1
    )


def _answers(peer: SampledProcess, each: SampledProcess) -> bool:
    """Whether `peer` sends what `each` waits for, or takes what it sends."""
    receives = "recv" in each.activity.call
    wanted = "send" if receives else "recv"
    return wanted in peer.activity.call and _peer(peer) == each.rank


def _is_cycle(start: SampledProcess, by_rank: dict[int, SampledProcess]) -> bool:
    """Whether the ranks that `start` waits for lead back to it."""
    visited, rank = set(), _peer(start)
    while rank in by_rank and rank not in visited:
        if rank == start.rank:
            return True
        visited.add(rank)
        rank = _peer(by_rank[rank])
    return False
