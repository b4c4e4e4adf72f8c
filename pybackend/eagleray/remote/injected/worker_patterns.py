"""Patterns and ranks that select workers, and the names of a class or function that patterns match."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

from .process_identity import whole_number

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


def split_patterns(texts: Iterable[Any]) -> list[str]:
    """The patterns in `texts`, each of which may hold several that are separated by commas and blanks."""
    return [pattern for text in texts for part in str(text).split(",") if (pattern := part.strip())]


def matchable_names(module: str, qualified: str, actor: str = "") -> list[str]:
    """The names that a pattern can match: the class or function, with its module if known, in snake case, the actor.

    Snake case is how frameworks write their classes in settings: `dtensor_policy_worker` is NeMo RL's
    DTensorPolicyWorker.
    """
    own = [qualified.rpartition(".")[2], qualified]
    with_module = [f"{module}.{name}" for name in own] if module else []
    snake_case = _WORD_BOUNDARY.sub("_", own[0]).lower()
    return [name for name in [*own, *with_module, snake_case, actor] if name]


def first_match(patterns: Iterable[str], names: Iterable[str]) -> tuple[str, str]:
    """The first pattern that matches one of `names`, and the first name that it matches; twice "" if none does."""
    candidates = list(names)
    matches = (
        (pattern, name) for pattern in patterns for name in candidates if fnmatchcase(name, pattern)
    )
    return next(matches, ("", ""))


def matches_any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern matches one of `names`; no pattern at all matches everything."""
    wanted = split_patterns(patterns)
    return not wanted or bool(first_match(wanted, names)[0])


def rank_of(environ: Mapping[str, str], actor: str = "") -> int | None:
    """The rank of a worker by its environment or the number at the end of its name; None if unknown."""
    # The other variables of launchers belong to the program that has started Ray on this node.
    rank = whole_number(environ.get("RANK", ""))
    if rank is not None:
        return rank
    number = re.search(r"[-_:.](\d+)$", actor)
    return whole_number(number.group(1)) if number else None


def is_selected(
    workers: list[str], ranks: list[int] | None, names: Iterable[str], rank: int | None
) -> bool | None:
    """Whether the run selects a worker; None while that depends on a rank that isn't known yet."""
    if not matches_any(workers, names):
        return False
    if ranks is None:
        return True
    return None if rank is None else rank in ranks


def is_driver_selected(
    workers: list[str], ranks: list[int] | None, rank: int | None
) -> bool | None:
    """Whether the run selects a process that the user started; None while that depends on its rank.

    Patterns name workers, so they exclude it unless one names "driver".  That one selects it without a rank, too.
    """
    is_named = bool(workers) and matches_any(workers, ["driver"])
    if workers and not is_named:
        return False
    if ranks is None:
        return True
    if rank is None:
        return is_named or None
    return rank in ranks
