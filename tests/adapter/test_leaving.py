"""How an editor left: the raw arguments of `disconnect` that VS Code sends, one row per way."""

from __future__ import annotations

from typing import Any

import pytest
from eagleray.adapter.sessions.disconnect import Leaving, leaving

# "restart", "terminateDebuggee", "suspendDebuggee" as the real editor sends them to an adapter that
# advertises supportTerminateDebuggee and supportSuspendDebuggee.
WAYS: list[tuple[str, dict[str, Any] | None, Leaving]] = [
    (
        "toolbar Disconnect, Shift+F5, stopDebugging",
        {"restart": False, "terminateDebuggee": False, "suspendDebuggee": False},
        Leaving.RELEASE,
    ),
    (
        "Disconnect and Suspend",
        {"restart": False, "terminateDebuggee": False, "suspendDebuggee": True},
        Leaving.HOLD,
    ),
    ("Stop", {"restart": False, "terminateDebuggee": True}, Leaving.HOLD),
    (
        "Stop of a client that sends all flags",
        {"restart": False, "terminateDebuggee": True, "suspendDebuggee": False},
        Leaving.HOLD,
    ),
    ("Restart", {"restart": True, "terminateDebuggee": True}, Leaving.RETURN),
    ("page reload, closed tab", {"restart": False}, Leaving.HOLD),
    (
        "after our own terminated",
        {"restart": False, "terminateDebuggee": False},
        Leaving.HOLD,
    ),
    ("another client without arguments", {}, Leaving.HOLD),
    ("a client with flags that are no booleans", {"terminateDebuggee": 0}, Leaving.HOLD),
    ("extension host killed: the connection just ends", None, Leaving.HOLD),
]


@pytest.mark.parametrize(("arguments", "expected"), [w[1:] for w in WAYS], ids=[w[0] for w in WAYS])
def test_way_of_leaving(arguments: dict[str, Any] | None, expected: Leaving) -> None:
    assert leaving(arguments) is expected
