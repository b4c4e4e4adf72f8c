"""Which processes of a picture are read from inside, and what their answers add to its evidence."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping

from attrs import evolve, frozen

from eagleray.observe.hangs.activity import Doing
from eagleray.observe.hangs.evidence import HangEvidence, SampledProcess
from eagleray.observe.hangs.verdict import HangVerdict, Kind, Reading
from eagleray.remote.inspecting.process_answers import ProcessReading

# Each of them gets a thread for two minutes: so many of one machine, and of all.
MOST_PROCESSES = 32
MOST_IN_ALL = 512

# Reasons that keep a process from answering, before any request; and verdicts to which no process can add anything.
_SILENT = {Doing.ENDED: "ended", Doing.STOPPED: "stopped", Doing.IN_DEBUGGER: "stopped"}
_SETTLED = (Kind.SLOW, Kind.DEBUGGER, Kind.STOPPED, Kind.RAY_GET_CYCLE, Kind.STARVATION)

# A process by its host and pid.
Place = tuple[str, int]


@frozen
class Question:
    """The processes to read; in those `holding` the GIL only PyTorch's own server can answer.

    Of those in `native` the native frames are read, from outside.
    """

    processes: tuple[Place, ...] = ()
    holding: tuple[Place, ...] = ()
    native: tuple[Place, ...] = ()

    @property
    def places(self) -> tuple[Place, ...]:
        """The processes that are read from inside."""
        return (*self.processes, *self.holding)

    def __bool__(self) -> bool:
        return bool(self.places or self.native)

    def by(self, node_of: Callable[[Place], str]) -> dict[str, Question]:
        """The question to each node."""
        nodes = dict.fromkeys(map(node_of, (*self.places, *self.native)))
        return {
            node: Question(
                tuple(place for place in self.processes if node_of(place) == node),
                tuple(place for place in self.holding if node_of(place) == node),
                tuple(place for place in self.native if node_of(place) == node),
            )
            for node in nodes
        }

    @property
    def pids(self) -> tuple[list[int], list[int], list[int]]:
        processes, holding, native = (
            [pid for _, pid in places] for places in (self.processes, self.holding, self.native)
        )
        return processes, holding, native


def question(evidence: HangEvidence, verdict: HangVerdict) -> Question:
    """Returns what to ask about this verdict."""
    if verdict.reading.kind in _SETTLED:
        return Question(())
    holding = [place_of(each) for each in evidence.processes if each.holds_gil]
    processes = map(place_of, chosen(evidence, verdict))
    return Question(tuple(processes), tuple(holding[:MOST_PROCESSES]))


def chosen(evidence: HangEvidence, verdict: HangVerdict) -> list[SampledProcess]:
    """The processes to read, at most `MOST_PROCESSES` of a machine and `MOST_IN_ALL`.

    1. None for a verdict to which they add nothing.
    2. The culprits of the verdict; for `unknown`, the culprits of the two likeliest readings.
    3. One process of each thing that is done, then all others: counters of collectives say more the more ranks have
    them.
    """
    if verdict.reading.kind in _SETTLED:
        return []
    readings = verdict.readings if verdict.reading.kind is Kind.UNKNOWN else (verdict.reading,)
    askable = [each for each in evidence.processes if can_answer(each)]
    ordered = [
        *(each for reading in readings for each in _culprits(askable, reading)),
        *_representatives(askable),
        *(each for world in evidence.judged for each in world.ranks if can_answer(each)),
    ]
    of_host: Counter[str] = Counter()
    processes = []
    for each in {place_of(each): each for each in ordered}.values():
        of_host[each.host] += 1
        if of_host[each.host] <= MOST_PROCESSES:
            processes.append(each)
    return processes[:MOST_IN_ALL]


def can_answer(process: SampledProcess) -> bool:
    """Native code that holds the GIL would keep our thread waiting."""
    return process.activity.doing not in _SILENT and not process.holds_gil


def place_of(process: SampledProcess) -> Place:
    return process.host, process.process.pid


def with_readings(evidence: HangEvidence, readings: Mapping[Place, ProcessReading]) -> HangEvidence:
    """The evidence with what processes have answered, and why ranks beside them couldn't be asked."""
    all_readings = {**(_unasked(evidence) if readings else {}), **readings}
    processes = (
        evolve(each, reading=all_readings.get(place_of(each))) for each in evidence.processes
    )
    return evolve(evidence, processes=tuple(processes))


def _unasked(evidence: HangEvidence) -> dict[Place, ProcessReading]:
    """Ranks that run and couldn't be asked; the others are listed as ended anyway."""
    reasons = {
        place_of(each): "gil-held" if each.holds_gil else _SILENT[each.activity.doing]
        for world in evidence.worlds
        for each in world.ranks
        if not can_answer(each)
    }
    return {place: ProcessReading(reason) for place, reason in reasons.items() if reason != "ended"}


def _culprits(processes: Iterable[SampledProcess], reading: Reading) -> Iterator[SampledProcess]:
    for each in processes:
        if each.rank in reading.culprits and reading.world in ("", each.process.group):
            yield each


def _representatives(processes: Iterable[SampledProcess]) -> list[SampledProcess]:
    by_activity: dict[object, SampledProcess] = {}
    for each in processes:
        by_activity.setdefault((each.process.group, each.activity), each)
    return list(by_activity.values())
