"""Ranks that form a process group without the others (`initialization`)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import exit_texts
from eagleray.observe.hangs.activity import Doing, is_store
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.library_waits import KERNEL_FILE
from eagleray.observe.hangs.rules.rule_context import Scene, about, inspect_step, minority, reading
from eagleray.observe.hangs.verdict import Kind, Reading
from eagleray.remote.sampling.rank_sets import RankSet


def _is_of_kernel(process: SampledProcess) -> bool:
    frames = process.stack.frames if process.stack else ()
    return bool(frames) and all(frame.file == KERNEL_FILE for frame in frames)


def initializing(scene: Scene) -> Iterator[Reading]:
    """The first of these that fits ranks which form a process group.

    1. Ranks that run other code, or have ended, have not come.
    2. Ranks join another address, as another rank, or another number of ranks: see `_apart`.
    3. Ranks don't reach the store that others are connected to.
    4. Ranks are in a collective already, or still, while others form a group.  All ranks have to call `new_group`.
    """
    started = scene.world.doing(Doing.INITIALIZING)
    if not started:
        return
    missing = scene.gone or _further(scene, started)
    # A stack of the kernel doesn't tell what the program has reached.
    elsewhere = [each for each in scene.elsewhere if not _is_of_kernel(each)]
    if len(elsewhere) < len(scene.elsewhere):
        return
    culprits: Sequence[SampledProcess] | RankSet
    confidence, is_proof = 0.85, False
    if elsewhere:
        culprits = elsewhere
        text = counted(
            len(elsewhere),
            "{Ranks} has not joined the process group, and is{place}.",
            "{Ranks} have not joined the process group, and are{place}.",
            **about(scene, elsewhere),
        )
        step = inspect_step(elsewhere)
    elif missing:
        culprits, is_proof = missing, bool(scene.gone)
        text, step = exit_texts.not_joined(scene.evidence, scene.world, missing)
    elif culprits := _apart(started):
        is_proof = True
        text = counted(
            len(culprits),
            "{Ranks} joins with another address, rank or world size than the others.",
            "{Ranks} join with another address, rank or world size than the others.",
            **about(scene, culprits),
        )
        step = t("Give all ranks the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE.")
    elif culprits := _unconnected(started):
        text = counted(
            len(culprits),
            "{Ranks} doesn't reach the store that the others are connected to.",
            "{Ranks} don't reach the store that the others are connected to.",
            **about(scene, culprits),
        )
        step = counted(
            len(culprits),
            "Check the address that {ranks} uses, and the network to it.",
            "Check the address that {ranks} use, and the network to it.",
            **about(scene, culprits),
        )
    elif culprits := _in_collectives(scene, started):
        text = counted(
            len(culprits),
            "{Ranks} waits in {calls}, while the others wait in {other_calls}.",
            "{Ranks} wait in {calls}, while the others wait in {other_calls}.",
            **about(scene, culprits),
        )
        step = t("Let all ranks form the same process groups, in the same order.")
        confidence = 0.75
    else:
        culprits, confidence = (), 0.7
        text = counted(
            len(started),
            "{Ranks} waits for the others to form a process group.",
            "All ranks wait for each other while they form a process group.",
            **about(scene, started),
        )
        step = t("Check that all ranks reach the address of rank 0.")
    yield reading(scene, Kind.INITIALIZATION, culprits, confidence, text, step, is_proof=is_proof)


def _apart(started: Sequence[SampledProcess]) -> list[SampledProcess]:
    """The ranks that join elsewhere than most, by their environment or what they have given to PyTorch; or as a rank that joins, too."""
    joined = {each.rank: dict(each.last.peers) for each in started}

    def place(each: SampledProcess) -> object:
        given = joined[each.rank]
        size = given.get("world_size", each.process.world_size)
        return each.process.rendezvous, size

    if different := minority(started, place):
        return different
    # Ranks connected to the store no longer show its port.
    connecting = [each for each in started if "port" in joined[each.rank]]
    if different := minority(connecting, lambda each: joined[each.rank]["port"]):
        return different
    numbers = Counter(given["rank"] for given in joined.values() if "rank" in given)
    return [
        each
        for each in started
        if numbers[number := joined[each.rank].get("rank", each.rank)] > 1 and number != each.rank
    ]


def _unconnected(started: Sequence[SampledProcess]) -> list[SampledProcess]:
    """The ranks that connect to the store which others have reached.  Rank 0, which serves it, waits for them at the same line."""
    connecting = [each for each in started if is_connecting(each)]
    others = [each for each in started if not is_connecting(each)]
    late = [each for each in connecting if dict(each.last.peers).get("rank", each.rank) != 0]
    return late if others else []


def _further(scene: Scene, started: Sequence[SampledProcess]) -> RankSet:
    """The ranks that belong to the number of ranks which all have given to PyTorch, but that were never started."""
    sizes = {dict(each.last.peers).get("world_size", 0) for each in started}
    whole = scene.world.is_whole and len(started) == len(scene.world.ranks) and len(sizes) == 1
    return RankSet.of(range(max(sizes))).without(scene.world.expected) if whole else RankSet()


def is_connecting(process: SampledProcess) -> bool:
    return process.stack is not None and any(is_store(frame) for frame in process.stack.frames[-1:])


def _in_collectives(scene: Scene, started: Sequence[SampledProcess]) -> Sequence[SampledProcess]:
    """The fewer ranks, of those in a collective and those that form a group; of two halves, the one without the smallest rank."""
    others = scene.world.doing(Doing.IN_COLLECTIVE)
    forming = {each.rank for each in started}
    ranks = sorted([*started, *others], key=lambda each: each.rank)
    return minority(ranks, lambda each: each.rank in forming) if others else []
