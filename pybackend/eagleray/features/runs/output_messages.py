"""Wire types of the output and the exact command of a run, printed with those of `messages`."""

from __future__ import annotations

from attrs import frozen


@frozen
class Command:
    """The exact command of a run, with its secrets: for the clipboard, never for a view."""

    text: str


@frozen
class OutputFrom:
    """From a piece's `next` on; a negative `offset` asks for the end of what is there."""

    id: str
    offset: int = -1


@frozen
class OutputPiece:
    """`text` is safe for a terminal; `skipped` bytes before it were left out."""

    text: str
    next: int
    skipped: int
    is_over: bool
