"""Errors of the debug adapter, of its runs, and of their debug proxies."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t

# The codes of these errors where the listener is not a debug proxy of this run.
NOT_A_PROXY = frozenset({"gate-refused", "gate-of-another-version", "not-a-gate"})


# fmt: off
@error("in-use", "The debug adapter is attached to {count} workers.", "Detach them first.")
def adapter_in_use(count: int) -> EaglerayError: ...
@error("adapter-lost", "Eagleray's debug adapter stopped. The workers that it held have resumed.",
       "They are listed again at their next breakpoint().")
def adapter_lost(detail: str = "") -> EaglerayError: ...
@error("tunnel-ended", "{place} is closed, because Eagleray's debug adapter stopped.", "Run the command again.")
def tunnel_ended(place: str) -> EaglerayError: ...
@error("adapter-stuck", "Eagleray's debug adapter did not answer within {seconds} s.",
       "Try again. Held workers are still paused.")
def adapter_stuck(seconds: float) -> EaglerayError: ...
@error("adapter-not-started", "Eagleray's debug adapter could not be started.", "The log has the reason.")
def adapter_not_started(detail: str) -> EaglerayError: ...
@error("unregistered-run", "The debug adapter has no run {run}.", "It has ended, or it registers again soon.")
def unregistered_run(run: str) -> EaglerayError: ...
@error("unknown-run-worker", "No worker {worker} of this run can be debugged.",
       "It may have exited, or another program started it.")
def unknown_run_worker(worker: str) -> EaglerayError: ...
@error("not-a-gate", "{host}:{port} is not a worker of this run.",
       "The worker may have exited, and another process has its port.")
def not_a_proxy(host: str, port: int) -> EaglerayError: ...
@error("gate-refused", "The worker at {host}:{port} rejected the signature of this run.",
       "It belongs to another run of the program.")
def proxy_refused_signature(host: str, port: int) -> EaglerayError: ...
@error("gate-of-another-version", "Another version of Eagleray started the worker at {host}:{port}.",
       "Restart the run to debug it with this version.")
def proxy_of_another_version(host: str, port: int) -> EaglerayError: ...
@error("gate-silent", "The worker at {host}:{port} did not answer within {seconds} s.",
       "Its node may be overloaded.", retries=True)
def proxy_silent(host: str, port: int, seconds: float) -> EaglerayError: ...
@error("gate-left", "Lost the debugger of {worker} ({why}).", "It resumed and will pause at its next breakpoint.")
def proxy_left(worker: str, why: str) -> EaglerayError: ...
# fmt: on


def no_debugger(worker: str, why: str, problem: str = "no-debugpy") -> EaglerayError:
    """`problem` is the code that the worker reports."""
    if problem == "debugpy-in-use":
        return EaglerayError(
            "debugger-in-use",
            t(
                "{worker} already uses debugpy, so breakpoints of this run can't pause it.",
                worker=printable(worker),
            ),
            t(
                "Attach at its breakpoint(), or remove breakpoint() and debugpy.listen() from the program."
            ),
        )
    next_step = (
        t("Install debugpy in the environment of the workers (`pip install debugpy`).")
        if problem == "no-debugpy"
        else t("See the worker's log.")
    )
    message = t(
        "{worker} couldn't start a debugger: {why}.", worker=printable(worker), why=printable(why)
    )
    return EaglerayError("no-debugger", message, next_step)
