"""How an editor left, told from what it said last.

An editor that closes, reloads or crashes must not let the worker run on; only one whose Disconnect
was pressed does.  VS Code says so only to an adapter with both supportTerminateDebuggee and
supportSuspendDebuggee.  What is unknown means HOLD: a held worker can still be released.
"""

from __future__ import annotations

from enum import Enum

from eagleray.adapter.sessions.dap import Message


class DisconnectIntent(Enum):
    """What becomes of the worker."""

    RELEASE = "release"  # it runs on and we let go of it
    HOLD = "hold"  # it stays as it is
    RETURN = "return"  # it stays as it is; the same editor comes back at once


def disconnect_intent(disconnect: Message | None) -> DisconnectIntent:
    """Judges the arguments of `disconnect`, None when the connection just ended.

    1. `restart`: the editor comes back.
    2. Both flags say no: somebody pressed Disconnect.
    3. Everything else, Stop included: nobody said that the worker may run on.  Stop ends nothing
       from here; the editor asks the person.
    """
    if disconnect is None:
        return DisconnectIntent.HOLD
    if disconnect.get("restart") is True:
        return DisconnectIntent.RETURN
    if disconnect.get("suspendDebuggee") is False and disconnect.get("terminateDebuggee") is False:
        return DisconnectIntent.RELEASE
    return DisconnectIntent.HOLD
