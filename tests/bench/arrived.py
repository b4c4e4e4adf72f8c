"""A file with breakpoints: one where it begins, one where it is come by again and again."""

import time
from pathlib import Path

ARRIVED = True  # stop: arrived


def come(file: str) -> bool:
    Path(file).write_text(repr(time.time()))
    return ARRIVED  # stop: here
