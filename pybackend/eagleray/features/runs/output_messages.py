"""Wire types of the output, the exact command and the Python of runs, printed with those of `messages`."""

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


@frozen
class Pythons:
    """The interpreters of the user's own clusters on this machine."""

    paths: list[str]
