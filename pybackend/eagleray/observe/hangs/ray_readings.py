"""Ray's reasons for the deaths of actors."""

from __future__ import annotations

import re

from eagleray.common.errors import printable
from eagleray.common.l10n import later, t, translated
from eagleray.observe.hangs.evidence import DeadActor, HangEvidence, World

# More of these make a sentence unreadable.
_MOST_DEATHS = 3


# Messages of Ray 2.60 about a dead actor, and their meaning; the first that fits.
_DEATHS = (
    (
        "running low on memory|OutOfMemory|memory pressure",
        later("Ray killed it for lack of memory"),
    ),
    ("killed by `ray.kill`", later("ray.kill ended it")),
    ("owner (has|is|was|process)", later("its owner has ended")),
    ("node (it was running on|has)? ?(died|failed)|NODE_DIED", later("its node is gone")),
    ("exit_actor|INTENDED", later("it ended itself")),
    (
        "SYSTEM_ERROR|unexpected",
        later("its process ended unexpectedly: a crash, or no memory left"),
    ),
)


def deaths(evidence: HangEvidence, world: World) -> str:
    """Sentences with Ray's reasons for the deaths of actors of `world`, "" without one."""
    of_world = [
        each
        for each in evidence.dead
        if each.class_name
        and (world.name.startswith(each.class_name) or each.name.startswith(world.name))
    ]
    return "".join(
        " " + t("Ray says of {name}: {why}.", name=_name_of(each), why=_why(each))
        for each in of_world[:_MOST_DEATHS]
    )


def _name_of(dead: DeadActor) -> str:
    name = printable(dead.name or dead.class_name, 100)
    return t("{name} (PID {pid})", name=name, pid=dead.pid) if dead.pid else name


def _why(dead: DeadActor) -> str:
    for pattern, meaning in _DEATHS:
        if re.search(pattern, dead.why):
            return translated(meaning)
    return printable(dead.why.partition(". ")[0], 200) or t("it is dead")
