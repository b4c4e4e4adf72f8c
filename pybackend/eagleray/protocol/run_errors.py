"""Errors of runs as the debug adapter knows them: their gates, and the workers behind those."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


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


def not_a_gate(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "not-a-gate",
        f"What listens at {printable(host)}:{port} is no worker of this run.",
        "The worker may have ended and its port been given to another process.",
    )


def gate_refused(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-refused",
        f"The worker at {printable(host)}:{port} rejected the signature of this run.",
        "It belongs to another start of the program.",
    )


def gate_of_another_version(host: str, port: int) -> EaglerayError:
    return EaglerayError(
        "gate-of-another-version",
        f"The worker at {printable(host)}:{port} was started by another version of Eagleray.",
        "Start the run again to debug it with this version.",
    )


def gate_silent(host: str, port: int, seconds: float) -> EaglerayError:
    return EaglerayError(
        "gate-silent",
        f"The worker at {printable(host)}:{port} did not answer within {seconds:g} s.",
        "Its node may be overloaded; it is tried again.",
    )


def gate_left(worker: str, why: str) -> EaglerayError:
    return EaglerayError(
        "gate-left",
        f"The debugger of {printable(worker)} is no longer held for us: {printable(why)}.",
        "The worker has run on; it stops again at its next breakpoint.",
    )


def no_debugger(worker: str, why: str, problem: str = "no-debugpy") -> EaglerayError:
    """`problem` is the code with which the worker reports it; those of other versions may have others."""
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
        else "See the worker's log: Open Log, or `eagleray logs`."
    )
    message = f"{printable(worker)} could not start a debugger: {printable(why)}."
    return EaglerayError("no-debugger", message, next_step)
