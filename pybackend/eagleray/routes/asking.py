"""How a connection asks the person for what only a person knows."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Literal

Kind = Literal["text", "secret", "confirm", "notice"]

# The prompt and its kind; None is the answer when it was cancelled or nobody is there to be asked.
# Whoever no longer needs the answer cancels the call, and the question disappears.
Ask = Callable[[str, Kind], Awaitable[str | None]]

# How the connection to that ssh destination asks.
AskFor = Callable[[str], Ask]
