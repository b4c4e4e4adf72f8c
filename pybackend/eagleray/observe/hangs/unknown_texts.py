"""The sentence and the next step of a hang whose kind is unknown."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import exit_texts, library_waits, wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess, World
from eagleray.observe.hangs.rules import event_loops, single_dump
from eagleray.observe.hangs.rules.rule_context import WAITS
from eagleray.remote.sampling.frames import is_noise

_Texts = tuple[str, str]


def sentence_and_step(worlds: Sequence[World], evidence: HangEvidence) -> _Texts:
    """The first that applies."""
    ranks = [each for world in worlds for each in world.ranks]
    readable = [each for each in ranks if each.stack is not None]
    return (
        _unreadable(ranks, readable, evidence)
        or _finished(worlds)
        or _crashed(evidence)
        or event_loops.of_timers(readable)
        or _waits_alone(readable, evidence)
        or _without_own_code(readable)
        or _of_no_kind(readable, evidence)
    )


def _unreadable(
    ranks: Sequence[SampledProcess], readable: Sequence[SampledProcess], evidence: HangEvidence
) -> _Texts | None:
    text = t("None of the processes could be read.")
    if {each.last.reason for each in ranks} == {"permission"}:
        return text, t("Take the picture as the user who runs them, or as root.")
    if readable:
        return None
    if evidence.ras:
        text = t("NCCL RAS shows no rank that is behind the others.")
        return text, t("That doesn't exclude a hang. Add the stacks of the ranks.")
    if any(each.record for each in ranks):
        text = t("The counters show no rank that is behind the others.")
        return text, t("Add the stacks of the ranks.")
    return text, t("Below is why each of them wasn't seen.")


def _finished(worlds: Sequence[World]) -> _Texts | None:
    finished = [exit_texts.at_end_of_program(world) for world in worlds]
    return finished[0] if all(finished) else None


def _crashed(evidence: HangEvidence) -> _Texts | None:
    crashed = [
        each
        for each in evidence.processes
        if each.stack is not None and each.activity.doing is Doing.ENDED
    ]
    if not evidence.is_given or not crashed:
        return None
    ranks, is_all = wording.Ranks(crashed), len(crashed) == len(evidence.processes)
    text = (
        t("{Ranks} crashed: the stack is from the crash, not from a hang.", Ranks=ranks)
        if is_all
        else t("{Ranks} crashed. Other processes may wait for that.", Ranks=ranks)
    )
    return text, t("Read the end of the log, which has the reason.")


def _waits_alone(readable: Sequence[SampledProcess], evidence: HangEvidence) -> _Texts | None:
    if not evidence.is_given or any(each.activity.doing not in WAITS for each in readable):
        return None
    text = counted(
        len(readable),
        "{waiting}. Whom it waits for can't be seen in these stacks.",
        "{waiting}. Whom they wait for can't be seen in these stacks.",
        waiting=wording.Wait_in(readable),
    )
    return text, t("Add dumps of the other ranks of the job.")


def _without_own_code(readable: Sequence[SampledProcess]) -> _Texts | None:
    frames = [frame for each in readable if each.stack for frame in each.stack.frames]
    if not frames or not all(map(is_noise, frames)):
        return None
    text = t(
        "No stack has code of the program: Ray's workers wait for a task, or their coroutines await something."
    )
    return text, t(
        "Stacks don't show what coroutines await. Read it from inside of a running program."
    )


def _of_no_kind(readable: Sequence[SampledProcess], evidence: HangEvidence) -> _Texts:
    if without_wait := single_dump.no_wait(evidence):
        return without_wait
    text = (
        t("No known kind of hang fits what the ranks do.")
        if evidence.worlds
        else t("No known kind of hang fits what the processes do.")
    )
    if not any(each.activity.doing in WAITS for each in readable):
        text = library_waits.sentence_of(readable) or text
    is_same_stack = len({each.stack for each in readable}) == 1
    if evidence.is_single_sample and is_same_stack:
        if (place := wording.place(readable)) and not library_waits.sentence_of(readable):
            text, _ = _at_place(readable, place, ())
        return text, t("To see whether it moves, add a later dump.")
    # A driver is there without a list, too.
    if any(each.is_in_ray_get for each in readable) and not any(
        each.name for each in evidence.tasks
    ):
        return text, (
            t("Ray lists no task that is open. Take the picture again.")
            if evidence.has_tasks
            else t("Take a picture of its cluster: the dashboard knows Ray's tasks.")
        )
    step = t("Compare the stacks below, and take the picture again later.")
    at_work = [each for each in readable if each.activity.place]
    place = wording.place(at_work)
    if named := library_waits.sentence_of(at_work) if not evidence.worlds else "":
        text, step = named, t("A pause isn't a hang: see for what it waits.")
    elif place and not evidence.worlds and len({each.stack for each in at_work}) == 1:
        idle = [each for each in readable if each not in at_work]
        text, step = _at_place(at_work, place, idle)
    loops = [each for each in at_work if each.activity.doing is Doing.IN_EVENT_LOOP]
    if loops and not (evidence.is_given or any(each.reading for each in loops)):
        step = t("Read from inside what its tasks await (--inside).")
    return text, step


def _at_place(
    processes: Sequence[SampledProcess], place: str, idle: Sequence[SampledProcess]
) -> _Texts:
    """The texts for processes that work or sleep, with no other ones to compare them with but `idle` ones."""
    name = wording.Ranks(processes)
    frames = processes[0].stack.frames if processes[0].stack else ()
    if len(processes) == 1 and (pause := library_waits.pause_of(frames) or _sleeps(processes[0])):
        text = t("{Process} {pauses}{place}.", Process=name, pauses=pause, place=place)
        if idle:
            text += f" {t('No code of the program runs in {ranks}.', ranks=wording.ranks(idle))}"
        elif library_waits.sleeps_in_loop(frames) and not processes[0].others:
            text += f" {t('No other thread runs code of the program.')}"
        else:
            return text, t("A pause isn't a hang: see for what it waits.")
        return text, t("Look in the log whether a thread has failed.")
    text = counted(
        len(processes),
        "{Processes} is{place}, which fits no known kind of hang.",
        "{Processes} are{place}, which fits no known kind of hang.",
        Processes=name,
        place=place,
    )
    return text, t("See what this line does: it may work, sleep or wait for input.")


def _sleeps(process: SampledProcess) -> str:
    """`sleeps` for a process whose main thread leads and sleeps in a library, as the kernel tells."""
    is_main = process.stack is not None and process.stack.thread == "MainThread"
    return t("sleeps") if is_main and process.last.waits_in == "hrtimer_nanosleep" else ""
