"""Errors of starting debugpy in a process of the run."""

from __future__ import annotations


class DebugpyMissing(Exception):
    """This process can't import debugpy; the text says why."""


class DebugpyNotStarted(Exception):
    """debugpy can't be started so that no other user reaches it; the text says why."""


class DebugpyInUse(DebugpyNotStarted):
    """The process has a debugger already: of the program, or of Ray's `breakpoint()`."""
