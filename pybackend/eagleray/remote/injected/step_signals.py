"""Keeps processes of ours running at signals that SLURM sends to every process of a job step, for the program in it."""

from __future__ import annotations

import signal

# Signals that end or stop a process, and signals with a meaning for each process alone.  `program_parent`, which is
# imported alone, has the same ones; a test compares them.
_EFFECTIVE = {
    *(signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT),
    *(signal.SIGTSTP, signal.SIGTTIN, signal.SIGTTOU),
    *(signal.SIGKILL, signal.SIGSTOP, signal.SIGCONT, signal.SIGCHLD, signal.SIGWINCH),
    *(signal.SIGSEGV, signal.SIGBUS, signal.SIGFPE, signal.SIGILL, signal.SIGABRT),
    *(signal.SIGTRAP, signal.SIGSYS, signal.SIGPIPE, signal.SIGXFSZ),
}
IGNORED = tuple(sorted(signal.valid_signals() - _EFFECTIVE))


def ignore() -> None:
    """Handles each signal that would end this process: processes that it starts inherit ignored signals, but no handlers."""
    for number in IGNORED:
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, lambda *_: None)
