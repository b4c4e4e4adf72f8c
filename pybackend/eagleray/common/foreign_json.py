"""The errors of reading JSON of any content: from another version, damaged, or from an untrusted source."""

from __future__ import annotations

# Deep nesting raises RecursionError; converting an infinite or huge number raises OverflowError.
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)
