"""The processes whose native frames say more about a verdict, and what they add to its evidence."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from attrs import evolve

from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.inside_questions import Place, place_of
from eagleray.observe.hangs.verdict import HangVerdict, Kind, Reading
from eagleray.remote.sampling.native import NativeReading
from eagleray.remote.sampling.pyspy_dumps import BY_SIGNAL

Natives = Mapping[Place, NativeReading]

_OF_CULPRITS = (Kind.GIL_HELD, Kind.STRAGGLER, Kind.CLEANUP_DEADLOCK)
# The kernel has stopped it, or ptrace would wait for its disk.
_NOT_TRACED = "TtD"
# With `--native`: each is stopped for about as long as a hundred samples.
MOST_CLASSES = 4


def representatives(
    evidence: HangEvidence, verdict: HangVerdict, *, of_classes: bool = False
) -> tuple[Place, ...]:
    """The processes whose native frames are read, which stops them for longer than a sample does; none for most
    verdicts.

    1. The first culprit that keeps the GIL, is late, or cleans up: the end of a process group has no frame of Python.
    For `unknown`, the culprit of a reading which says that the GIL is kept.
    2. For the transport, which has no culprit, the first rank that waits in its collective.
    3. `of_classes`: the first of each class of stacks, culprits and large classes first, `MOST_CLASSES` in all.
    4. None that py-spy couldn't read.
    """
    if verdict.reading.kind is Kind.UNKNOWN:
        reading = next((each for each in verdict.readings if each.kind is Kind.GIL_HELD), None)
    else:
        reading = verdict.reading
    members = () if reading is None else _members(evidence, reading)
    first = _firsts(members)[:1]
    if of_classes:
        culprits = [each for each in evidence.processes if _is_culprit(each, verdict.reading)]
        first += [*_first_of_classes(culprits), *_first_of_classes(_judged(evidence))]
    by_class = {_class_of(each): each for each in reversed(first)}
    places = dict.fromkeys(place_of(each) for each in first if by_class[_class_of(each)] is each)
    return tuple(places)[: MOST_CLASSES if of_classes else 1]


def _firsts(processes: Iterable[SampledProcess]) -> list[SampledProcess]:
    """Returns the processes that can be read, by their ranks."""
    return sorted(filter(_is_readable, processes), key=lambda each: each.rank)


def _first_of_classes(processes: Iterable[SampledProcess]) -> list[SampledProcess]:
    """The first process of each class, the largest class first."""
    classes: dict[object, list[SampledProcess]] = {}
    for each in _firsts(processes):
        classes.setdefault(_class_of(each), []).append(each)
    return [each[0] for each in sorted(classes.values(), key=len, reverse=True)]


def _class_of(process: SampledProcess) -> object:
    return process.process.group, process.stack


def _judged(evidence: HangEvidence) -> Sequence[SampledProcess]:
    """The ranks; without any, all processes."""
    return [each for world in evidence.worlds for each in world.ranks] or evidence.processes


def _is_culprit(process: SampledProcess, reading: Reading) -> bool:
    return process.rank in reading.culprits and reading.world in ("", process.process.group)


def _members(evidence: HangEvidence, reading: Reading) -> Sequence[SampledProcess]:
    of_world = [each for each in evidence.processes if reading.world in ("", each.process.group)]
    if reading.kind is Kind.TRANSPORT:
        return [each for each in of_world if each.activity.doing is Doing.IN_COLLECTIVE]
    if reading.kind in _OF_CULPRITS:
        # At its exit a main thread waits for other threads, as its Python says.
        return [each for each in of_world if _is_culprit(each, reading) and not each.is_at_exit]
    return ()


def _is_readable(process: SampledProcess) -> bool:
    last = process.last
    return not last.reason and last.how != BY_SIGNAL and last.state not in _NOT_TRACED


def with_natives(evidence: HangEvidence, natives: Natives) -> HangEvidence:
    processes = (evolve(each, native=natives.get(place_of(each))) for each in evidence.processes)
    return evolve(evidence, processes=tuple(processes))
