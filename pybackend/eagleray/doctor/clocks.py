"""Clocks of nodes: how far each is ahead, so that lines of several nodes can be put in the order of their events."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from attrs import field, frozen

# Log lines have whole seconds, and reading the facts of a node takes a part of one: less isn't corrected.
TOLERANCE_S = 2.0
# A program may be started by a machine whose own clock is off.
_STARTED_S = 60.0


@frozen
class Clocks:
    """`ahead` are seconds by which the times that a node writes are ahead, by its address; only those beyond the tolerance.

    Nodes in `checked` have had their clocks read.
    """

    ahead: Mapping[str, float] = field(factory=dict)
    checked: frozenset[str] = frozenset()

    def corrected(self, at: float, node: str) -> float:
        """The time that a node has written, as the node by which the others are measured would write it."""
        return at - self.ahead.get(node, 0.0)

    def is_before(self, at: float | None, node: str, started: float) -> bool:
        """Whether a line is surely older than `started`; a node whose clock wasn't read may have any time zone."""
        is_comparable = not node or node in self.checked
        return at is not None and is_comparable and at < started - _STARTED_S


def clocks_of(facts: Sequence[Mapping[str, Any]]) -> Clocks:
    """The clocks in the facts of a cluster's nodes; local times differ by their time zones, too."""
    own_zone_s = time.localtime().tm_gmtoff
    ahead = {}
    for row in facts:
        offset_s, zone_s = row.get("clock_offset"), row.get("utc_offset", own_zone_s)
        if isinstance(offset_s, (int, float)) and isinstance(zone_s, (int, float)):
            ahead[str(row.get("node"))] = offset_s + zone_s - own_zone_s
    return Clocks(
        {node: seconds for node, seconds in ahead.items() if abs(seconds) > TOLERANCE_S},
        frozenset(ahead),
    )
