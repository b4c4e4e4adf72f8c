"""What reading JSON raises whose content may be anything: another version's, damaged, or a stranger's."""

from __future__ import annotations

# Nested too deeply, it is a RecursionError; an endless or huge number becomes an OverflowError where it is converted.
UNREADABLE = (
    OSError,
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    OverflowError,
    RecursionError,
)
