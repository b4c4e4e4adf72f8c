"""The record of one run of the agent for one data item, and its event."""

from __future__ import annotations

import json
import time

from .areal_contract import LONGEST_RESULT, outcome, result_rules, reward_of, safe_repr
from .episode_results import EpisodeResult
from .errors import described
from .http_recording import HttpRecord
from .printing import Printed

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .left_tasks import RunTasks

# Limit of all requests and responses; a character may be six in JSON.
_LONGEST_BODIES = 8 * 1024 * 1024


class ItemRun:
    """`index` counts the runs of a wave, `item` the data items; `member` is the place in the group."""

    def __init__(self, index: int, item: int, group: int, member: int) -> None:
        self.index = index
        self.item = item
        self.group = group
        self.member = member
        self.record = HttpRecord()
        self.printed = Printed()
        self.started = time.monotonic()
        self.seconds = 0.0
        self.outcome = "done"
        self.value: Any = None
        self.reward: float | None = None
        self.error: dict[str, Any] | None = None
        self.location: dict[str, Any] | None = None
        self.rules: list[dict[str, Any]] = []
        # None in a process of a pool, which says itself what is left.
        self.tasks: RunTasks | None = None
        self.left_tasks: list[dict[str, Any]] | None = []

    def returned(self, value: Any) -> None:
        if isinstance(value, EpisodeResult):
            self.value, self.reward, self.rules = value.shown, value.reward, value.rules()
        else:
            self.value, self.reward = value, reward_of(value)
            self.rules = self._rules_of(value)
        if not all(rule["ok"] for rule in self.rules):
            self.outcome = "rejected"

    def _rules_of(self, value: Any) -> list[dict[str, Any]]:
        exchanges = self.record.exchanges
        ids = (
            {text for exchange in exchanges for text in exchange.ids()}
            if value_has_ids(value)
            else set()
        )
        return result_rules(value, ids, any(exchange.status for exchange in exchanges))

    def raised(self, error: BaseException) -> None:
        self.outcome = "failed"
        self.error = described(error)

    def ended(self, outcome: str, location: dict[str, Any] | None = None) -> None:
        """It was ended: "timeout" or "cancelled"."""
        self.outcome = outcome
        self.location = location

    def broke(self, rule: str) -> None:
        """Breaks a rule that isn't about its result."""
        self.rules.append(outcome(rule, False))

    def finished(self) -> None:
        self.seconds = time.monotonic() - self.started

    def _requests(self) -> list[dict[str, Any]]:
        """With bodies up to a size: an event is one line."""
        room, requests = _LONGEST_BODIES, []
        for exchange in self.record.exchanges:
            values = exchange.as_json()
            for name in ("request", "response"):
                values[name] = values[name][:room]
                room -= len(values[name])
            requests.append(values)
        return requests

    def event(self) -> dict[str, Any]:
        return {
            "event": "item",
            "index": self.index,
            "item": self.item,
            "group": self.group,
            "member": self.member,
            "outcome": self.outcome,
            "result": shown_result(self.value),
            "reward": self.reward if self.outcome == "done" else None,
            "error": self.error,
            "location": self.location,
            "rules": self.rules,
            "printed": self.printed.text(),
            "started": self.started,
            "seconds": round(self.seconds, 4),
            "clients": self.record.clients,
            "client_seconds": round(self.record.client_seconds, 4),
            "client_location": self.record.client_location,
            "left_tasks": self.left_tasks,
            "requests": self._requests(),
        }


def value_has_ids(value: Any) -> bool:
    return isinstance(value, dict)


def shown_result(value: Any) -> Any:
    """The value itself where JSON has it, else its `repr`."""
    try:
        text = json.dumps(value, allow_nan=False)
    except (TypeError, ValueError, RecursionError):
        return safe_repr(value)
    return value if len(text) <= LONGEST_RESULT else text[:LONGEST_RESULT]
