"""The announcement of a gate: a file that is there as long as the gate."""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def announced(path: str, run: str, address: tuple[str, int], who: dict[str, Any]) -> Iterator[None]:
    """The file says where the gate listens and for whom; "" for none.  A folder that is not there is no error."""
    written = bool(path) and _write(path, {**who, "host": address[0], "port": address[1]})
    try:
        yield
    finally:
        if written:
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108 (pathlib alone costs more than the rest of the start)


def _write(path: str, text: dict[str, Any]) -> bool:
    beside = f"{path}.{os.getpid()}.new"
    try:
        file = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(file, "w", encoding="utf-8") as stream:
            json.dump(text, stream)
        os.replace(beside, path)  # noqa: PTH105
    except OSError:
        return False
    return True
