"""Which workers are meant: shell patterns over the names of a class or function, and ranks."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

    from .settings import Settings


def patterns_of(said: Iterable[Any]) -> list[str]:
    """Patterns as people write them: separated by commas, with blanks around them, some of them empty."""
    return [one for text in said for part in str(text).split(",") if (one := part.strip())]


def names_of(module: str, qualified: str, actor: str = "") -> list[str]:
    """The names by which a class or function can be meant: its own, with its module if that is known, the actor's."""
    own = [qualified.rpartition(".")[2], qualified]
    with_module = [f"{module}.{name}" for name in own] if module else []
    return [name for name in [*own, *with_module, actor] if name]


def first_fit(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, str]:
    """The first pattern that fits one of `names`, and the first name that it fits; twice "" if none does."""
    known = list(names)
    fits = ((one, name) for one in patterns for name in known if fnmatchcase(name, one))
    return next(fits, ("", ""))


def meant(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern fits one of `names`; without patterns everybody is meant."""
    wanted = patterns_of(patterns)
    return not wanted or bool(first_fit(wanted, names)[0])


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
