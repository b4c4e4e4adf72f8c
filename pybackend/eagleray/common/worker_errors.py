"""Errors of workers: their names, logs, debuggers and files."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import later, t, translated

LOG_STEP = later("Its log may say why.")


def unknown_worker(worker: str) -> EaglerayError:
    return EaglerayError(
        "unknown-worker",
        t("No paused or held worker is called “{worker}”.", worker=printable(worker)),
        t("It may have resumed or exited, or another debugger is attached."),
    )


def no_such_worker(worker: str) -> EaglerayError:
    """For workers of every kind, not only those that wait."""
    return EaglerayError(
        "no-such-worker",
        t("No worker is called “{worker}”.", worker=printable(worker)),
        t("Enter its name, or the beginning of its ID."),
    )


def ambiguous_worker(worker: str, count: int) -> EaglerayError:
    return EaglerayError(
        "ambiguous-worker",
        t("“{worker}” matches {count} workers.", worker=printable(worker), count=count),
        t("Enter more of the worker ID."),
    )


def no_log(worker: str) -> EaglerayError:
    return EaglerayError(
        "no-log",
        t("{worker} has no log file.", worker=printable(worker)),
        t("Ray keeps logs on the worker's node, which may be gone."),
    )


def bad_pattern(pattern: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-pattern",
        t(
            "Invalid regular expression “{pattern}”: {why}.",
            pattern=printable(pattern),
            why=printable(why),
        ),
        t("Correct it, or search for plain text."),
    )


def slow_pattern(pattern: str) -> EaglerayError:
    return EaglerayError(
        "slow-pattern",
        t("Searching for “{pattern}” takes too long.", pattern=printable(pattern)),
        t("Avoid nested repetitions, or search for plain text."),
    )


def worker_ran_on(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-ran-on",
        t("{worker} already resumed.", worker=printable(worker)),
        t("It is listed again at its next breakpoint()."),
    )


def worker_gone(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-gone",
        t("{worker} exited.", worker=printable(worker)),
        translated(LOG_STEP),
    )


def debugger_gone(worker: str, is_running: bool = False) -> EaglerayError:
    """`is_running`: the worker's process is running for certain; otherwise its state is unknown."""
    name = printable(worker)
    if is_running:
        return EaglerayError(
            "debugger-gone",
            t("The debugger of {name} exited; {name} keeps running.", name=name),
            t("Restart the worker to debug it again."),
        )
    return EaglerayError(
        "debugger-gone",
        t("The debugger of {name} exited, perhaps with its worker.", name=name),
        translated(LOG_STEP),
    )


def debugger_silent(worker: str) -> EaglerayError:
    return EaglerayError(
        "debugger-silent",
        t("The debugger of {worker} doesn't respond.", worker=printable(worker)),
        t("The worker may still be paused."),
        retries=True,
    )


def client_superseded() -> EaglerayError:
    return EaglerayError(
        "client-superseded",
        t("Another client is debugging this worker now."),
        t("Attach again to take it over."),
    )


def node_gone(worker: str, node: str) -> EaglerayError:
    return EaglerayError(
        "node-gone",
        t("{worker} is gone with its node {node}.", node=printable(node), worker=printable(worker)),
        t("Ray may still list it for a while."),
    )


def worker_busy(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-busy",
        t("{worker} is already being debugged elsewhere.", worker=printable(worker)),
        t("Only one debugger can attach. Disconnect the other one first."),
    )


def worker_elsewhere(worker: str, host: str) -> EaglerayError:
    return EaglerayError(
        "worker-elsewhere",
        t("Eagleray on {host} holds {worker}.", worker=printable(worker), host=printable(host)),
        t("Attach from a window on that machine, or detach it there."),
    )


def worker_taken(worker: str) -> EaglerayError:
    return EaglerayError(
        "worker-taken",
        t("Another window is debugging {worker}.", worker=printable(worker)),
        t("Attach from its row to take it over."),
    )


def worker_unreachable(worker: str, host: str, port: int, detail: str = "") -> EaglerayError:
    return EaglerayError(
        "worker-unreachable",
        t(
            "Can't connect to the debugger of {worker} ({host}:{port}).",
            host=printable(host),
            port=port,
            worker=printable(worker),
        ),
        t("Connect with Remote-SSH to a node of the cluster."),
        detail,
    )


def not_at_breakpoint(worker: str) -> EaglerayError:
    return EaglerayError(
        "not-at-breakpoint",
        t("{worker} is not paused at a breakpoint().", worker=printable(worker)),
        t("Attach to it, or continue it."),
    )


def worker_silent(worker: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "worker-silent",
        t(
            "The debugger of {worker} did not respond within {seconds} s.",
            worker=printable(worker),
            seconds=f"{seconds:g}",
        ),
        t("The worker is still paused. Try again."),
    )


def not_a_debugger(worker: str, host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-debugger",
        t(
            "{host}:{port} is not the debugger of {worker}.",
            host=printable(host),
            port=port,
            worker=printable(worker),
        ),
        t("The worker may have exited. Refresh the list."),
    )


def attach_refused(worker: str, text: str) -> EaglerayError:
    return EaglerayError(
        "attach-refused",
        t(
            "The debugger of {worker} refused: {reason}",
            worker=printable(worker),
            reason=printable(text),
        ),
        translated(LOG_STEP),
    )


def worker_lost(worker: str, link: EaglerayError) -> EaglerayError:
    """`link` is the error of the lost connection."""
    return EaglerayError(
        "link-lost",
        t("{value}. {worker} resumed.", value=link.message.rstrip("."), worker=printable(worker)),
        t("Attach again at its next breakpoint()."),
    )


def no_worker_file(path: str) -> EaglerayError:
    return EaglerayError(
        "no-worker-file",
        t("The worker can't read {path}.", path=printable(path)),
        t("The program may have generated this code."),
    )
