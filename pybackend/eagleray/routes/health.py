"""How a connection that is owned here is doing, in words that a person can read."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import Literal

State = Literal["connecting", "ready", "degraded", "lost", "reconnecting"]


@dataclass(frozen=True)
class Health:
    """The state of a connection since `since` (monotonic seconds).

    connecting: the first connection is being made.  ready: the far end has answered within 3 s.
    degraded: it has not; a new connection is being made beside this one.  reconnecting: the old one is
    given up, new ones are tried.  lost: nothing is tried until the person acts or somebody needs it.
    `reason` is a sentence, `message` the last words of ssh or srun, both plain text.  `control` is where a
    ready ssh takes further sessions, so that a terminal of the person need not ask them again.
    """

    state: State
    reason: str = ""
    message: str = ""
    since: float = field(default_factory=time.monotonic)
    control: str = ""
