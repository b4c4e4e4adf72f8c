"""The rules that read a hang from what each rank of a world does.

Each rule looks for one kind and returns its readings with their confidence; `RULES` holds them in the order in which they
are believed: a rank that a debugger keeps explains everything that waits for it, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from eagleray.common.l10n import t
from eagleray.features.hangs import source_lines, wording
from eagleray.features.hangs.activity import MESSAGES, WAIT, Doing
from eagleray.features.hangs.evidence import Evidence, Seen, World
from eagleray.features.hangs.verdict import Kind, Reading
from eagleray.sampling.rank_sets import RankSet

WAITS = (Doing.IN_COLLECTIVE, Doing.INITIALIZING)


@frozen
class Scene:
    """The world that is looked at, and everything else that was seen."""

    world: World
    evidence: Evidence

    @property
    def waiting(self) -> tuple[Seen, ...]:
        return self.world.doing(*WAITS)


Rule = Callable[[Scene], Iterator[Reading]]


def in_debugger(scene: Scene) -> Iterator[Reading]:
    kept = scene.world.doing(Doing.IN_DEBUGGER)
    if kept:
        yield reading(
            scene,
            Kind.DEBUGGER,
            kept,
            0.95,
            t("{Ranks} wait in a debugger{place}.", **about(kept))
            if len(kept) > 1
            else t("{Ranks} waits in a debugger{place}.", **about(kept)),
            t("Continue them in the debugger that has paused them."),
        )


def stopped(scene: Scene) -> Iterator[Reading]:
    kept = scene.world.doing(Doing.STOPPED)
    if kept:
        text = (
            t("{Ranks} were stopped by a signal.", **about(kept))
            if len(kept) > 1
            else t("{Ranks} was stopped by a signal.", **about(kept))
        )
        pids = " ".join(str(seen.process.pid) for seen in kept)
        yield reading(
            scene,
            Kind.STOPPED,
            kept,
            0.95,
            text,
            t("Let them go on: {command}", command=f"kill -CONT {pids}"),
        )


def going_on(scene: Scene) -> Iterator[Reading]:
    """Slow, not hung: a wait has ended between samples, or all that the others wait for are working."""
    moving = [seen for seen in scene.world.ranks if seen.moves]
    if not moving:
        return
    waiting = scene.waiting
    busy = scene.world.others(waiting)
    if any(seen.moves for seen in waiting) or not waiting:
        yield reading(
            scene,
            Kind.SLOW,
            [] if len(moving) > len(scene.world.ranks) // 2 else moving,
            0.85,
            t("Nothing hangs: {ranks} went on between the samples.", **about(moving)),
            t("Profile the run to see what takes the time."),
        )
    elif busy and all(seen.moves for seen in busy):
        yield reading(
            scene,
            Kind.SLOW,
            busy,
            0.8,
            t("Nothing hangs: {ranks} still work{place}, and the others wait.", **about(busy))
            if len(busy) > 1
            else t(
                "Nothing hangs: {ranks} still works{place}, and the others wait.", **about(busy)
            ),
            t("Wait, or profile these ranks to see what takes the time."),
        )


def gil_held(scene: Scene) -> Iterator[Reading]:
    holders = [
        seen
        for seen in scene.world.ranks
        if seen.holds_gil and seen.activity.doing is not Doing.IN_COLLECTIVE
    ]
    if holders:
        asleep = all(not sample.gil_holder_active for seen in holders for sample in seen.samples)
        yield reading(
            scene,
            Kind.GIL_HELD,
            holders,
            0.9 if asleep else 0.75,
            t("{Ranks} never let go of the GIL{place}: native code runs there.", **about(holders))
            if len(holders) > 1
            else t(
                "{Ranks} never lets go of the GIL{place}: native code runs there.", **about(holders)
            ),
            t("Look at the native frames of this call."),
        )


def initializing(scene: Scene) -> Iterator[Reading]:
    started = scene.world.doing(Doing.INITIALIZING)
    if not started:
        return
    elsewhere = scene.world.others(started)
    missing = scene.world.missing
    different = _minority(started, lambda seen: (seen.process.rendezvous, seen.process.world_size))
    if elsewhere:
        text = t("{others} have not joined the process group.", others=wording.Ranks(elsewhere))
        yield reading(scene, Kind.INITIALIZATION, elsewhere, 0.85, text, _look_at(elsewhere))
    elif missing:
        text = t("No process of {others} was found.", others=wording.ranks_of(missing))
        step = t("Check that all ranks were started, and with the same address.")
        yield reading(scene, Kind.INITIALIZATION, missing, 0.85, text, step)
    elif different:
        text = t(
            "{Ranks} wait for another address or number of ranks than the others.",
            **about(different),
        )
        step = t("Give all ranks the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE.")
        yield reading(scene, Kind.INITIALIZATION, different, 0.85, text, step)
    else:
        text = t("All ranks wait for each other while they form a process group.")
        step = t("Check that the ranks reach the address of rank 0.")
        yield reading(scene, Kind.INITIALIZATION, [], 0.7, text, step)


def dead(scene: Scene) -> Iterator[Reading]:
    ended = scene.world.doing(Doing.ENDED)
    gone = RankSet.union([scene.world.missing, RankSet.of(seen.rank for seen in ended)])
    if gone and len(gone) < len(scene.world.expected):
        text = t("{Ranks} ended while the others wait.", Ranks=wording.Ranks_of(gone))
        step = t("Read the end of their logs.")
        yield reading(scene, Kind.RANK_DEAD, gone, 0.9 if scene.waiting else 0.6, text, step)


def tearing_down(scene: Scene) -> Iterator[Reading]:
    ending = scene.world.doing(Doing.TEARING_DOWN)
    left = scene.world.others(ending)
    if not ending or not left:
        return
    raised = [seen for seen in ending if seen.last.exceptions] or list(ending)
    exceptions = sorted({name for seen in raised for name in seen.last.exceptions})
    if exceptions:
        text = t(
            "{ranks}: {exception} was raised, and their cleanup{place} waits for the others, which wait in {calls}.",
            ranks=wording.Ranks(raised),
            exception=", ".join(exceptions),
            place=wording.place(raised),
            calls=wording.calls(left),
        )
    else:
        text = t(
            "{ranks} clean up{place} while {others} wait in {calls}.",
            ranks=wording.Ranks(raised),
            place=wording.place(raised),
            others=wording.ranks(left),
            calls=wording.calls(left),
        )
    step = t(
        "Read the log of {ranks}: an exception there comes first.", ranks=wording.ranks(raised)
    )
    yield reading(scene, Kind.CLEANUP_DEADLOCK, raised, 0.9 if exceptions else 0.8, text, step)


def in_handler(scene: Scene) -> Iterator[Reading]:
    """Some ranks wait on the way out of an exception: in `except`, `finally` or `__exit__`, where the others are not."""
    handling = [seen for seen in scene.world.ranks if seen.activity.handler]
    left = scene.world.others(handling)
    if not handling or not left:
        return
    raised = [seen for seen in handling if seen.last.exceptions] or handling
    waits = all(seen.activity.doing is Doing.IN_COLLECTIVE for seen in raised)
    in_except = any(seen.activity.handler == "except" for seen in raised)
    if not waits and not in_except:
        return
    text = t(
        "{ranks} wait in {calls} on the way out of an exception, while {others} wait in {other_calls}.",
        ranks=wording.Ranks(raised),
        calls=wording.calls(raised),
        others=wording.ranks(left),
        other_calls=wording.calls(left),
    )
    step = t(
        "Read the log of {ranks}: an exception there comes first.", ranks=wording.ranks(raised)
    )
    seen_exception = any(seen.last.exceptions for seen in raised)
    yield reading(
        scene, Kind.EXCEPTION_IN_FLIGHT, raised, 0.9 if seen_exception else 0.75, text, step
    )


def loading_data(scene: Scene) -> Iterator[Reading]:
    loading = scene.world.doing(Doing.LOADING_DATA)
    if not loading:
        return
    children = [child for seen in loading for child in scene.evidence.children(seen)]
    places = wording.place([child for child in children if child.activity.place is not None])
    text = (
        t(
            "The data loader of {ranks} doesn't deliver: its process waits{place}.",
            ranks=wording.ranks(loading),
            place=places,
        )
        if places
        else t("The data loader of {ranks} doesn't deliver.", ranks=wording.ranks(loading))
    )
    step = t("Look at what the data loader reads there.")
    yield reading(scene, Kind.DATA_LOADER, loading, 0.85, text, step)


def unmatched_messages(scene: Scene) -> Iterator[Reading]:
    """A rank waits for a message of a rank that sends none to it, or sends one that nobody takes."""
    in_messages = [seen for seen in scene.waiting if seen.activity.call in MESSAGES]
    if not in_messages or scene.world.others(scene.waiting):
        return
    by_rank = {seen.rank: seen for seen in scene.world.ranks}
    heads = []
    for seen in in_messages:
        peer = by_rank.get(_peer(seen))
        if peer is None:
            continue
        if not _answers(peer, seen) and (peer not in in_messages or _is_cycle(seen, by_rank)):
            heads.append(seen)
    culprits = heads or in_messages
    text = t(
        "{ranks} wait in {calls} for a message that no rank sends.",
        ranks=wording.Ranks(culprits),
        calls=wording.calls(culprits),
    )
    step = t("Compare the order of sends and receives of these ranks.")
    confidence = 0.85 if heads else 0.65
    yield reading(scene, Kind.PIPELINE_MISMATCH, culprits, confidence, text, step)


def different_calls(scene: Scene) -> Iterator[Reading]:
    """All ranks wait in collectives, but not in the same."""
    waiting = scene.world.doing(Doing.IN_COLLECTIVE)
    if len(waiting) < 2 or scene.world.others(waiting):
        return
    groups = {seen.rank: _group(seen) for seen in waiting}
    calls = {seen.activity.call for seen in waiting}
    by_group = _minority(waiting, lambda seen: groups[seen.rank])
    if len(calls) == 1 and by_group:
        text = t(
            "{ranks} wait in {calls} of another process group than {others}, in {other_calls}.",
            **_both(scene, by_group),
        )
        step = t("Use the same process group on all ranks.")
        yield reading(scene, Kind.WRONG_PROCESS_GROUP, by_group, 0.8, text, step)
        return
    different = _minority(waiting, lambda seen: seen.activity.call) or _minority(
        waiting, lambda seen: seen.activity.place
    )
    if different:
        text = t(
            "{ranks} wait in {calls} while {others} wait in {other_calls}{branch}.",
            **_both(scene, different),
            branch=_branch(different, scene.world.others(different)),
        )
        step = t("Make all ranks call the same collectives in the same order.")
        confidence = 0.9 if len(calls) > 1 else 0.7
        yield reading(scene, Kind.COLLECTIVE_MISMATCH, different, confidence, text, step)


def late(scene: Scene) -> Iterator[Reading]:
    """Some ranks are elsewhere and don't move, and the others wait for them."""
    waiting = scene.waiting
    behind = scene.world.others(waiting)
    if not waiting or not behind:
        return
    in_loop = [seen for seen in behind if seen.activity.doing is Doing.IN_EVENT_LOOP]
    if len(in_loop) == len(behind):
        text = t(
            "{Ranks}: all tasks of the event loop wait, and the other ranks wait for them.",
            **about(behind),
        )
        step = t("Look at what the tasks of the event loop await.")
        yield reading(scene, Kind.ASYNCIO, behind, 0.8, text, step)
        return
    confidence = 0.8 if len(behind) <= len(waiting) else 0.6
    text = t(
        "{others} wait in {calls} for {ranks}, which {stand}{place}.",
        others=wording.Ranks(waiting),
        calls=wording.calls(waiting),
        ranks=wording.ranks(behind),
        stand=t("stand still") if len(behind) > 1 else t("stands still"),
        place=wording.place(behind),
    )
    yield reading(scene, Kind.STRAGGLER, behind, confidence, text, _look_at(behind))


def event_loops(scene: Scene) -> Iterator[Reading]:
    """Nobody waits in a collective; event loops have nothing to do."""
    loops = scene.world.doing(Doing.IN_EVENT_LOOP)
    if loops and not scene.waiting:
        text = t("{Ranks}: all tasks of the event loop wait.", **about(loops))
        step = t("Look at what the tasks of the event loop await.")
        yield reading(scene, Kind.ASYNCIO, loops, 0.7, text, step)


def same_call(scene: Scene) -> Iterator[Reading]:
    """All ranks are in the same call, so no rank is at fault."""
    waiting = scene.world.doing(Doing.IN_COLLECTIVE)
    places = {(seen.activity.call, seen.activity.place) for seen in waiting}
    if len(waiting) < 2 or len(waiting) < len(scene.world.ranks) or len(places) != 1:
        return
    # With a group in a variable, ranks at one line may be in different groups.
    in_variable = waiting[0].activity.call == WAIT or bool(_group(waiting[0]))
    text = t("All ranks wait in the same {calls}.", calls=wording.calls(waiting))
    step = t("Check the network between the nodes, and the GPUs.")
    yield reading(scene, Kind.TRANSPORT, [], 0.55 if in_variable else 0.75, text, step)
    if in_variable:
        text = t(
            "The ranks may be in different process groups in {calls}.", calls=wording.calls(waiting)
        )
        step = t("Start the run with the flight recorder to see the groups.")
        yield reading(scene, Kind.WRONG_PROCESS_GROUP, [], 0.45, text, step)


RULES: tuple[Rule, ...] = (
    in_debugger,
    stopped,
    going_on,
    gil_held,
    initializing,
    tearing_down,
    in_handler,
    dead,
    loading_data,
    unmatched_messages,
    different_calls,
    late,
    event_loops,
    same_call,
)


def reading(
    scene: Scene,
    kind: Kind,
    culprits: Iterable[Seen] | RankSet,
    confidence: float,
    sentence: str,
    next_step: str,
) -> Reading:
    ranks = (
        culprits if isinstance(culprits, RankSet) else RankSet.of(seen.rank for seen in culprits)
    )
    return Reading(kind, ranks, confidence, sentence, next_step, scene.world.name)


def about(seen: Sequence[Seen]) -> dict[str, str]:
    return {
        "Ranks": wording.Ranks(seen),
        "ranks": wording.ranks(seen),
        "place": wording.place(seen),
    }


def _both(scene: Scene, some: Sequence[Seen]) -> dict[str, str]:
    others = scene.world.others(some)
    return {
        "ranks": wording.Ranks(some),
        "calls": wording.calls(some),
        "others": wording.ranks(others),
        "other_calls": wording.calls(others),
    }


def _look_at(ranks: Sequence[Seen]) -> str:
    return t("Look inside {rank}, and at the end of its log.", rank=wording.ranks(ranks[:1]))


def _minority(ranks: Sequence[Seen], key: Callable[[Seen], object]) -> list[Seen]:
    """The ranks whose `key` is not that of most; of two halves, the one with the smallest rank is right."""
    by_key: dict[object, list[Seen]] = {}
    for seen in ranks:
        by_key.setdefault(key(seen), []).append(seen)
    # `max` keeps the order of ranks among equals.
    usual = max(by_key.values(), key=len, default=[])
    return [seen for seen in ranks if seen not in usual]


def _group(seen: Seen) -> str:
    place = seen.activity.place
    return source_lines.group_at(place.file, place.line, seen.activity.call) if place else ""


def _branch(some: Sequence[Seen], others: Sequence[Seen]) -> str:
    """`: the branch at line 86 differs between ranks`, found where the stacks of both fork."""
    first, second = some[0].stack, others[0].stack
    if first is None or second is None:
        return ""
    for one, two in zip(first.frames, second.frames, strict=False):
        if one == two:
            continue
        same_function = (one.function, one.file) == (two.function, two.file)
        line = source_lines.branch_between(one.file, one.line, two.line) if same_function else 0
        return t(": the branch at line {line} differs between ranks", line=line) if line else ""
    return ""


def _peer(seen: Seen) -> int:
    peers = dict(seen.last.peers)
    return next(
        (peers[name] for name in ("src", "dst", "group_src", "group_dst") if name in peers), -1
    )


def _answers(peer: Seen, seen: Seen) -> bool:
    """Whether `peer` sends what `seen` waits for, or takes what it sends."""
    receives = "recv" in seen.activity.call
    wanted = "send" if receives else "recv"
    return wanted in peer.activity.call and _peer(peer) == seen.rank


def _is_cycle(start: Seen, by_rank: dict[int, Seen]) -> bool:
    """Whether the ranks that `start` waits for lead back to it."""
    seen, rank = set(), _peer(start)
    while rank in by_rank and rank not in seen:
        if rank == start.rank:
            return True
        seen.add(rank)
        rank = _peer(by_rank[rank])
    return False
