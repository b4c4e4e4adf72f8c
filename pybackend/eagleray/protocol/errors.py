"""Errors of the debug adapter, of its runs, and of their debug proxies."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def adapter_in_use(count: int) -> EaglerayError:
    return EaglerayError(
        "in-use",
        f"The debug adapter is attached to {count} workers.",
        "Detach them first.",
    )


def adapter_lost(detail: str = "") -> EaglerayError:
    return EaglerayError(
        "adapter-lost",
        "Eagleray's debug adapter ended; the workers that it held have run on.",
        "Attach again when they reach their next breakpoint().",
        detail,
    )


def tunnel_ended(place: str) -> EaglerayError:
    return EaglerayError(
        "tunnel-ended",
        f"{place} leads nowhere any more: Eagleray's debug adapter, which kept it open, ended.",
        "Run the command again.",
    )


def adapter_stuck(seconds: float) -> EaglerayError:
    return EaglerayError(
        "adapter-stuck",
        f"Eagleray's debug adapter did not answer within {seconds:g} s.",
        "Try again; the workers that it holds still wait.",
    )


def adapter_not_started(detail: str) -> EaglerayError:
    return EaglerayError(
        "adapter-not-started",
        "Eagleray's debug adapter could not be started.",
        "The log says why.",
        detail,
    )


def unregistered_run(run: str) -> EaglerayError:
    return EaglerayError(
        "unregistered-run",
        f"The debug adapter knows no run {printable(run)}.",
        "It has ended, or the adapter was started after it; the run's own process tells it anew.",
    )


def unknown_run_worker(worker: str) -> EaglerayError:
    return EaglerayError(
        "unknown-run-worker",
        f"No worker {printable(worker)} of this run can be debugged.",
        "It may have ended, or was not started by the run.",
    )


def not_a_proxy(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-gate",
        f"What listens at {printable(host)}:{port} is no worker of this run.",
        "The worker may have ended and its port been given to another process.",
    )


def proxy_refused_signature(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-refused",
        f"The worker at {printable(host)}:{port} rejected the signature of this run.",
        "It belongs to another start of the program.",
    )


def proxy_of_another_version(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-of-another-version",
        f"The worker at {printable(host)}:{port} was started by another version of Eagleray.",
        "Start the run again to debug it with this version.",
    )


def proxy_silent(host: str, port: int, seconds: float) -> EaglerayError:
    return EaglerayError(
        "gate-silent",
        f"The worker at {printable(host)}:{port} did not answer within {seconds:g} s.",
        "Its node may be overloaded.",
        retries=True,
    )


def proxy_left(worker: str, why: str) -> EaglerayError:
    return EaglerayError(
        "gate-left",
        f"The debugger of {printable(worker)} is no longer held for us: {printable(why)}.",
        "The worker has run on; it stops again at its next breakpoint.",
    )


def no_debugger(worker: str, why: str, problem: str = "no-debugpy") -> EaglerayError:
    """`problem` is the code that the worker reports."""
    if problem == "debugpy-in-use":
        return EaglerayError(
            "debugger-in-use",
            f"{printable(worker)} already uses debugpy itself, in a breakpoint() of Ray or by debugpy.listen(),"
            " so this run's breakpoints can't stop it.",
            "Attach to it while it is paused at its breakpoint(). To use breakpoints of the run, remove"
            " breakpoint() and debugpy.listen() from the program and start the run again.",
        )
    next_step = (
        "Install debugpy in the environment of the workers (`pip install debugpy`)."
        if problem == "no-debugpy"
        else "See the worker's log."
    )
    message = f"{printable(worker)} could not start a debugger: {printable(why)}."
    return EaglerayError("no-debugger", message, next_step)
