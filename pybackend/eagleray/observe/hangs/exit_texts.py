"""Sentences on how ranks have ended: their exit codes, what they printed last, and whether memory was short."""

from __future__ import annotations

import re
import signal
from collections import defaultdict
from collections.abc import Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.counter_readings import record_of
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess, World
from eagleray.observe.hangs.inside_questions import place_of
from eagleray.remote.sampling.exits import Ending
from eagleray.remote.sampling.merging import ThreadStack
from eagleray.remote.sampling.processes import LAUNCHER
from eagleray.remote.sampling.rank_sets import RankSet

# More different ends make a sentence unreadable.
_MOST_ENDS = 3
_STOPS_WORKERS = re.compile(r"close|stop|restart|shutdown|kill|terminate")


def endings(evidence: HangEvidence, world: World, gone: RankSet) -> str:
    """Returns the records of the ends of the ranks `gone`, or says that none exist."""
    of_world = _of_world(evidence, world, gone)
    ranks_by_end: dict[str, list[int]] = defaultdict(list)
    for ending in sorted(of_world, key=lambda each: each.rank):
        exception = wording.printed_text(ending.printed) if ending.printed else ""
        if ending.exit_code is not None or exception:
            ranks_by_end[end_text(ending.exit_code, exception)].append(ending.rank)
    sentences = [
        t("{Ranks} {ended}.", Ranks=wording.Ranks_of(RankSet.of(ranks), _group(world)), ended=end)
        for end, ranks in list(ranks_by_end.items())[:_MOST_ENDS]
    ] or [t("No exit code is available.")]
    killed = max((each.oom_kills for each in of_world if _may_be_killed(each.exit_code)), default=0)
    if killed:
        sentences.append(
            counted(
                killed,
                "The kernel killed {n} process beside it for lack of memory.",
                "The kernel killed {n} processes beside it for lack of memory.",
            )
        )
    return "".join(f" {sentence}" for sentence in sentences)


def have_finished(evidence: HangEvidence, world: World, gone: RankSet) -> bool:
    """Whether all ranks `gone` ended well: it is on record, or torchrun continues, as it does only after exit code 0."""
    endings = _of_world(evidence, world, gone)
    codes = {each.exit_code for each in endings}
    if any(each.printed for each in endings) or RankSet.of(each.rank for each in endings) != gone:
        return False
    return codes == {0} or (codes <= {0, None} and _torchrun_continues(evidence, world))


def _torchrun_continues(evidence: HangEvidence, world: World) -> bool:
    """Whether the torchrun of all ranks has taken the exit codes of those that have ended, and ends no others.

    It takes them where it ends the others for the first that isn't 0, which keeps it in `close` until they have ended (2.13).
    """
    launchers = [
        each
        for each in evidence.processes
        if each.process.role == LAUNCHER
        and all((rank.host, rank.process.parent) == place_of(each) for rank in world.ranks)
    ]
    if len(launchers) != 1 or not all(each.process.is_world_here for each in world.ranks):
        return False
    [launcher] = launchers
    # An ended child still has a process until its exit code is collected, but no stack.
    if any(each.activity.doing is Doing.ENDED for each in evidence.children(launcher)):
        return False
    return all(stack is not None and _only_monitors(stack) for stack in launcher.stacks)


def _only_monitors(stack: ThreadStack) -> bool:
    functions = [frame.function.rpartition(".")[2] for frame in stack.frames]
    return "_invoke_run" in functions and not any(map(_STOPS_WORKERS.search, functions))


def finished(gone: RankSet, waiting: Sequence[SampledProcess]) -> tuple[str, str]:
    """Returns the problem and the next step where the ranks `gone` have ended well and the ranks `waiting` wait for
    them.
    """
    ranks = wording.Ranks_of(gone)
    step = t("Check that all ranks have the same number of batches.")
    if not waiting:
        text = counted(
            len(gone),
            "{Ranks} has finished with exit code 0.",
            "{Ranks} have finished with exit code 0.",
            Ranks=ranks,
        )
        return text, step
    text = counted(
        len(gone),
        "{Ranks} has finished with exit code 0. It takes no part in {calls}, where the others wait.",
        "{Ranks} have finished with exit code 0. They take no part in {calls}, where the others wait.",
        Ranks=ranks,
        calls=wording.calls(waiting),
    )
    return text, step


def not_joined(evidence: HangEvidence, world: World, gone: RankSet) -> tuple[str, str]:
    """Returns the problem and the next step where the others form a process group without the ranks `gone`.

    1. They ended well.
    2. Something else is on record of their ends, or they ended during the picture.
    3. They were perhaps never started.
    """
    ranks = wording.Ranks_of(gone, _group(world))
    endings_here = _of_world(evidence, world, gone)
    has_ended = any(each.activity.doing is Doing.ENDED for each in world.ranks)
    if have_finished(evidence, world, gone):
        text = counted(
            len(gone),
            "{Ranks} has finished with exit code 0. It never joined the process group.",
            "{Ranks} have finished with exit code 0. They never joined the process group.",
            Ranks=ranks,
        )
        return text, t("Check that all ranks have data, and join the process group.")
    if has_ended or any(each.exit_code is not None or each.printed for each in endings_here):
        text = counted(
            len(gone),
            "{Ranks} has ended. The others wait for it in a process group.",
            "{Ranks} have ended. The others wait for them in a process group.",
            Ranks=ranks,
        )
        step = t("Read the end of the log of {ranks}.", ranks=wording.ranks_of(gone, _group(world)))
        return text + endings(evidence, world, gone), step
    text = t("No process runs {ranks}.", ranks=wording.ranks_of(gone))
    return text, t("Check that all ranks were started, and with the same address.")


def _of_world(evidence: HangEvidence, world: World, gone: RankSet) -> list[Ending]:
    return [
        each.ending
        for each in evidence.endings
        if each.world == _group(world) and each.ending.rank in gone
    ]


def _group(world: World) -> str:
    """The name of a world; of one without ranks, the group of those that have ended."""
    return world.name or next((each.process.group for each in world.doing(Doing.ENDED)), "")


def end_text(exit_code: int | None, exception: str) -> str:
    """`ended with exit code 1 after ValueError: shape 3`, or a part of it."""
    if exit_code is None:
        return t("printed {exception}", exception=exception)
    ended = (
        t("ended by {signal}", signal=_signal(-exit_code))
        if exit_code < 0
        else t("ended with exit code {code}", code=exit_code)
    )
    return t("{ended} after {exception}", ended=ended, exception=exception) if exception else ended


def at_end_of_program(world: World) -> tuple[str, str] | None:
    """Returns the problem and the next step where all ranks have reached the end of the program; None elsewhere."""
    ranks = world.ranks
    if not ranks or world.missing or not all(_has_finished(each) for each in ranks):
        return None
    text = t(
        "The main thread of every rank has ended. Other threads still run{place}.",
        place=wording.place(ranks),
    )
    if all(map(_has_started_nothing, ranks)):
        return (
            f"{text} {t('None of them has started a collective.')}",
            t("Check that the data of the run isn't empty."),
        )
    return text, t("End the threads that still run, or make them daemons.")


def _has_finished(process: SampledProcess) -> bool:
    return process.is_at_exit and not process.has_raised and not process.goes_on


def _has_started_nothing(process: SampledProcess) -> bool:
    """Whether the flight recorder, which was on all the time, has no collective."""
    record = record_of(process)
    reading = process.reading
    return (
        record is not None
        and reading is not None
        and reading.records_all
        and not record.collectives
        and not any(progress.started for progress in record.progress.values())
    )


def _may_be_killed(exit_code: int | None) -> bool:
    return exit_code in (None, -signal.SIGKILL)


def _signal(number: int) -> str:
    try:
        return signal.Signals(number).name
    except ValueError:
        return t("signal {number}", number=number)
