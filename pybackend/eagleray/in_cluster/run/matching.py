"""Which workers are meant: shell patterns over the names of a class or function, and ranks."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .settings import Settings


def names_of(module: str, qualified: str, actor: str = "") -> list[str]:
    """The names by which a class or function can be meant: its own, with its module, and the actor's."""
    short = qualified.rpartition(".")[2]
    names = [short, qualified, f"{module}.{short}", f"{module}.{qualified}", actor]
    return [name for name in names if name]


def meant(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern fits one of `names`; without patterns everybody is meant."""
    wanted = [pattern.strip() for pattern in patterns if pattern.strip()]
    known = list(names)
    return not wanted or any(fnmatchcase(name, pattern) for name in known for pattern in wanted)


def rank_of(environ: Mapping[str, str], actor: str = "") -> int | None:
    """The rank of a worker as its environment or the number at the end of its name tells; None: not known."""
    if environ.get("RANK", "").isdigit():
        return int(environ["RANK"])
    number = re.search(r"[-_:.](\d+)$", actor)
    return int(number.group(1)) if number else None


def verdict(settings: Settings, names: Iterable[str], rank: int | None) -> bool | None:
    """Whether a worker is meant; None while that hangs on a rank which is not known yet."""
    if not meant(settings.workers, names):
        return False
    if settings.ranks is None:
        return True
    return None if rank is None else rank in settings.ranks


def driver_meant(settings: Settings) -> bool:
    """A filter names workers, so that it leaves the driver alone unless it names "driver" itself."""
    return not settings.filters or (bool(settings.workers) and meant(settings.workers, ["driver"]))
