"""The event loops of an async actor's concurrency groups: the thread of each has entered it before Ray makes the next.

Ray starts these threads in a loop, with a `lambda` that reads the variable of that loop once the thread runs (2.9 to
2.60, `initialize_eventloops_for_actor_concurrency_group` in `_raylet.pyx`).  Under a
debugger a thread starts later, so that two threads would run the last loop, and the calls of a group never be answered.
"""

from __future__ import annotations

import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import ModuleType
    from typing import Any

# Long enough for a busy machine.
ENTER_S = 30.0
POLL_INTERVAL_S = 0.0005


def extend(module: ModuleType) -> None:
    """Extends the function of Ray's `_raylet` that makes these loops, and nothing else."""
    before = vars(module)["get_new_event_loop"]
    made: list[Any] = []

    def get_new_event_loop() -> Any:
        if made:
            wait_until_entered(made.pop())
        made.append(before())
        return made[0]

    vars(module)["get_new_event_loop"] = get_new_event_loop


def wait_until_entered(loop: Any) -> None:
    deadline = time.monotonic() + ENTER_S
    while not loop.is_running() and time.monotonic() < deadline:
        time.sleep(POLL_INTERVAL_S)
