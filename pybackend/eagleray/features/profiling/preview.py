"""Which classes of workers fit patterns, told by the actors that live in a cluster or did lately."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from attrs import frozen

from eagleray.clients.ray_values import ActorRow
from eagleray.common.errors import printable


@frozen
class SeenClass:
    """A class or a named actor; `running` counts those that live, `matched_by` is the pattern that fits, or ""."""

    name: str
    running: int
    matched_by: str


def preview(actors: Iterable[ActorRow], patterns: Sequence[str]) -> list[SeenClass]:
    """Each class once, those that fit first.  An actor whose own name fits, and not its class, is said by that name."""
    counts: dict[tuple[str, str], int] = {}
    for actor in actors:
        by_class = matching(patterns, actor.class_name)
        by_name = matching(patterns, actor.name) if actor.name and not by_class else ""
        key = (actor.name if by_name else actor.class_name, by_class or by_name)
        counts[key] = counts.get(key, 0) + (actor.state != "DEAD")
    found = [SeenClass(printable(name, 200), n, fits) for (name, fits), n in counts.items() if name]
    return sorted(found, key=lambda one: (not one.matched_by, -one.running, one.name))


def matching(patterns: Sequence[str], name: str) -> str:
    """The first pattern that fits `name` or the end of a name with dots; "" if none does."""
    names = (name, name.rpartition(".")[2])
    return next((one for one in patterns if any(fnmatchcase(name, one) for name in names)), "")
