"""The requests of the feature `debugging` and their records, printed as `extension/debug/attaching/messages.ts`."""

from __future__ import annotations

from types import NoneType

from attrs import frozen

from eagleray.debug.attaching.model import Attachment, HeldLong, IgnoredBreakpoint
from eagleray.wire.requests import LongRequest, Notification, Request


@frozen
class Attach:
    """`worker` is a worker id or an unambiguous beginning of one, or a name of the list.

    `unless_taken`: a worker that is attached already stays as it is, by the error `worker-taken`.
    """

    cluster: str
    worker: str
    workspace_folders: list[str]
    unless_taken: bool = False


@frozen
class Workers:
    """Some workers of one cluster, by worker id."""

    cluster: str
    worker_ids: list[str]


@frozen
class Failure:
    """One worker for which an action failed, with the sentence of the catalogue."""

    worker_id: str
    name: str
    code: str
    message: str
    next_step: str


@frozen
class Outcome:
    """The result of an action on several workers: how many succeeded, each failure, and what is ignored now.

    A worker that had already resumed counts in neither.
    """

    done: int
    failures: list[Failure]
    ignored: list[IgnoredBreakpoint]


@frozen
class IgnoredBreakpoints:
    """All ignored breakpoints, of which each can be removed."""

    ignored: list[IgnoredBreakpoint]


ATTACH = LongRequest("eagleray/debugging/attach", Attach, Attachment)
CONTINUE = Request("eagleray/debugging/continue", Workers, Outcome)
CONTINUE_OTHERS = Request("eagleray/debugging/continueOthers", Workers, Outcome)
RELEASE = Request("eagleray/debugging/release", Workers, Outcome)
IGNORE = Request("eagleray/debugging/ignore", Workers, Outcome)
IGNORED = Request("eagleray/debugging/ignored", NoneType, IgnoredBreakpoints)
FORGET_IGNORED = Request("eagleray/debugging/forgetIgnored", IgnoredBreakpoint, NoneType)
HELD_LONG = Notification("eagleray/debugging/heldLong", HeldLong)
