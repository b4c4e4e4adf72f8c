"""Errors and notes of runs: why one can't be started or stopped, and how one ended."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.redact import redact_text


def unknown_run(run: str) -> EaglerayError:
    return EaglerayError(
        "unknown-run",
        f"There is no run “{printable(run, 40)}”, or more than one begins so.",
        "Choose one from the list of runs.",
    )


def nothing_to_run() -> EaglerayError:
    return EaglerayError(
        "nothing-to-run",
        "There is no program to be started.",
        "Name a file, a module or a command.",
    )


def no_program(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-program",
        f"{printable(path, 300)} cannot be started: {printable(why)}.",
        "Check its name and the folder in which it is started.",
    )


def missing_folder(folder: str) -> EaglerayError:
    return EaglerayError(
        "no-program",
        f"{printable(folder, 300)}: no such folder.",
        "Check the folder in which the program starts.",
    )


def missing_file(file: str, folder: str) -> EaglerayError:
    return EaglerayError(
        "no-program",
        f"{printable(file, 300)}: file not found in {printable(folder, 300)}.",
        "Check its name and the folder in which the program starts.",
    )


def no_ray(python: str, version: str) -> EaglerayError:
    return EaglerayError(
        "no-ray",
        f"The selected Python ({printable(python, 300)} {printable(version, 20)}) has no “ray” package.",
        "Select the Python of your Ray program, or install Ray in this one.",
    )


def missing_module(module: str, python: str) -> EaglerayError:
    return EaglerayError(
        "no-module",
        f"No module named “{printable(module)}” in {printable(python, 300)}.",
        "Check its name, the folder in which the program starts, and the selected Python.",
    )


def missing_program(program: str, instead: str) -> EaglerayError:
    """Ends with 127, as in a shell."""
    return EaglerayError(
        "program-not-found",
        f"{printable(program, 300)}: command not found.",
        f"Use `{printable(instead, 300)}`." if instead else "Check its name and your PATH.",
    )


def not_executable(program: str, instead: str) -> EaglerayError:
    """Ends with 126, as in a shell."""
    return EaglerayError(
        "not-executable",
        f"{printable(program, 300)} is not executable.",
        f"Use `{printable(instead, 300)}`." if instead else "Check its name and its permissions.",
    )


def no_python() -> EaglerayError:
    return EaglerayError(
        "no-python-here",
        "No `python` or `python3` was found on PATH to run the program with.",
        "Choose an interpreter for the workspace, or activate the environment of the program.",
    )


def unknown_kind(path: str) -> EaglerayError:
    return EaglerayError(
        "unknown-kind",
        f"It is not known how {printable(path, 300)} is started: it is no Python file and no shell script.",
        "Make it executable, or write the whole command.",
    )


def plan_expired() -> EaglerayError:
    return EaglerayError(
        "plan-expired",
        "Eagleray no longer has the prepared run.",
        "Prepare the run again.",
    )


def needs_consent(command: str) -> EaglerayError:
    return EaglerayError(
        "needs-consent",
        f"Nothing was started on SLURM: {_redacted(command, 2000)}",
        "Confirm the command first.",
    )


def stop_needs_consent(job: str) -> EaglerayError:
    return EaglerayError(
        "stop-needs-consent",
        f"SLURM job {printable(job, 40)} was not cancelled.",
        "Confirm it first.",
    )


def still_runs(run: str) -> EaglerayError:
    return EaglerayError(
        "run-lives",
        f"Run {printable(run, 40)} is not over.",
        "Stop it first.",
    )


def stop_failed(error: BaseException) -> EaglerayError:
    why = f"{type(error).__name__}: {printable(str(error), 200)}"
    return EaglerayError(
        "stop-failed",
        f"Eagleray couldn't stop the program because of an unexpected error ({why}).",
        "Stop the run again; `keeper.log` in its folder has the details.",
        why,
    )


def runs_elsewhere(run: str, host: str) -> EaglerayError:
    return EaglerayError(
        "run-elsewhere",
        f"The program of run {printable(run, 40)} is on {printable(host, 80)}, where nobody keeps it any more.",
        "Stop it from an Eagleray on that machine.",
    )


def supervisor_not_started(why: str) -> EaglerayError:
    return EaglerayError(
        "keeper-not-started",
        f"The supervisor of the run did not start: {_redacted(why)}",
        "The log has the details.",
        redact_text(why),
    )


def not_submitted(message: str) -> EaglerayError:
    return EaglerayError(
        "not-submitted",
        f"SLURM rejected the script: {_redacted(message, 400) or 'no reason given'}",
        "Try the same `sbatch` in a terminal.",
        redact_text(message),
    )


def output_not_read(file: str, ssh: str, why: str) -> EaglerayError:
    return EaglerayError(
        "output-not-read",
        f"Eagleray can't read {printable(file, 300)} on {printable(ssh) or 'this machine'}: {why}",
        retries=True,
    )


def folder_not_there(folder: str, ssh: str) -> EaglerayError:
    return EaglerayError(
        "folder-not-there",
        f"{printable(ssh)} has no folder {printable(folder, 300)}.",
        "The script is submitted from the folder of the same name there; copy your code to it.",
    )


def not_delivered(ssh: str, message: str) -> EaglerayError:
    return EaglerayError(
        "not-delivered",
        f"Our code could not be put on {printable(ssh)}: {printable(message.strip()[-300:]) or 'it says nothing'}",
        "It needs `python3` there, and a home with some room.",
        message,
    )


def no_gcs(cluster: str) -> EaglerayError:
    return EaglerayError(
        "no-gcs",
        f"{printable(cluster)} does not say where programs join it.",
        "Start the program as a job of the cluster.",
    )


def other_python(here: str, there: str) -> EaglerayError:
    return EaglerayError(
        "other-python",
        f"Python version mismatch: cluster {printable(there, 20)}, this program {printable(here, 20)}.",
        "Select another interpreter, or submit the program as a job.",
    )


def not_python(path: str) -> EaglerayError:
    return EaglerayError(
        "breakpoint-elsewhere",
        f"{printable(path, 300)} does not exist on this machine.",
        "It is looked for by the end of its path in the workers.",
    )


def narrow_export(command: str) -> EaglerayError:
    return EaglerayError(
        "narrow-export",
        f"“{_redacted(command, 300)}” hands only some variables on, so that nothing stops in its job.",
        "Add EAGLERAY_RUN and PYTHONPATH to its `--export`, or write `--export=ALL`.",
    )


def copy_not_there(copy: str, where: str) -> EaglerayError:
    return EaglerayError(
        "copy-not-there",
        f"{printable(where)} does not see the copy of the script that is run in its place, {printable(copy, 300)}.",
        "Set EAGLERAY_HOME to a folder that both machines see, or end the script with “$@” and plain line ends.",
    )


# --- notes of a run that is over --------------------------------------------------


def nothing_imported(files: list[str]) -> str:
    """No process of the run had any of these files."""
    named = ", ".join(printable(file, 120) for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    return f"No process of the run imported {named}{more}."


def ended_before_stopping() -> str:
    return "It ended before anything stopped at a breakpoint."


def missing_cluster() -> str:
    return "No Ray cluster of the program was found, so that nothing of it could be stopped."


def program_lost() -> str:
    return "The process that kept it is gone; how it ended is not known."


def job_orphaned(kind: str, job: str) -> str:
    return (
        f"The process that kept it has ended; {kind} {printable(job, 80)} may still be running."
        " It is kept again once somebody follows or stops it."
    )


def program_orphaned(pid: int) -> str:
    return f"The process that kept it has ended; its program (process {pid}) goes on."


def program_elsewhere(host: str) -> str:
    return f"Nothing is heard of the process that kept it; its program may still be running on {printable(host, 80)}."


def outcome_unknown(why: str) -> str:
    return f"What became of it is not known: {_redacted(why)}"


def rest_not_read(why: str) -> str:
    return f"The rest of what it printed could not be read: {_redacted(why)}"


def _redacted(text: str, limit: int = 200) -> str:
    """A command, or a program's message about one."""
    return printable(redact_text(text), limit)


def bad_breakpoint(text: str) -> EaglerayError:
    return EaglerayError(
        "bad-breakpoint",
        f"“{printable(text)}” is not a valid breakpoint.",
        "Use FILE:LINE, or FILE:LINE:CONDITION.",
    )


def bad_condition(text: str, why: str) -> EaglerayError:
    """`why` is a sentence."""
    return EaglerayError(
        "bad-breakpoint", f"“{printable(text)}” can't stop anything. {printable(why)}"
    )


def no_such_line(path: str, line: int, count: int) -> EaglerayError:
    return EaglerayError(
        "no-such-line",
        f"{printable(path)} has {count} line{'' if count == 1 else 's'}, so nothing can stop at line {line}.",
        "Use a line of the file.",
    )


def no_code_at_line(path: str, line: int, nearest: int) -> EaglerayError:
    return EaglerayError(
        "no-code-at-line",
        f"Line {line} of {printable(path)} has no code to stop at.",
        f"Use line {nearest}.",
    )


def bad_profile(why: str, next_step: str) -> EaglerayError:
    return EaglerayError("bad-profile", f"Nothing can be profiled so: {printable(why)}.", next_step)


def remote_folder_failed(folder: str, why: str) -> EaglerayError:
    return EaglerayError(
        "far-folder-failed",
        f"The reports in {printable(folder, 300)} cannot be read: {printable(why, 300)}.",
        "The other reports are downloaded. Try again for these.",
    )


def nsight_refused(node: str, why: str) -> str:
    """The note of a run that failed because its framework, or the program itself, asked Ray for nsys."""
    where = f" on node {printable(node, 60)}" if node else ""
    return (
        f"Ray could not start a worker under nsys{where}, for which the program asks by `nsight` in a "
        f"runtime_env: {printable(why, 300)}. Mend that in the options of the framework, or leave it out:"
        " Profile on Ray needs no `nsight`."
    )
