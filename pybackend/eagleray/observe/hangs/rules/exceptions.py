"""Ranks that clean up or handle an exception while the others wait (`cleanup-deadlock`, `exception-in-flight`)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from eagleray.common.l10n import counted, t
from eagleray.observe.hangs import wording
from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import SampledProcess
from eagleray.observe.hangs.rules.rule_context import Scene, about, reading
from eagleray.observe.hangs.verdict import Kind, Reading


def tearing_down(scene: Scene) -> Iterator[Reading]:
    ending = scene.world.doing(Doing.TEARING_DOWN)
    left = _living(scene.world.others(ending))
    raised = _those_that_raised(ending)
    if not ending or not left or _is_apart(scene, raised):
        return
    exceptions = wording.exceptions(raised)
    values = {**about(scene, raised), "exceptions": exceptions, "calls": wording.calls(left)}
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
            "{Ranks} printed {exceptions}, and cleans up{place}. The others wait in {calls}.",
            "{Ranks} printed {exceptions}, and clean up{place}. The others wait in {calls}.",
            **values,
        )
    elif exceptions:
        text = counted(
            len(raised),
            "{Ranks} raised {exceptions}, and cleans up{place}. The others wait in {calls}.",
            "{Ranks} raised {exceptions}, and clean up{place}. The others wait in {calls}.",
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
    elif path := scene.graph.path(raised[0]):
        text = f"{text} {path.sentence}"
    confidence = _confidence(raised, 0.95, 0.9, 0.8)
    yield reading(scene, Kind.CLEANUP_DEADLOCK, raised, confidence, text, _read_log(raised))


def in_handler(scene: Scene) -> Iterator[Reading]:
    """Some ranks wait on the way out of an exception: in `except`, `finally` or `__exit__`, where the others are not.

    Each `with` block ends in `__exit__`, which alone proves no exception.
    """
    handling = [
        each
        for each in scene.world.ranks
        if each.activity.handler and (each.activity.handler != "__exit__" or each.has_raised)
    ]
    raised = _those_that_raised(handling)
    if not handling or not _living(scene.world.others(handling)) or _is_apart(scene, raised):
        return
    waits = all(each.activity.doing is Doing.IN_COLLECTIVE for each in raised)
    if not waits and not any(each.activity.handler == "except" for each in raised):
        return
    values = {
        **about(scene, raised),
        "Others_wait": wording.Wait_in(_living(scene.world.others(raised))),
        "exceptions": wording.exceptions(raised) or t("an exception"),
    }
    if _only_printed(raised):
        text = counted(
            len(raised),
            "{Ranks} printed {exceptions}, and waits in {calls}. {Others_wait}.",
            "{Ranks} printed {exceptions}, and wait in {calls}. {Others_wait}.",
            **values,
        )
    elif not any(each.has_raised or each.activity.handler == "except" for each in raised):
        text = counted(
            len(raised),
            "{Ranks} is in a finally block in {calls}, perhaps after an exception. {Others_wait}.",
            "{Ranks} are in a finally block in {calls}, perhaps after an exception. {Others_wait}.",
            **values,
        )
    else:
        text = counted(
            len(raised),
            "{Ranks} handles {exceptions} in {calls}. {Others_wait}.",
            "{Ranks} handle {exceptions} in {calls}. {Others_wait}.",
            **values,
        )
    confidence = _confidence(raised, 0.95, 0.9, 0.75)
    yield reading(scene, Kind.EXCEPTION_IN_FLIGHT, raised, confidence, text, _read_log(raised))


def _living(ranks: Sequence[SampledProcess]) -> list[SampledProcess]:
    return [each for each in ranks if each.activity.doing not in (Doing.ENDED, Doing.UNREADABLE)]


def _is_apart(scene: Scene, raised: Sequence[SampledProcess]) -> bool:
    """Whether source or the name of a function alone speak of an exception, of a process that may have nothing to do with others."""
    return (
        not scene.evidence.worlds
        and not scene.waiting
        and not any(each.has_raised for each in raised)
    )


def _those_that_raised(ranks: Sequence[SampledProcess]) -> list[SampledProcess]:
    """Returns the `ranks` with an exception, else all of them."""
    return [each for each in ranks if each.has_raised] or list(ranks)


def _confidence(
    ranks: Sequence[SampledProcess], with_exception: float, with_type: float, without: float
) -> float:
    """A rank that has told its exception itself leaves less doubt than a variable with its type."""
    if any(each.raised for each in ranks):
        return with_exception
    if any(each.last.exceptions for each in ranks):
        return with_type
    # The exception at the end of a log may have been handled.
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


def _read_log(ranks: Sequence[SampledProcess]) -> str:
    return t("Read the log of {ranks}: an exception there comes first.", ranks=wording.ranks(ranks))
