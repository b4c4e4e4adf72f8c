"""Patterns as people write them, and the names of a class or function that they are held against."""

from __future__ import annotations

from fnmatch import fnmatchcase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any


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
