"""One step of the user, which continues through the folded frames of Ray.

Ray wraps the methods of an actor, so that a step into one stops in the wrapper first: folded, that is the line
where the step began.
"""

from __future__ import annotations

_STEPS = frozenset({"next", "stepIn", "stepOut"})
# Through Ray's wrapper of a method it takes five.  In deeper code of Ray, such as `ray.get`, we step out again.
_MOST_INTO, _MOST = 16, 64


class Stepping:
    """What the user asked for last, and how often it was repeated since."""

    def __init__(self) -> None:
        self._command = ""
        self._count = 0

    def begin(self, command: str) -> None:
        """The user lets the worker move."""
        self._command, self._count = command, 0

    @property
    def is_under_way(self) -> bool:
        """Whether the worker moves because of something else than `continue`."""
        return self._command not in ("", "continue")

    def further(self) -> str:
        """The step that leads out of a folded frame, "" when it is time to stop there."""
        self._count += 1
        if self._command not in _STEPS or self._count > _MOST:
            return ""
        is_into = self._command == "stepIn" and self._count <= _MOST_INTO
        return "stepIn" if is_into else "stepOut"
