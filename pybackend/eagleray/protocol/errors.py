"""Errors of the debug adapter, of its runs, and of their debug proxies."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t

# The codes of these errors where the listener is not a debug proxy of this run.
NOT_A_PROXY = frozenset({"gate-refused", "gate-of-another-version", "not-a-gate"})


def adapter_in_use(count: int) -> EaglerayError:
    return EaglerayError(
        "in-use",
        t("The debug adapter is attached to {count} workers.", count=count),
        t("Detach them first."),
    )


def adapter_lost(detail: str = "") -> EaglerayError:
    return EaglerayError(
        "adapter-lost",
        t("Eagleray's debug adapter stopped. The workers that it held have resumed."),
        t("They are listed again at their next breakpoint()."),
        detail,
    )


def tunnel_ended(place: str) -> EaglerayError:
    return EaglerayError(
        "tunnel-ended",
        t("{place} is closed, because Eagleray's debug adapter stopped.", place=place),
        t("Run the command again."),
    )


def adapter_stuck(seconds: float) -> EaglerayError:
    return EaglerayError(
        "adapter-stuck",
        t("Eagleray's debug adapter did not answer within {seconds} s.", seconds=f"{seconds:g}"),
        t("Try again. Held workers are still paused."),
    )


def adapter_not_started(detail: str) -> EaglerayError:
    return EaglerayError(
        "adapter-not-started",
        t("Eagleray's debug adapter could not be started."),
        t("The log has the reason."),
        detail,
    )


def unregistered_run(run: str) -> EaglerayError:
    return EaglerayError(
        "unregistered-run",
        t("The debug adapter has no run {run}.", run=printable(run)),
        t("It has ended, or it registers again soon."),
    )


def unknown_run_worker(worker: str) -> EaglerayError:
    return EaglerayError(
        "unknown-run-worker",
        t("No worker {worker} of this run can be debugged.", worker=printable(worker)),
        t("It may have exited, or another program started it."),
    )


def not_a_proxy(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-gate",
        t("{host}:{port} is not a worker of this run.", host=printable(host), port=port),
        t("The worker may have exited, and another process has its port."),
    )


def proxy_refused_signature(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-refused",
        t(
            "The worker at {host}:{port} rejected the signature of this run.",
            host=printable(host),
            port=port,
        ),
        t("It belongs to another run of the program."),
    )


def proxy_of_another_version(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-of-another-version",
        t(
            "Another version of Eagleray started the worker at {host}:{port}.",
            host=printable(host),
            port=port,
        ),
        t("Restart the run to debug it with this version."),
    )


def proxy_silent(host: str, port: int, seconds: float) -> EaglerayError:
    return EaglerayError(
        "gate-silent",
        t(
            "The worker at {host}:{port} did not answer within {seconds} s.",
            host=printable(host),
            port=port,
            seconds=f"{seconds:g}",
        ),
        t("Its node may be overloaded."),
        retries=True,
    )


def proxy_left(worker: str, why: str) -> EaglerayError:
    return EaglerayError(
        "gate-left",
        t("Lost the debugger of {worker} ({why}).", worker=printable(worker), why=printable(why)),
        t("It resumed and will pause at its next breakpoint."),
    )


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
