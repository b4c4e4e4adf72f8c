"""Processes of ours that outlive us."""

from __future__ import annotations

import subprocess
import threading
from typing import BinaryIO


def start_detached(
    command: list[str], output: BinaryIO, stdin: int = subprocess.DEVNULL
) -> subprocess.Popen[bytes]:
    """Starts it in a session of its own, whose signals are not ours; raises OSError."""
    process = subprocess.Popen(
        command, stdin=stdin, stdout=output, stderr=output, cwd="/", start_new_session=True
    )
    # Somebody must wait for it, or it would stay as a zombie once it ends by itself.
    threading.Thread(target=process.wait, daemon=True, name="waits for a process").start()
    return process
