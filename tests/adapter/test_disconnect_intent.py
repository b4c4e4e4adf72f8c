"""The intent of an editor that disconnects, by the raw arguments that VS Code sends."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.sessions.editor import DisconnectIntent, disconnect_intent

# "restart", "terminateDebuggee", "suspendDebuggee" as the real editor sends them to an adapter that
# advertises supportTerminateDebuggee and supportSuspendDebuggee.
CASES: list[tuple[str, dict[str, Any] | None, DisconnectIntent]] = [
    (
        "toolbar Disconnect, Shift+F5, stopDebugging",
        {"restart": False, "terminateDebuggee": False, "suspendDebuggee": False},
        DisconnectIntent.RELEASE,
    ),
    (
        "Disconnect and Suspend",
        {"restart": False, "terminateDebuggee": False, "suspendDebuggee": True},
        DisconnectIntent.HOLD,
    ),
    ("Stop", {"restart": False, "terminateDebuggee": True}, DisconnectIntent.HOLD),
    (
        "Stop of a client that sends all flags",
        {"restart": False, "terminateDebuggee": True, "suspendDebuggee": False},
        DisconnectIntent.HOLD,
    ),
    ("Restart", {"restart": True, "terminateDebuggee": True}, DisconnectIntent.RETURN),
    ("page reload, closed tab", {"restart": False}, DisconnectIntent.HOLD),
    (
        "after our own terminated",
        {"restart": False, "terminateDebuggee": False},
        DisconnectIntent.HOLD,
    ),
    ("another client without arguments", {}, DisconnectIntent.HOLD),
    ("a client with flags that are no booleans", {"terminateDebuggee": 0}, DisconnectIntent.HOLD),
    ("extension host killed: the connection just ends", None, DisconnectIntent.HOLD),
]


@pytest.mark.parametrize(
    ("arguments", "expected"), [w[1:] for w in CASES], ids=[w[0] for w in CASES]
)
def test_disconnect_arguments_decide_the_intent(
    arguments: dict[str, Any] | None, expected: DisconnectIntent
) -> None:
    assert disconnect_intent(arguments) is expected
