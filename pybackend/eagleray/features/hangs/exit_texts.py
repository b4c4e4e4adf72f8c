"""Sentences on how ranks have ended: their exit codes, what they printed last, and whether memory was short."""

from __future__ import annotations

import signal
from collections import defaultdict

from eagleray.common.l10n import counted, t
from eagleray.features.hangs import wording
from eagleray.features.hangs.counter_readings import record_of
from eagleray.features.hangs.evidence import HangEvidence, SampledProcess, World
from eagleray.sampling.rank_sets import RankSet

# More different ends make a sentence unreadable.
_MOST_ENDS = 3


def endings(evidence: HangEvidence, world: World, gone: RankSet) -> str:
    """What is on record of the ends of the ranks `gone`; that there is nothing, if so."""
    of_world = [
        each.ending
        for each in evidence.endings
        if each.world == world.name and each.ending.rank in gone
    ]
    ranks_by_end: dict[str, list[int]] = defaultdict(list)
    for ending in sorted(of_world, key=lambda each: each.rank):
        exception = wording.printed_text(ending.printed) if ending.printed else ""
        if ending.exit_code is not None or exception:
            ranks_by_end[end_text(ending.exit_code, exception)].append(ending.rank)
    sentences = [
        t("{Ranks} {ended}.", Ranks=wording.Ranks_of(RankSet.of(ranks)), ended=end)
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
    """What is wrong, and the next step, where all ranks have reached the end of the program; None elsewhere."""
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
