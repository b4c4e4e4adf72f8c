"""Threads of the runner beside the agent's."""

from __future__ import annotations

import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def own_thread(call: Callable[[], Any], name: str) -> threading.Thread:
    """Not started; debugpy neither shows it nor stops it with the agent, so that a stopped agent can be cancelled."""
    thread: Any = threading.Thread(target=call, daemon=True, name=name)
    thread.pydev_do_not_trace = thread.is_pydev_daemon_thread = True
    return thread  # type: ignore[no-any-return]
