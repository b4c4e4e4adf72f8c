"""Errors of workers: their names, logs, debuggers and files."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable

LOG_STEP = "Its log may say why."


def unknown_worker(worker: str) -> EaglerayError:
    return EaglerayError(
        "unknown-worker",
        f"No paused or held worker is called “{printable(worker)}”.",
        "It may have resumed or ended, or another debugger may be attached to it.",
    )


def no_such_worker(worker: str) -> EaglerayError:
    """For workers of every kind, not only those that wait."""
    return EaglerayError(
        "no-such-worker",
        f"No worker is called “{printable(worker)}”.",
        "Write its name, or the beginning of its id; Ray lists none that has ended.",
    )


def ambiguous_worker(worker: str, count: int) -> EaglerayError:
    return EaglerayError(
        "ambiguous-worker",
        f"“{printable(worker)}” fits {count} workers.",
        "Write more of the worker id.",
    )


def no_log(worker: str) -> EaglerayError:
    return EaglerayError(
        "no-log",
        f"There is no log file of {printable(worker)}.",
        "Ray keeps the logs of a worker on its node; a node that is gone took them with it.",
    )


def bad_pattern(pattern: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "bad-pattern",
        f"“{printable(pattern)}” is not a regular expression: {printable(detail)}.",
        "Correct it, or search for it as plain text.",
    )


def slow_pattern(pattern: str) -> EaglerayError:
    return EaglerayError(
        "slow-pattern",
        f"“{printable(pattern)}” takes too long to be searched for.",
        "Write the expression without nested repetitions, or search for it as plain text.",
    )


def worker_ran_on(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-ran-on",
        f"{printable(worker)} is not waiting any more: it went on before we came.",
        "It is listed again when it reaches its next breakpoint().",
    )


def worker_gone(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-gone",
        f"{printable(worker)} has ended.",
        LOG_STEP,
    )


def debugger_gone(worker: str, is_running: bool = False) -> EaglerayError:
    """`is_running`: the worker's process is running for certain; otherwise its state is unknown."""
    name = printable(worker)
    if is_running:
        return EaglerayError(
            "debugger-gone",
            f"The debugger of {name} has ended; {name} keeps running without it.",
            "It can't be debugged again until it restarts.",
        )
    return EaglerayError(
        "debugger-gone", f"The debugger of {name} has ended; {name} may have ended too.", LOG_STEP
    )


def debugger_silent(worker: str) -> EaglerayError:
    return EaglerayError(
        "debugger-silent",
        f"The debugger of {printable(worker)} doesn't answer; the worker may still be paused.",
        "It stays in the list of paused workers.",
        retries=True,
    )


def client_superseded() -> EaglerayError:
    return EaglerayError(
        "client-superseded",
        "Another client is debugging this worker now.",
        "Attach again to take it over.",
    )


def node_gone(worker: str, node: str) -> EaglerayError:
    return EaglerayError(
        "node-gone",
        f"The node {printable(node)} of {printable(worker)} is gone, and the worker with it.",
        "Ray goes on listing it for a while; there is nothing left to attach to.",
    )


def worker_busy(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-busy",
        f"Another debugger is attached to {printable(worker)}.",
        "Disconnect it there; a worker takes one debugger at a time.",
    )


def worker_elsewhere(worker: str, host: str) -> EaglerayError:
    return EaglerayError(
        "worker-elsewhere",
        f"{printable(worker)} is held by Eagleray on {printable(host)}.",
        "Attach from a window on that machine, or detach it there.",
    )


def worker_taken(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-taken",
        f"{printable(worker)} is attached to by another window.",
        "Attach from its row to take it over.",
    )


def worker_unreachable(worker: str, host: str, port: int, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "worker-unreachable",
        f"The debug port {printable(host)}:{port} of {printable(worker)} cannot be reached from this machine.",
        "Run the editor on a machine of the cluster, or use Remote-SSH to the login node.",
        detail,
    )


def not_at_breakpoint(worker: str) -> EaglerayError:
    return EaglerayError(
        "not-at-breakpoint",
        f"{printable(worker)} does not stand at a breakpoint() that could be ignored.",
        "It waits after an error or a step: attach to it, or continue it.",
    )


def worker_silent(worker: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "worker-silent",
        f"{printable(worker)} accepted the connection but did not answer within {seconds:g} s.",
        "It is still paused; try again, or look at its log.",
    )


def not_a_debugger(worker: str, host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-debugger",
        f"What listens at {printable(host)}:{port} is not the debugger of {printable(worker)}.",
        "The worker may have ended and its port been given to another process; refresh the list.",
    )


def attach_refused(worker: str, text: str) -> EaglerayError:
    return EaglerayError(
        "attach-refused",
        f"The debugger of {printable(worker)} refused: {printable(text)}",
        LOG_STEP,
    )


def worker_lost(worker: str, link: EaglerayError) -> EaglerayError:
    """`link` is the error of the lost connection."""
    return EaglerayError(
        "link-lost",
        f"{link.message.rstrip('.')}; {printable(worker)} has run on.",
        "Attach again when it reaches its next breakpoint().",
    )


def no_worker_file(path: str) -> EaglerayError:
    return EaglerayError(
        "no-worker-file",
        f"The worker has no file {printable(path)} that it can read.",
        "The code may have been made at run time.",
    )
