"""Questions of ssh, taken from its askpass helper and put to the person."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

Kind = Literal["text", "secret", "confirm", "notice"]

# The answer, or None when it was cancelled or nobody is there; "yes" confirms; a notice wants no answer and
# is cancelled when it is over.
Ask = Callable[[str, Kind], Awaitable[str | None]]
