"""Limits of one question: CPU time of our thread, items that it goes through, and a client that still waits."""

from __future__ import annotations

import _thread
from time import thread_time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

# Limits of each thread that answers.  The longest step between two checks takes 0.04 s, so that a question stays below 0.2 s.
CPU_S = 0.15
# Half of it is for the numbers in arrays, so that all variables are listed.
_SUMMARY_S = CPU_S / 2
# Items that an expression may go through or make, and characters for which an item counts.
MOST_ITEMS_READ = 100_000
CHARACTERS = 64
CHECKED = 256
# The client is looked for less often: that gives up the GIL, which a busy program then keeps for a while.
_CLIENT_S = CPU_S / 30
_QUESTION: Any = _thread._local()


class Refused(Exception):
    """An expression that might change the program, wait for it, or take much of its time or memory."""


class ClientGone(Exception):
    """The client that has asked is gone."""


def begin(is_gone: Callable[[], bool] = bool, limit_s: float = CPU_S) -> None:
    """Begins a question of this thread; `is_gone` says whether its client has closed the connection."""
    _QUESTION.since = thread_time()
    _QUESTION.limit_s = limit_s
    _QUESTION.items = 0
    _QUESTION.is_gone = is_gone
    _QUESTION.next_client_s = 0.0


def end() -> None:
    """Ends the question: what the thread does from then on has no limit."""
    begin()
    _QUESTION.since = None


def check() -> None:
    """Raises Refused or ClientGone when the question has to end; called at least every 0.04 s of CPU time."""
    spent = _spent_s()
    limit_s = getattr(_QUESTION, "limit_s", CPU_S)
    if spent > limit_s:
        raise Refused(f"This needs more than {limit_s} s of the program's CPU time")
    if spent >= getattr(_QUESTION, "next_client_s", 0.0):
        _QUESTION.next_client_s = spent + _CLIENT_S
        if getattr(_QUESTION, "is_gone", bool)():
            raise ClientGone


def spend(items: int) -> None:
    """Counts items that the question goes through.  Raises like `check`."""
    before: int = getattr(_QUESTION, "items", 0)
    _QUESTION.items = before + items
    if _QUESTION.items > MOST_ITEMS_READ:
        raise too_many(_QUESTION.items)
    if _QUESTION.items // CHECKED != before // CHECKED:
        check()


def too_many(items: int) -> Refused:
    return Refused(f"This would go through {items:,} items in the program")


def has_time_for_numbers() -> bool:
    return _spent_s() < _SUMMARY_S


def _spent_s() -> float:
    since: float | None = getattr(_QUESTION, "since", None)
    return 0.0 if since is None else thread_time() - since
