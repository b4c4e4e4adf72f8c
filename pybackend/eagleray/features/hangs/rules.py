"""The rules that read a hang from what each rank of a world does.

Each rule looks for one kind and returns its readings with their confidence; `RULES` holds them in the order in which they
are believed: a rank that a debugger keeps explains everything that waits for it, and so on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence

from attrs import frozen

from eagleray.common.l10n import counted, t
from eagleray.features.hangs import (
    counter_readings,
    exit_texts,
    ray_readings,
    source_lines,
    wording,
)
from eagleray.features.hangs.activity import BACKWARD, MESSAGES, WAIT, Doing
from eagleray.features.hangs.evidence import HangEvidence, SampledProcess, World
from eagleray.features.hangs.verdict import Kind, Reading
from eagleray.sampling.rank_sets import RankSet

WAITS = (Doing.IN_COLLECTIVE, Doing.INITIALIZING)
# Cores: of a process that doesn't wait.
_COMPUTES_CPU = 0.5


@frozen
class Scene:
    """The world that is looked at, and everything else that was each."""

    world: World
    evidence: HangEvidence

    @property
    def is_first(self) -> bool:
        """Whether this is the world for which rules speak that concern the whole cluster."""
        worlds = self.evidence.worlds
        return not worlds or self.world is worlds[0]

    @property
    def waiting(self) -> tuple[SampledProcess, ...]:
        return self.world.doing(*WAITS)

    @property
    def elsewhere(self) -> tuple[SampledProcess, ...]:
        """The ranks that don't wait, though they live; what those do that could not be read isn't known."""
        return tuple(
            each
            for each in self.world.others(self.waiting)
            if each.activity.doing not in (Doing.UNREADABLE, Doing.ENDED)
        )

    @property
    def unread(self) -> RankSet:
        """The ranks of which nothing is known: those that could not be read, and those on nodes that weren't looked at."""
        unreadable = RankSet.of(each.rank for each in self.world.doing(Doing.UNREADABLE))
        of_all = RankSet.of(each.rank for each in self.world.ranks)
        return RankSet.union([unreadable, self.world.expected.without(of_all)])

    @property
    def gone(self) -> RankSet:
        """The ranks that have ended, whether before the picture or during it."""
        ended = self.world.doing(Doing.ENDED)
        return RankSet.union([self.world.missing, RankSet.of(each.rank for each in ended)])

    @property
    def all_in_collectives(self) -> tuple[SampledProcess, ...]:
        """All ranks that were seen, if each waits in a collective; else none."""
        waiting = self.world.doing(Doing.IN_COLLECTIVE)
        return () if self.world.others(waiting) else waiting


Rule = Callable[[Scene], Iterator[Reading]]


def in_debugger(scene: Scene) -> Iterator[Reading]:
    stopped_ranks = scene.world.doing(Doing.IN_DEBUGGER)
    if stopped_ranks:
        about = _about(scene, stopped_ranks)
        text = counted(
            len(stopped_ranks),
            "{Ranks} waits in a debugger{place}.",
            "{Ranks} wait in a debugger{place}.",
            **about,
        )
        if scene.waiting:
            others = counted(
                len(scene.waiting),
                "{Ranks} waits in {calls}",
                "{Ranks} wait in {calls}",
                **_about(scene, scene.waiting),
            )
            text = counted(
                len(stopped_ranks),
                "{others_wait} for {ranks}, which is paused by a debugger{place}.",
                "{others_wait} for {ranks}, which are paused by a debugger{place}.",
                others_wait=others,
                **about,
            )
        step = t("Continue in that debugger.")
        yield _reading(scene, Kind.DEBUGGER, stopped_ranks, 0.95, text, step)


def stopped(scene: Scene) -> Iterator[Reading]:
    stopped_ranks = scene.world.doing(Doing.STOPPED)
    if stopped_ranks:
        text = counted(
            len(stopped_ranks),
            "{Ranks} was stopped by a signal.",
            "{Ranks} were stopped by a signal.",
            **_about(scene, stopped_ranks),
        )
        pids = " ".join(str(each.process.pid) for each in stopped_ranks)
        step = t("Resume with: {command}", command=f"kill -CONT {pids}")
        yield _reading(scene, Kind.STOPPED, stopped_ranks, 0.95, text, step)


def going_on(scene: Scene) -> Iterator[Reading]:
    """Slow, not hung: a wait has ended between samples, or all that the others wait for are working."""
    moving = [each for each in scene.world.ranks if each.goes_on]
    busy = scene.elsewhere
    # One of many may be woken by something else; most are only when what they wait for has ended.
    woken = [each for each in scene.waiting if each.wakes]
    have_gone_on = 2 * len(woken) > len(scene.waiting) or any(
        each.goes_on for each in scene.waiting
    )
    if have_gone_on or (2 * len(moving) > len(scene.world.ranks) and not scene.waiting):
        moving = moving or woken
        few = moving if len(moving) <= len(scene.world.ranks) // 2 else ()
        text = t("Nothing hangs: {ranks} moved between the samples.", **_about(scene, moving))
        step = t("Profile the run to see what takes the time.")
        yield _reading(scene, Kind.SLOW, few, 0.85, text, step)
    elif busy and all(each.goes_on for each in busy):
        text = counted(
            len(busy),
            "Nothing hangs: {ranks} still works{place}, and the others wait.",
            "Nothing hangs: {ranks} still work{place}, and the others wait.",
            **_about(scene, busy),
        )
        step = t("Wait, or profile these ranks to see what takes the time.")
        yield _reading(scene, Kind.SLOW, busy, 0.8, text, step)


def gil_held(scene: Scene) -> Iterator[Reading]:
    holders = [
        each
        for each in scene.world.ranks
        if each.holds_gil and each.activity.doing is not Doing.IN_COLLECTIVE
    ]
    if holders:
        asleep = all(not sample.gil_holder_active for each in holders for sample in each.samples)
        # A loop of Python at one line looks the same, until others wait for it.
        confidence = 0.9 if asleep else 0.75 if scene.waiting else 0.45
        if asleep:
            text = counted(
                len(holders),
                "{Ranks} never releases the GIL{place}: native code waits there.",
                "{Ranks} never release the GIL{place}: native code waits there.",
                **_about(scene, holders),
            )
        else:
            text = counted(
                len(holders),
                "{Ranks} holds the GIL in each sample{place}: native code, or a loop of one line.",
                "{Ranks} hold the GIL in each sample{place}: native code, or a loop of one line.",
                **_about(scene, holders),
            )
        if native := next((each for each in holders if wording.native(each)), None):
            text = counted(
                len(holders),
                "{Ranks} holds the GIL in {function}{called}.",
                "{Ranks} hold the GIL, {first} in {function}{called}.",
                **_about(scene, holders),
                first=wording.ranks([native]),
                called=t(", called{place}", place=place)
                if (place := wording.place(holders))
                else "",
                function=wording.native(native),
            )
        not_started = counter_readings.not_started(scene.world, holders)
        text = f"{text} {not_started}".strip()
        step = t("Look at what this line calls.")
        yield _reading(scene, Kind.GIL_HELD, holders, confidence, text, step)


def initializing(scene: Scene) -> Iterator[Reading]:
    started = scene.world.doing(Doing.INITIALIZING)
    elsewhere = scene.elsewhere
    missing = scene.gone
    different = _minority(started, lambda each: (each.process.rendezvous, each.process.world_size))
    culprits: Sequence[SampledProcess] | RankSet = elsewhere or missing or different
    confidence = 0.85 if culprits else 0.7
    if not started:
        return
    if elsewhere:
        text = counted(
            len(elsewhere),
            "{Ranks} has not joined the process group, and is{place}.",
            "{Ranks} have not joined the process group, and are{place}.",
            **_about(scene, elsewhere),
        )
        step = _inspect_step(elsewhere)
    elif missing:
        text, step = exit_texts.not_joined(scene.evidence, scene.world, missing)
    elif different:
        text = counted(
            len(different),
            "{Ranks} joins another address, or another number of ranks, than the others.",
            "{Ranks} join another address, or another number of ranks, than the others.",
            **_about(scene, different),
        )
        step = t("Give all ranks the same MASTER_ADDR, MASTER_PORT and WORLD_SIZE.")
    else:
        text = t("All ranks wait for each other while they form a process group.")
        step = t("Check that all ranks reach the address of rank 0.")
    yield _reading(scene, Kind.INITIALIZATION, culprits, confidence, text, step)


def dead(scene: Scene) -> Iterator[Reading]:
    gone = scene.gone
    if not gone or len(gone) >= len(scene.world.expected):
        return
    step = t("Read the end of their logs.")
    ranks = wording.Ranks_of(gone)
    if scene.waiting:
        text = counted(
            len(gone),
            "{Ranks} has ended, and the others wait.",
            "{Ranks} have ended, and the others wait.",
            Ranks=ranks,
        )
    else:
        text = counted(len(gone), "{Ranks} has ended.", "{Ranks} have ended.", Ranks=ranks)
    if of_ray := ray_readings.deaths(scene.evidence, scene.world):
        text += of_ray
    elif exit_texts.have_finished(scene.evidence, scene.world, gone):
        text, step = exit_texts.finished(gone, scene.waiting)
    else:
        text += exit_texts.endings(scene.evidence, scene.world, gone)
    yield _reading(scene, Kind.RANK_DEAD, gone, 0.9 if scene.waiting else 0.6, text, step)


def tearing_down(scene: Scene) -> Iterator[Reading]:
    ending = scene.world.doing(Doing.TEARING_DOWN)
    left = scene.world.others(ending)
    if not ending or not left:
        return
    raised = _those_that_raised(ending)
    exceptions = wording.exceptions(raised)
    values = {**_about(scene, raised), "exceptions": exceptions, "calls": wording.calls(left)}
    if exceptions and all(each.is_at_exit for each in raised):
        text = counted(
            len(raised),
            "{Ranks} ended by {exceptions}, but a thread{place} keeps its process alive. The others wait in {calls}.",
            "{Ranks} ended by {exceptions}, but threads{place} keep their processes alive. The others wait in {calls}.",
            **values,
        )
    elif exceptions and _only_printed(raised):
        text = counted(
            len(raised),
            "{Ranks} printed {exceptions}. Its cleanup{place} waits for the others, in {calls}.",
            "{Ranks} printed {exceptions}. Their cleanup{place} waits for the others, in {calls}.",
            **values,
        )
    elif exceptions:
        text = counted(
            len(raised),
            "{Ranks} raised {exceptions}. Its cleanup{place} waits for the others, in {calls}.",
            "{Ranks} raised {exceptions}. Their cleanup{place} waits for the others, in {calls}.",
            **values,
        )
    elif all(each.is_at_exit for each in raised):
        text = counted(
            len(raised),
            "{Ranks} has reached the end of the program. The others wait in {calls}.",
            "{Ranks} have reached the end of the program. The others wait in {calls}.",
            **values,
        )
    else:
        text = counted(
            len(raised),
            "{Ranks} cleans up{place}, and the others wait in {calls}.",
            "{Ranks} clean up{place}, and the others wait in {calls}.",
            **values,
        )
    if native := next((each for each in raised if wording.native_of_library(each)), None):
        native_text = t(
            "{Rank} is in {function}.",
            Rank=wording.Ranks([native]),
            function=wording.native_of_library(native),
        )
        text = f"{text} {native_text}"
    confidence = _confidence(raised, 0.95, 0.9, 0.8)
    yield _reading(scene, Kind.CLEANUP_DEADLOCK, raised, confidence, text, _read_log(raised))


def in_handler(scene: Scene) -> Iterator[Reading]:
    """Some ranks wait on the way out of an exception: in `except`, `finally` or `__exit__`, where the others are not."""
    handling = [each for each in scene.world.ranks if each.activity.handler]
    if not handling or not scene.world.others(handling):
        return
    raised = _those_that_raised(handling)
    waits = all(each.activity.doing is Doing.IN_COLLECTIVE for each in raised)
    if not waits and not any(each.activity.handler == "except" for each in raised):
        return
    values = {
        **_about(scene, raised),
        "exceptions": wording.exceptions(raised) or t("an exception"),
    }
    if _only_printed(raised):
        text = counted(
            len(raised),
            "{Ranks} printed {exceptions}, and waits in {calls}. {Others} wait in {other_calls}.",
            "{Ranks} printed {exceptions}, and wait in {calls}. {Others} wait in {other_calls}.",
            **values,
        )
    else:
        text = counted(
            len(raised),
            "{Ranks} handles {exceptions} in {calls}. {Others} wait in {other_calls}.",
            "{Ranks} handle {exceptions} in {calls}. {Others} wait in {other_calls}.",
            **values,
        )
    confidence = _confidence(raised, 0.95, 0.9, 0.75)
    yield _reading(scene, Kind.EXCEPTION_IN_FLIGHT, raised, confidence, text, _read_log(raised))


def loading_data(scene: Scene) -> Iterator[Reading]:
    loading = scene.world.doing(Doing.LOADING_DATA)
    if not loading:
        return
    children = [child for each in loading for child in scene.evidence.children(each)]
    if any(child.goes_on for child in children):
        text = t(
            "Nothing hangs: {ranks} waits for its data loader, which still works.",
            **_about(scene, loading),
        )
        step = t("Profile the data loader, or give it more processes.")
        yield _reading(scene, Kind.SLOW, loading, 0.75, text, step)
        return
    place = wording.place([child for child in children if child.activity.place is not None])
    text = t("The data loader of {ranks} delivers nothing.", **_about(scene, loading))
    if place:
        text = t(
            "The data loader of {ranks} delivers nothing: its process waits{child_place}.",
            **_about(scene, loading),
            child_place=place,
        )
    step = t("Look at what the data loader reads there.")
    yield _reading(scene, Kind.DATA_LOADER, loading, 0.85, text, step)


def unmatched_messages(scene: Scene) -> Iterator[Reading]:
    """A rank waits for a message of a rank that sends none to it, or sends one that nobody takes."""
    in_messages = [each for each in scene.waiting if each.activity.call in MESSAGES]
    if not in_messages or scene.world.others(scene.waiting):
        return
    by_rank = {each.rank: each for each in scene.world.ranks}
    # A rank that waits for another that waits in a message, too, is only further down the pipeline.
    unmatched = [
        each
        for each in in_messages
        if (peer := by_rank.get(_peer(each))) is not None
        and not _answers(peer, each)
        and (peer not in in_messages or _is_cycle(each, by_rank))
    ]
    if not unmatched:
        return
    text = counted(
        len(unmatched),
        "{Ranks} waits in {calls} for a message that no rank sends.",
        "{Ranks} wait in {calls} for messages that no rank sends.",
        **_about(scene, unmatched),
    )
    step = t("Compare the order of sends and receives of these ranks.")
    yield _reading(scene, Kind.PIPELINE_MISMATCH, unmatched, 0.85, text, step)


def different_groups(scene: Scene) -> Iterator[Reading]:
    """All ranks wait in the same collective, but of different process groups."""
    waiting = scene.all_in_collectives
    different = _minority(waiting, _group)
    if different and len({each.activity.call for each in waiting}) == 1:
        text = counted(
            len(different),
            "{Ranks} waits in {calls}, in another process group than {others} in {other_calls}.",
            "{Ranks} wait in {calls}, in another process group than {others} in {other_calls}.",
            **_about(scene, different),
        )
        step = t("Use the same process group on all ranks.")
        yield _reading(scene, Kind.WRONG_PROCESS_GROUP, different, 0.8, text, step)


def different_calls(scene: Scene) -> Iterator[Reading]:
    """All ranks wait in collectives, but not in the same."""
    waiting = scene.all_in_collectives
    by_call = _minority(waiting, lambda each: each.activity.call)
    different = by_call or _minority(waiting, lambda each: each.activity.place)
    if different:
        text = counted(
            len(different),
            "{Ranks} waits in {calls} while {others} wait in {other_calls}{branch}.",
            "{Ranks} wait in {calls} while {others} wait in {other_calls}{branch}.",
            **_about(scene, different),
            branch=wording.branch(different, scene.world.others(different)),
        )
        step = t("Make all ranks call the same collectives in the same order.")
        yield _reading(
            scene, Kind.COLLECTIVE_MISMATCH, different, _mismatch_confidence(waiting), text, step
        )


def late(scene: Scene) -> Iterator[Reading]:
    """Some ranks are elsewhere and make no progress, and the others wait for them."""
    waiting = scene.waiting
    behind = scene.elsewhere
    if waiting and not behind and scene.unread:
        text = t(
            "{Others} wait in {calls}. {Unread} could not be read.",
            Others=wording.Ranks(waiting),
            calls=wording.calls(waiting),
            Unread=wording.Ranks_of(scene.unread),
        )
        step = t("Look at what these ranks do on their nodes.")
        yield _reading(scene, Kind.STRAGGLER, scene.unread, 0.4, text, step)
    if not waiting or not behind:
        return
    if all(each.activity.doing is Doing.IN_EVENT_LOOP for each in behind):
        text = t(
            "The event loop of {ranks} waits, and the others for it.",
            **_about(scene, behind),
        )
        yield _event_loop(scene, behind, 0.8, text)
        return
    confidence = 0.8 if len(behind) <= len(waiting) and not scene.unread else 0.6
    if all(each.cpu > _COMPUTES_CPU for each in behind):
        # A loop without end and a long step look the same from outside.
        confidence = min(confidence, 0.65)
        text = counted(
            len(behind),
            "{Others} wait in {other_calls} for {ranks}, which computes{place}.",
            "{Others} wait in {other_calls} for {ranks}, which compute{place}.",
            **_about(scene, behind),
        )
    else:
        text = counted(
            len(behind),
            "{Others} wait in {other_calls} for {ranks}, which does not move{place}.",
            "{Others} wait in {other_calls} for {ranks}, which do not move{place}.",
            **_about(scene, behind),
        )
    if not_started := counter_readings.not_started(scene.world, behind):
        text, confidence = f"{text} {not_started}", 0.9
    text += _held_text(behind)
    yield _reading(scene, Kind.STRAGGLER, behind, confidence, text, _inspect_step(behind))


def _event_loop(
    scene: Scene, loops: Sequence[SampledProcess], confidence: float, text: str
) -> Reading:
    """The reading `text`, with what the tasks of the loops await if they have told that."""
    awaited = wording.awaited(loops)
    if awaited:
        text, confidence = f"{text} {awaited}.", 0.9
    step = t("Look at what the tasks of the event loop await.")
    return _reading(scene, Kind.ASYNCIO, loops, confidence, text, step)


def event_loops(scene: Scene) -> Iterator[Reading]:
    """Nobody waits in a collective, and event loops have nothing to do."""
    loops = scene.world.doing(Doing.IN_EVENT_LOOP)
    if loops and not scene.waiting:
        text = t("The event loop of {ranks} waits.", **_about(scene, loops))
        yield _event_loop(scene, loops, 0.45 if scene.unread else 0.7, text)


def same_call(scene: Scene) -> Iterator[Reading]:
    """All ranks are in the same call, so no rank is at fault."""
    waiting = scene.all_in_collectives
    if len(waiting) < 2 or len({(each.activity.call, each.activity.place) for each in waiting}) > 1:
        return
    # With its group in a variable, ranks at one line may be in different groups.
    is_unsure = waiting[0].activity.call == WAIT or bool(_group(waiting[0]))
    step = t("Check the network between the nodes, and the GPUs.")
    if scene.unread:
        text = t(
            "{Ranks} wait in {calls}, at the same line. {Unread} could not be read.",
            Ranks=wording.Ranks(waiting),
            calls=wording.calls(waiting),
            Unread=wording.Ranks_of(scene.unread),
        )
        yield _reading(scene, Kind.TRANSPORT, (), 0.4, text, step)
        return
    text = t("All ranks wait in {calls}, at the same line.", calls=wording.calls(waiting))
    yield _reading(scene, Kind.TRANSPORT, (), 0.45 if is_unsure else 0.75, text, step)
    if is_unsure:
        text = t(
            "The ranks wait in {calls}, perhaps in different process groups.",
            calls=wording.calls(waiting),
        )
        step = t("Start the run with the flight recorder to see the groups.")
        yield _reading(scene, Kind.WRONG_PROCESS_GROUP, (), 0.45, text, step)


def outliers(scene: Scene) -> Iterator[Reading]:
    """Most ranks are at the same place, no rank moves, and it isn't known for what they wait.

    A process that waits for others in `ray.get`, as the driver does, is not at fault, and processes of another kind are
    elsewhere anyway.
    """
    if scene.waiting:
        return
    by_kind: dict[str, list[SampledProcess]] = {}
    for each in scene.world.ranks:
        # A process that could not be read doesn't count as a place.
        if each.activity.doing not in (Doing.IN_RAY_GET, Doing.UNREADABLE, Doing.ENDED):
            by_kind.setdefault(each.process.group, []).append(each)
    most = max(by_kind.values(), key=len, default=[])
    different = _minority(most, lambda each: each.activity)
    if not different or len(different) * 2 >= len(most):
        return
    text = counted(
        len(different),
        "{Ranks} is elsewhere than the others{place}, and no rank moves.",
        "{Ranks} are elsewhere than the others{place}, and no rank moves.",
        **_about(scene, different),
    )
    text += _held_text(different)
    confidence = 0.45 if scene.unread else 0.55
    yield _reading(scene, Kind.STRAGGLER, different, confidence, text, _inspect_step(different))


def counters(scene: Scene) -> Iterator[Reading]:
    """What the flight recorders of the ranks say: numbers decide where stacks leave a doubt."""
    yield from counter_readings.counters(scene.world)


def ray_get_cycle(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.ray_get_cycle(scene.evidence)


def starvation(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.starvation(scene.evidence)


def awaiting_actors(scene: Scene) -> Iterator[Reading]:
    if scene.is_first:
        yield from ray_readings.awaiting_actors(scene.evidence)


RULES: tuple[Rule, ...] = (
    in_debugger,
    stopped,
    ray_get_cycle,
    starvation,
    going_on,
    gil_held,
    initializing,
    tearing_down,
    in_handler,
    dead,
    loading_data,
    unmatched_messages,
    counters,
    different_groups,
    different_calls,
    late,
    event_loops,
    awaiting_actors,
    same_call,
    outliers,
)


def _mismatch_confidence(waiting: Sequence[SampledProcess]) -> float:
    """How sure it is that ranks in different calls should be in the same."""
    calls = {each.activity.call for each in waiting}
    # A rank that computes at a line such as `model(x).cpu()` is only about to wait.
    if any(each.activity.call in (WAIT, BACKWARD) and each.cpu > _COMPUTES_CPU for each in waiting):
        return 0.45
    groups = {_group(each) for each in waiting}
    if len(groups) > 1:
        # Each group waits for its own members after any hang.
        return 0.45
    if len(calls) == 1:
        return 0.7
    return 0.9 if groups == {""} else 0.6


def _reading(
    scene: Scene,
    kind: Kind,
    culprits: Iterable[SampledProcess] | RankSet,
    confidence: float,
    sentence: str,
    next_step: str,
) -> Reading:
    ranks = (
        culprits if isinstance(culprits, RankSet) else RankSet.of(each.rank for each in culprits)
    )
    return Reading(kind, ranks, confidence, sentence, next_step, scene.world.name)


def _about(scene: Scene, some: Sequence[SampledProcess]) -> dict[str, str]:
    """What sentences say of `some` ranks and of all others."""
    others = scene.world.others(some)
    return {
        "Ranks": wording.Ranks(some),
        "ranks": wording.ranks(some),
        "place": wording.place(some),
        "calls": wording.calls(some),
        "Others": wording.Ranks(others),
        "others": wording.ranks(others),
        "other_calls": wording.calls(others),
    }


def _those_that_raised(ranks: Sequence[SampledProcess]) -> list[SampledProcess]:
    """Those of `ranks` with an exception, else all of them."""
    return [each for each in ranks if each.has_raised] or list(ranks)


def _confidence(
    ranks: Sequence[SampledProcess], with_exception: float, with_type: float, without: float
) -> float:
    """A rank that has told its exception itself leaves less doubt than a variable with its type."""
    if any(each.raised for each in ranks):
        return with_exception
    if any(each.last.exceptions for each in ranks):
        return with_type
    # What a log ends with may have been handled.
    return (with_type + without) / 2 if any(each.printed for each in ranks) else without


def _only_printed(ranks: Sequence[SampledProcess]) -> bool:
    """Whether the exceptions of `ranks` are in their logs alone."""
    return any(each.printed for each in ranks) and not any(
        each.raised or _is_held(each) for each in ranks
    )


def _is_held(process: SampledProcess) -> bool:
    """Whether the exception that a process has printed is one that it has in a variable, too."""
    kind = process.printed.text.partition(":")[0].rpartition(".")[2] if process.printed else ""
    return bool(process.last.exceptions) and (not kind or kind in process.last.exceptions)


def _held_text(ranks: Sequence[SampledProcess]) -> str:
    """A sentence on the exceptions that `ranks` have swallowed."""
    raised = [each for each in ranks if each.raised]
    if not raised:
        return ""
    return " " + counted(
        len(raised),
        "{Ranks} holds {exceptions}.",
        "{Ranks} hold {exceptions}.",
        Ranks=wording.Ranks(raised),
        exceptions=wording.exceptions(raised),
    )


def _read_log(ranks: Sequence[SampledProcess]) -> str:
    return t("Read the log of {ranks}: an exception there comes first.", ranks=wording.ranks(ranks))


def _inspect_step(ranks: Sequence[SampledProcess]) -> str:
    return t("Look inside {rank}, and at the end of its log.", rank=wording.ranks(ranks[:1]))


def _minority(
    ranks: Sequence[SampledProcess], key: Callable[[SampledProcess], object]
) -> list[SampledProcess]:
    """The ranks whose `key` is not that of most; of two halves, the one with the smallest rank is right."""
    by_key: dict[object, list[SampledProcess]] = {}
    for each in ranks:
        by_key.setdefault(key(each), []).append(each)
    # `max` keeps the order of ranks among equals.
    usual = {id(each) for each in max(by_key.values(), key=len, default=[])}
    return [each for each in ranks if id(each) not in usual]


def _group(process: SampledProcess) -> str:
    place = process.activity.place
    return source_lines.group_at(place.file, place.line, process.activity.call) if place else ""


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
