"""Errors of workers: their names, logs, debuggers and files."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import later, t

LOG_STEP = later("Its log may say why.")


# fmt: off
@error("unknown-worker", "No paused or held worker is called “{worker}”.",
       "It may have resumed or exited, or another debugger is attached.")
def unknown_worker(worker: str) -> EaglerayError: ...
@error("no-such-worker", "No worker is called “{worker}”.", "Enter its name, or the beginning of its ID.")
def no_such_worker(worker: str) -> EaglerayError:
    """For workers of every kind, not only those that wait."""
@error("ambiguous-worker", "“{worker}” matches {count} workers.", "Enter more of the worker ID.")
def ambiguous_worker(worker: str, count: int) -> EaglerayError: ...
@error("no-log", "{worker} has no log file.", "Ray keeps logs on the worker's node, which may be gone.")
def no_log(worker: str) -> EaglerayError: ...
@error("bad-pattern", "Invalid regular expression “{pattern}”: {why}.", "Correct it, or search for plain text.")
def bad_pattern(pattern: str, why: str) -> EaglerayError: ...
@error("slow-pattern", "Searching for “{pattern}” takes too long.",
       "Avoid nested repetitions, or search for plain text.")
def slow_pattern(pattern: str) -> EaglerayError: ...
@error("worker-ran-on", "{worker} already resumed.", "It is listed again at its next breakpoint().")
def worker_ran_on(worker: str) -> EaglerayError: ...
@error("worker-gone", "{worker} exited.", LOG_STEP)
def worker_gone(worker: str) -> EaglerayError: ...
@error("debugger-silent", "The debugger of {worker} doesn't respond.", "The worker may still be paused.", retries=True)
def debugger_silent(worker: str) -> EaglerayError: ...
@error("client-superseded", "Another client is debugging this worker now.", "Attach again to take it over.")
def client_superseded() -> EaglerayError: ...
@error("node-gone", "{worker} is gone with its node {node}.", "Ray may still list it for a while.")
def node_gone(worker: str, node: str) -> EaglerayError: ...
@error("worker-busy", "{worker} is already being debugged elsewhere.",
       "Only one debugger can attach. Disconnect the other one first.")
def worker_busy(worker: str) -> EaglerayError: ...
@error("worker-elsewhere", "Eagleray on {host} holds {worker}.",
       "Attach from a window on that machine, or detach it there.")
def worker_elsewhere(worker: str, host: str) -> EaglerayError: ...
@error("worker-taken", "Another window is debugging {worker}.", "Attach from its row to take it over.")
def worker_taken(worker: str) -> EaglerayError: ...
@error("worker-unreachable", "Can't connect to the debugger of {worker} ({host}:{port}).",
       "Connect with Remote-SSH to a node of the cluster.")
def worker_unreachable(worker: str, host: str, port: int, detail: str = "") -> EaglerayError: ...
@error("not-at-breakpoint", "{worker} is not paused at a breakpoint().", "Attach to it, or continue it.")
def not_at_breakpoint(worker: str) -> EaglerayError: ...
@error("worker-silent", "The debugger of {worker} did not respond within {seconds} s.",
       "The worker is still paused. Try again.")
def worker_silent(worker: str, seconds: float) -> EaglerayError: ...
@error("not-a-debugger", "{host}:{port} is not the debugger of {worker}.",
       "The worker may have exited. Refresh the list.")
def not_a_debugger(worker: str, host: str, port: int) -> EaglerayError: ...
@error("attach-refused", "The debugger of {worker} refused: {reason}", LOG_STEP)
def attach_refused(worker: str, reason: str) -> EaglerayError: ...
@error("no-worker-file", "The worker can't read {path}.", "The program may have generated this code.")
def no_worker_file(path: str) -> EaglerayError: ...
@error("debugger-gone", "The debugger of {name} exited, perhaps with its worker.", LOG_STEP)
def debugger_gone(name: str) -> EaglerayError: ...
@error("debugger-gone", "The debugger of {name} exited; {name} keeps running.",
       "Restart the worker to debug it again.")
def only_debugger_gone(name: str) -> EaglerayError: ...
# fmt: on


def worker_lost(worker: str, link: EaglerayError) -> EaglerayError:
    """`link` is the error of the lost connection."""
    return EaglerayError(
        "link-lost",
        t("{value}. {worker} resumed.", value=link.message.rstrip("."), worker=printable(worker)),
        t("Attach again at its next breakpoint()."),
    )
