"""The process whose native frames say more about a verdict, and what they add to its evidence."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attrs import evolve

from eagleray.features.hangs.activity import Doing
from eagleray.features.hangs.evidence import HangEvidence, SampledProcess
from eagleray.features.hangs.inside import Place, place_of
from eagleray.features.hangs.verdict import HangVerdict, Kind, Reading
from eagleray.sampling.dumps import BY_SIGNAL
from eagleray.sampling.native import NativeReading

Natives = Mapping[Place, NativeReading]

_OF_CULPRITS = (Kind.GIL_HELD, Kind.STRAGGLER)
# The kernel has stopped it, or ptrace would wait for its disk.
_NOT_TRACED = "TtD"


def representative(evidence: HangEvidence, verdict: HangVerdict) -> tuple[Place, ...]:
    """The one process whose native frames are read, which stops it for longer than a sample does; none for most verdicts.

    1. The first culprit that keeps the GIL, or is late; for `unknown`, that of a reading which says that the GIL is kept.
    2. For the transport, which has no culprit, the first rank that waits in its collective.
    3. None that py-spy couldn't read.
    """
    if verdict.reading.kind is Kind.UNKNOWN:
        reading = next((each for each in verdict.readings if each.kind is Kind.GIL_HELD), None)
    else:
        reading = verdict.reading
    members = () if reading is None else _members(evidence, reading)
    readable = sorted(filter(_is_readable, members), key=lambda each: each.rank)
    return tuple(map(place_of, readable[:1]))


def _members(evidence: HangEvidence, reading: Reading) -> Sequence[SampledProcess]:
    of_world = [each for each in evidence.processes if reading.world in ("", each.process.group)]
    if reading.kind is Kind.TRANSPORT:
        return [each for each in of_world if each.activity.doing is Doing.IN_COLLECTIVE]
    if reading.kind in _OF_CULPRITS:
        return [each for each in of_world if each.rank in reading.culprits]
    return ()


def _is_readable(process: SampledProcess) -> bool:
    last = process.last
    return not last.reason and last.how != BY_SIGNAL and last.state not in _NOT_TRACED


def with_natives(evidence: HangEvidence, natives: Natives) -> HangEvidence:
    processes = (evolve(each, native=natives.get(place_of(each))) for each in evidence.processes)
    return evolve(evidence, processes=tuple(processes))
