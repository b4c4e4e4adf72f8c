"""Which workers are meant, by their names and ranks."""

from __future__ import annotations

import re

from .patterns import matches_any

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from .settings import RunSettings


def rank_of(environ: Mapping[str, str], actor: str = "") -> int | None:
    """The rank of a worker as its environment or the number at the end of its name tells; None: not known."""
    if environ.get("RANK", "").isdigit():
        return int(environ["RANK"])
    number = re.search(r"[-_:.](\d+)$", actor)
    return int(number.group(1)) if number else None


def is_selected(settings: RunSettings, names: Iterable[str], rank: int | None) -> bool | None:
    """Whether a worker is meant; None while that hangs on a rank which is not known yet."""
    if not matches_any(settings.workers, names):
        return False
    if settings.ranks is None:
        return True
    return None if rank is None else rank in settings.ranks


def is_driver_selected(settings: RunSettings) -> bool:
    """A filter names workers, so that it leaves the driver alone unless it names "driver" itself."""
    return not settings.filters or (
        bool(settings.workers) and matches_any(settings.workers, ["driver"])
    )
