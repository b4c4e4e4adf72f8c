"""Telling whether a process is still the one that it was."""

from __future__ import annotations

import os

import psutil


def born(pid: int) -> float:
    """When a process began, 0.0 if it is gone or only waits for somebody to reap it."""
    try:
        process = psutil.Process(pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return 0.0
        return float(process.create_time())
    except psutil.Error:
        return 0.0


def lives(pid: int, birth: float) -> bool:
    """Whether the process of that id still is the one that began then."""
    # The clock may be set between two looks, by which the kernel's own count is translated.
    return pid > 0 and birth > 0 and abs(born(pid) - birth) < 2.0


def group_lives(group: int) -> bool:
    """Whether any process of a group of one's own is left."""
    try:
        os.killpg(group, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
