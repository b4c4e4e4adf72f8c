"""Patterns of workers as the user writes them, and the names of a class or function that they are matched with."""

from __future__ import annotations

import re
from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


def split_patterns(said: Iterable[Any]) -> list[str]:
    """Patterns as people write them: separated by commas, with blanks around them, some of them empty."""
    return [one for text in said for part in str(text).split(",") if (one := part.strip())]


_WORD_BOUNDARY = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")


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
    """The first pattern that fits one of `names`, and the first name that it fits; twice "" if none does."""
    known = list(names)
    fits = ((one, name) for one in patterns for name in known if fnmatchcase(name, one))
    return next(fits, ("", ""))


def matches_any(patterns: Iterable[str], names: Iterable[str]) -> bool:
    """Whether a pattern fits one of `names`; without patterns everybody is meant."""
    wanted = split_patterns(patterns)
    return not wanted or bool(first_match(wanted, names)[0])
