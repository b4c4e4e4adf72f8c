"""The composed configuration of a debug run, printed."""

from __future__ import annotations

import sys

from eagleray.features.presets.composing import Composed, error_of, shown_values


def print_composed(made: Composed) -> bool:
    """Prints each key with its value, or the error; False after an error."""
    if error := error_of(made):
        print(error, file=sys.stderr)
        return False
    print("\nComposed configuration:")
    for key, value in shown_values(made).items():
        print(f"  {key}: {value}")
    return True
