"""Nodes of a large cluster made of the recorded hangs: each a few times on every node, with ranks, PIDs and addresses of its own."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import cache

from eagleray.remote.sampling import sample_codec
from eagleray.remote.sampling.merging import MergedStack, united
from eagleray.remote.sampling.node_sampler import NodeSamples, Round
from eagleray.remote.sampling.processes import RANK, Described
from eagleray.remote.sampling.rank_sets import RankSet

from tests.observe.hangs.ranks import WORLD
from tests.observe.hangs.record import PLACE, RECORDED, REPOSITORY

# Far more than PIDs of a recording differ by.
_PIDS = 10_000_000


def scenarios() -> list[str]:
    """The recordings that have a process of each rank."""
    names = sorted(path.stem for path in RECORDED.glob("*.json"))
    return [name for name in names if len(_ranks(_recording(name))) == WORLD]


def worlds(names: Sequence[str], nodes: int, ranks_per_node: int) -> list[NodeSamples]:
    """`nodes` nodes; the nodes of each of `names` are one world that hangs in this way, and all worlds have about as
    many.
    """
    made = []
    for at, name in enumerate(names):
        count = nodes * (at + 1) // len(names) - nodes * at // len(names)
        made += _world(name, at, count, ranks_per_node)
    return made


def _world(name: str, at: int, nodes: int, ranks_per_node: int) -> Iterator[NodeSamples]:
    recorded = _recording(name)
    copies = ranks_per_node // WORLD
    for node in range(nodes):
        parts = [
            _Renumbered(recorded, node * copies + copy, copy, at, nodes * ranks_per_node)
            for copy in range(copies)
        ]
        yield NodeSamples(
            f"{name}-{node}",
            tuple(process for part in parts for process in part.processes()),
            tuple(
                Round(
                    tuple(sample for taken in rounds for sample in taken.processes),
                    tuple(united(taken.leading for taken in rounds)),
                    tuple(united(taken.others for taken in rounds)),
                )
                for rounds in zip(*(part.rounds() for part in parts), strict=True)
            ),
            recorded.interval_s,
        )


class _Renumbered:
    """A recording as the ranks from `number * WORLD` of a world with `world_size`, on a node that has it `copy` times before."""

    def __init__(
        self, recorded: NodeSamples, number: int, copy: int, world: int, world_size: int
    ) -> None:
        self._recorded = recorded
        self._first = number * WORLD
        self._pids = copy * _PIDS
        self._address = f"head{world}:29500"
        self._world_size = world_size
        self._groups = {each.group for each in _ranks(recorded)}

    def processes(self) -> Iterator[Described]:
        for each in self._recorded.processes:
            moved = each._replace(pid=each.pid + self._pids, parent=each.parent + self._pids)
            if each.role == RANK:
                yield moved._replace(
                    number=each.number + self._first,
                    rendezvous=self._address,
                    world_size=self._world_size,
                    is_world_here=False,
                )
            else:
                yield moved._replace(number=each.number + self._pids)

    def rounds(self) -> Iterator[Round]:
        for taken in self._recorded.rounds:
            yield taken._replace(
                leading=tuple(map(self._moved, taken.leading)),
                others=tuple(map(self._moved, taken.others)),
            )

    def _moved(self, entry: MergedStack) -> MergedStack:
        return MergedStack(
            entry.stack,
            {
                group: RankSet.of(
                    rank + (self._first if group in self._groups else self._pids) for rank in ranks
                )
                for group, ranks in entry.members.items()
            },
        )


@cache
def _recording(name: str) -> NodeSamples:
    text = (RECORDED / f"{name}.json").read_text().replace(PLACE, REPOSITORY)
    [node] = sample_codec.load(json.loads(text))
    return node


def _ranks(recorded: NodeSamples) -> list[Described]:
    return [each for each in recorded.processes if each.role == RANK]
