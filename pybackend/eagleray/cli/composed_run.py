"""The composed configuration of a debug run, printed."""

from __future__ import annotations

import sys

from eagleray.common.errors import printable
from eagleray.common.redact import HIDDEN, is_secret, redact_text
from eagleray.features.runs.presets.composing import Composed


def print_composed(made: Composed) -> bool:
    """Prints each key with its value, or the error; False after an error."""
    if made.error:
        text = printable(redact_text(made.error), 600)
        print(f"The configuration can't be composed: {text}", file=sys.stderr)
        return False
    print("\nComposed configuration:")
    for key, value in made.values.items():
        print(f"  {printable(key, 200)}: {_shown(key, value)}")
    return True


def _shown(key: str, value: str | None) -> str:
    if value is None:
        return "not in the configuration"
    return HIDDEN if is_secret(key, value) else printable(redact_text(value), 200) or "(empty)"
