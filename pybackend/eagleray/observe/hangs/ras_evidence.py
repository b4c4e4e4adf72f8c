"""The evidence that NCCL's RAS gives alone, without processes: each rank of its answers has a record, and no stack."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from attrs import define, evolve, field

from eagleray.observe.hangs.evidence import HangEvidence, evidence
from eagleray.observe.hangs.ras_notes import note_of
from eagleray.remote.sampling.node_sampler import NodeSamples, ProcessSample, Round
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.ras import Communicator, RasAnswer
from eagleray.remote.sampling.ras_records import Launches, place_of

NO_STACK = "not-given"
_NO_PARENT = -1
# The place of its process, and its GPU: a process may have several ranks.
Place = tuple[str, int, int]


def evidence_of_answers(
    rounds: Sequence[Sequence[RasAnswer]],
    node: str,
    reasons: Iterable[str] = (),
    pause_s: float = 0,
) -> HangEvidence:
    """Returns the evidence in answers of one time, or of two; they are about the same jobs."""
    launches = [Launches(answers, rounds[0] if at else None) for at, answers in enumerate(rounds)]
    last = launches[-1]
    by_host: dict[str, list[tuple[Place, Described]]] = defaultdict(list)
    for place, process in _processes(last.communicators):
        by_host[place[0] if place[1] > 0 else ""].append((place, process))
    nodes = [
        NodeSamples(
            host,
            tuple(process for _, process in processes),
            tuple(_round(each, [place for place, _ in processes]) for each in launches),
        )
        for host, processes in by_host.items()
    ]
    joined = {place[:2] for listed in by_host.values() for place, _ in listed}
    version = next((each.version for each in rounds[-1]), "")
    note = {"version": version, "reasons": sorted(set(reasons)), **last.note(joined)}
    ras = (note_of(node, json.dumps(note)),)
    return evolve(evidence(nodes, pause_s, is_whole=False), is_given=True, ras=ras)


def _round(launches: Launches, places: Iterable[Place]) -> Round:
    records = (launches.record([place[:2]], place[2]) for place in places)
    samples = (ProcessSample("S", "", 0.0, NO_STACK, "", False, record=each) for each in records)
    return Round(tuple(samples), (), ())


@define
class _World:
    """Ranks that share communicators; the largest of these numbers them, and others follow."""

    communicator: Communicator
    numbers: dict[Place, int] = field(factory=dict)
    following: int = 0

    def add(self, communicator: Communicator) -> None:
        for rank in communicator.ranks:
            place = *place_of(communicator, rank), rank.device
            if place not in self.numbers:
                is_own = communicator is self.communicator
                self.numbers[place] = rank.rank if is_own else self.following
                self.following = max(self.following, self.numbers[place]) + 1


def _processes(communicators: Iterable[Communicator]) -> Iterator[tuple[Place, Described]]:
    """The ranks by their places."""
    worlds: list[_World] = []
    of_process: dict[tuple[str, int], _World] = {}
    # The largest come first.
    for each in communicators:
        places = {place_of(each, rank) for rank in each.ranks}
        world = next((of_process[place] for place in places if place in of_process), None)
        if world is None and places:
            world = _World(each)
            worlds.append(world)
        if world is not None:
            world.add(each)
            of_process.update(dict.fromkeys(places, world))
    for world in worlds:
        name, size = world.communicator.name, world.communicator.size
        title = "ranks" if len(worlds) == 1 else f"communicator {name}"
        for place, number in world.numbers.items():
            pid = max(0, place[1])
            yield place, Described(pid, _NO_PARENT, RANK, title, number, "", size, name)
