"""Ray makes the next event loop of an async actor only when the thread of the last one has entered it."""

from __future__ import annotations

import types

import pytest
from eagleray.remote.injected.hooks import actor_loops


class Loop:
    def __init__(self) -> None:
        self.polls = 0

    def is_running(self) -> bool:
        self.polls += 1
        return self.polls > 3


def test_next_loop_is_made_when_the_last_one_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(actor_loops, "POLL_INTERVAL_S", 0)
    module = types.ModuleType("ray._raylet")
    vars(module)["get_new_event_loop"] = Loop
    actor_loops.extend(module)
    loops = [vars(module)["get_new_event_loop"]() for _ in range(3)]
    assert [loop.polls for loop in loops] == [4, 4, 0]
