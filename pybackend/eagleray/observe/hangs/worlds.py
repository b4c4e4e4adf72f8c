"""Which ranks are a world: those that meet at the same address, whatever their programs are called."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence

from attrs import frozen

from eagleray.remote.sampling.processes import RANK, Described, place_of

# A world of more programs than these is called by the first of them.
_MOST_NAMES = 2


@frozen
class Placed:
    """A process and its node."""

    host: str
    process: Described

    @property
    def name(self) -> str:
        """The name of its program or class."""
        return self.process.group.removesuffix(place_of(self.process))


# Details that tell apart worlds which seem to meet at the same address.
_PARTS: tuple[Callable[[Placed], Hashable], ...] = (
    lambda each: None,
    # Another program that was started in the same environment.
    lambda each: each.name,
    # `localhost` is an address of each node.
    lambda each: each.host,
    lambda each: (each.host, each.name),
)


def with_worlds(processes: Iterable[tuple[str, Described]]) -> list[Described]:
    """The processes, each with its host, where the group of a rank is the title of its world.

    A rank without an address belongs to the ranks of the same name.
    """
    placed = [Placed(host, process) for host, process in processes]
    worlds = _worlds([each for each in placed if each.process.role == RANK])
    titles = {id(each): title for title, world in _titled(worlds) for each in world}
    return [
        each.process._replace(group=titles.get(id(each), each.process.group)) for each in placed
    ]


def _worlds(ranks: Iterable[Placed]) -> list[list[Placed]]:
    by_address: dict[str, list[Placed]] = defaultdict(list)
    worlds = []
    for each in ranks:
        by_address[each.process.rendezvous].append(each)
    worlds += _parts(by_address.pop("", []), lambda each: each.name)
    for alike in by_address.values():
        worlds += next(
            (parts for by in _PARTS if not any(map(_clash, parts := _parts(alike, by)))), [alike]
        )
    return _united(worlds)


def _parts(ranks: Iterable[Placed], by: Callable[[Placed], Hashable]) -> list[list[Placed]]:
    parts: dict[Hashable, list[Placed]] = defaultdict(list)
    for each in ranks:
        parts[by(each)].append(each)
    return list(parts.values())


def _clash(ranks: Sequence[Placed]) -> bool:
    """Whether a rank is there twice, as in two worlds."""
    return len({each.process.number for each in ranks}) < len(ranks)


def _united(worlds: Sequence[list[Placed]]) -> list[list[Placed]]:
    """The worlds, where parts that only write their address differently are put together.

    The node of rank 0 may call itself `localhost`.
    """
    by_appearance: dict[Hashable, list[list[Placed]]] = defaultdict(list)
    for world in worlds:
        by_appearance[_appearance(world)].append(world)
    united = []
    for alike in by_appearance.values():
        whole = _all(alike)
        united += [whole] if _fits(whole) else alike
    return _completed(united)


def _completed(worlds: Sequence[list[Placed]]) -> list[list[Placed]]:
    """The worlds, where parts that are whole only together are one, though some of its ranks have another port."""
    alike: dict[Hashable, list[list[Placed]]] = defaultdict(list)
    for world in worlds:
        alike[_appearance(world)[:2]].append(world)
    completed = []
    for parts in alike.values():
        whole, size = _all(parts), parts[0][0].process.world_size
        is_whole = len(parts) > 1 and len(whole) == size and _fits(whole)
        completed += [whole] if is_whole else parts
    return completed


def _all(parts: Iterable[Iterable[Placed]]) -> list[Placed]:
    return [each for part in parts for each in part]


def _fits(world: Sequence[Placed]) -> bool:
    return len(world) <= world[0].process.world_size and not _clash(world)


def _appearance(world: Sequence[Placed]) -> tuple[Hashable, ...]:
    first = world[0].process
    names = tuple(sorted({each.name for each in world}))
    return names, first.world_size, first.rendezvous.rpartition(":")[2]


def _titled(worlds: Iterable[Sequence[Placed]]) -> Iterator[tuple[str, Sequence[Placed]]]:
    """Each world with a title of its own: its address and its node are in it only where they must be."""
    titles = [
        (_title(world), _title(world) + place_of(world[0].process), world) for world in worlds
    ]
    short = Counter(title for title, _, _ in titles)
    long = Counter(title for _, title, _ in titles)
    for title, with_address, world in titles:
        if short[title] == 1:
            yield title, world
        elif long[with_address] == 1:
            yield with_address, world
        else:
            yield f"{with_address} {world[0].host}".rstrip(), world


def _title(world: Sequence[Placed]) -> str:
    first_ranks: dict[str, int] = {}
    for each in world:
        first_ranks[each.name] = min(each.process.number, first_ranks.get(each.name, 1 << 31))
    names = sorted(first_ranks, key=_by(first_ranks))
    more = [] if len(names) <= _MOST_NAMES else ["…"]
    return ", ".join([*names[:_MOST_NAMES], *more])


def _by(numbers: Mapping[str, int]) -> Callable[[str], tuple[int, str]]:
    return lambda name: (numbers[name], name)
