"""Which classes of workers fit patterns, told by the actors that live in a cluster or did lately, and by earlier runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from attrs import frozen

from eagleray.common.errors import printable
from eagleray.injected.worker_patterns import first_match, matchable_names, split_patterns
from eagleray.ray.rows import ActorRow


@frozen
class SeenClass:
    """A class or a named actor; `running` counts those that live, `matched_by` is the pattern that fits, or ""."""

    name: str
    running: int
    matched_by: str


def preview(
    actors: Iterable[ActorRow], patterns: Sequence[str], known: Sequence[str] = ()
) -> list[SeenClass]:
    """Each class once, those that fit first, by what of it fits: its class, its class with the module, or its name.

    Ray says nothing of modules; `known` are classes of runs, as `module:Class`.  An actor of a class that is known
    of one module is taken for that.
    """
    wanted = split_patterns(patterns)
    modules: dict[str, list[str]] = {}
    for one in dict.fromkeys(known):
        module, _, class_name = one.partition(":")
        modules.setdefault(class_name, []).append(module)
    counts: dict[tuple[str, str], int] = {}
    for actor in actors:
        (module,) = found if len(found := modules.get(actor.class_name, [])) == 1 else ("",)
        key = _fitting(wanted, module, actor.class_name, actor.name)
        counts[key] = counts.get(key, 0) + (actor.state != "DEAD")
    for class_name, found in modules.items():
        for module in found:
            counts.setdefault(_fitting(wanted, module, class_name), 0)
    seen = [SeenClass(printable(name, 200), n, fits) for (name, fits), n in counts.items() if name]
    return sorted(seen, key=lambda one: (not one.matched_by, -one.running, one.name))


def _fitting(
    patterns: Sequence[str], module: str, class_name: str, actor: str = ""
) -> tuple[str, str]:
    """By what it is said, and the pattern by which a run would mean it or ""."""
    pattern, name = first_match(patterns, matchable_names(module, class_name, actor))
    if not pattern or name in matchable_names("", class_name):
        return class_name, pattern
    return (actor if name == actor else f"{module}.{class_name}"), pattern
