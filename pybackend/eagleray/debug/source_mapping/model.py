"""Records of source mapping."""

from __future__ import annotations

from attrs import frozen


@frozen
class FileText:
    """The worker's version of a file."""

    text: str
    truncated: bool
