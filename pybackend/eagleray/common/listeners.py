"""A list of callbacks; each can be added and removed at any time, also during a call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Generic, ParamSpec

P = ParamSpec("P")


class Listeners(Generic[P]):
    """Callbacks, called in the order in which they were added; one may be added more than once."""

    def __init__(self) -> None:
        self._all: list[Callable[P, object]] = []

    def __iter__(self) -> Iterator[Callable[P, object]]:
        return iter(list(self._all))

    def add(self, listener: Callable[P, object]) -> Callable[[], None]:
        """Adds a callback; returns a function that removes it, and that may be called more than once."""
        self._all.append(listener)
        here = True

        def end() -> None:
            nonlocal here
            if here and listener in self._all:
                self._all.remove(listener)
            here = False

        return end

    def notify(self, *args: P.args, **kwargs: P.kwargs) -> None:
        for listener in self:
            listener(*args, **kwargs)

    def clear(self) -> None:
        self._all.clear()
