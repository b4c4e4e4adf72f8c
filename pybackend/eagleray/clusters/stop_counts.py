"""How many workers of a cluster are stopped: counted in one place for all that show it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

from attrs import frozen

from eagleray.common.l10n import t

# The states of the rows of paused workers.
State = Literal["paused", "held", "debugging", "running", "gone"]


@frozen
class StopCounts:
    """`paused` workers wait for a debugger, `held` ones are kept by an adapter, and editors debug the others."""

    paused: int = 0
    held: int = 0
    debugging: int = 0

    @staticmethod
    def of(states: Iterable[State]) -> StopCounts:
        every = list(states)
        return StopCounts(every.count("paused"), every.count("held"), every.count("debugging"))

    @property
    def total(self) -> int:
        return self.paused + self.held + self.debugging

    @property
    def parts(self) -> tuple[str, ...]:
        """`4 paused`, `1 held`, `1 debugging`; `none paused` if no worker is stopped."""
        if not self.total:
            return (t("none paused"),)
        counts = (
            (self.paused, t("{n} paused", n=self.paused)),
            (self.held, t("{n} held", n=self.held)),
            (self.debugging, t("{n} debugging", n=self.debugging)),
        )
        return tuple(text for count, text in counts if count)


NOT_STOPPED = StopCounts()

# Counts the stopped workers of the cluster with an id.
CountStops = Callable[[str], StopCounts]
