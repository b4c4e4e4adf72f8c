"""What stands in the way of a cluster, and what to do about it."""

from __future__ import annotations

from attrs import frozen

from eagleray.common.errors import EaglerayError


@frozen
class Problem:
    """One thing that stands in the way, in one sentence, and the fix."""

    code: str
    message: str
    next_step: str
    retries: bool = False

    @staticmethod
    def of(error: EaglerayError) -> Problem:
        return Problem(error.code, error.message, error.next_step, error.retries)
