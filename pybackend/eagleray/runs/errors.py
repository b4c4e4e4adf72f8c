"""Errors and notes of runs: why one can't be started or stopped, and how one ended."""

from __future__ import annotations

import re

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import later, t, translated
from eagleray.common.redact import redact_text


# fmt: off
@error("unknown-run", "“{run}” matches no run, or several.", "Select one from the list of runs.")
def unknown_run(run: str) -> EaglerayError: ...
@error("nothing-to-run", "No program was entered.", "Enter a file, a module or a command.")
def nothing_to_run() -> EaglerayError: ...
@error("no-program", "Can't start {path}: {why}.", "Check its name and the folder of the run.")
def no_program(path: str, why: str) -> EaglerayError: ...
@error("no-program", "{folder}: folder not found.", "Check the folder of the run.")
def missing_folder(folder: str) -> EaglerayError: ...
@error("no-program", "{file}: file not found in {folder}.", "Check its name and the folder of the run.")
def missing_file(file: str, folder: str) -> EaglerayError: ...
@error("no-ray", "Ray isn't installed in Python {version} ({python}).",
       "Select another Python, or install Ray in this one.")
def no_ray(python: str, version: str) -> EaglerayError: ...
@error("no-module", "No module named “{module}” in {python}.",
       "Check its name, the folder of the run, and the selected Python.")
def missing_module(module: str, python: str) -> EaglerayError: ...
@error("no-python-here", "No `python` or `python3` was found on PATH.",
       "Select an interpreter, or activate the environment of the program.")
def no_python() -> EaglerayError: ...
@error("python-missing", "{python} was not found.", "Check its path, or select another Python.")
def missing_python(python: str) -> EaglerayError: ...
@error("not-a-python", "{python} is not a working Python.", "Select another Python.")
def not_a_python(python: str, output: str) -> EaglerayError: ...
@error("python-silent", "{python} did not answer within {seconds} s.", "Select another Python.")
def silent_python(python: str, seconds: float) -> EaglerayError: ...
@error("unknown-kind", "Don't know how to run {path}.", "Make it executable, or enter a full command.")
def unknown_kind(path: str) -> EaglerayError: ...
@error("plan-expired", "Eagleray no longer has the prepared run.", "Prepare the run again.")
def plan_expired() -> EaglerayError: ...
@error("stop-needs-consent", "SLURM job {job} was not cancelled.", "Confirm it first.")
def stop_needs_consent(job: str) -> EaglerayError: ...
@error("run-lives", "Run {run} is still running.", "Stop it first.")
def still_runs(run: str) -> EaglerayError: ...
@error("run-elsewhere", "The program of run {run} is on {host}, without a supervisor.",
       "Stop it with Eagleray on that machine.")
def runs_elsewhere(run: str, host: str) -> EaglerayError: ...
@error("keeper-not-started", "The run could not be started.", "The log has the details.")
def supervisor_not_started(output: str) -> EaglerayError: ...
@error("folder-not-there", "{ssh} has no folder {folder}.", "Copy your code to a folder of the same name there.")
def folder_not_there(folder: str, ssh: str) -> EaglerayError: ...
@error("not-delivered", "Can't copy Eagleray's code to {ssh}.",
       "That machine needs `python3` and free space in your home folder.")
def not_delivered(ssh: str, output: str) -> EaglerayError: ...
@error("no-gcs", "{cluster} doesn't report the address that programs connect to.",
       "Start the program as a job of the cluster.")
def no_gcs(cluster: str) -> EaglerayError: ...
@error("other-python", "Python version mismatch: cluster {there}, this program {here}.",
       "Select another interpreter, or submit the program as a job.")
def other_python(here: str, there: str) -> EaglerayError: ...
@error("breakpoint-elsewhere", "{path} does not exist on this machine.", "Workers match it by the end of its path.")
def not_python(path: str) -> EaglerayError: ...
@error("copy-not-there", "{where} can't read Eagleray's copy of the script, {copy}.",
       "Set EAGLERAY_HOME to a folder that both machines can read.")
def copy_not_there(copy: str, where: str) -> EaglerayError: ...
@error("run-not-recorded", "The run can't be recorded in {folder}: {reason}.", "Free space there. Nothing was started.")
def run_not_recorded(folder: str, reason: str) -> EaglerayError: ...
@error("bad-breakpoint", "“{reason}” is not a valid breakpoint.", "Use FILE:LINE, or FILE:LINE:CONDITION.")
def bad_breakpoint(reason: str) -> EaglerayError: ...
@error("bad-breakpoint", "“{reason}” can't pause a worker. {why}")
def bad_condition(reason: str, why: str) -> EaglerayError:
    """`why` is a sentence."""
@error("no-such-line", "{path} has no line {line}. Its last line is {count}.", "Use a line of the file.")
def no_such_line(path: str, line: int, count: int) -> EaglerayError: ...
@error("no-code-at-line", "Line {line} of {path} has no code.", "Use line {nearest}.")
def no_code_at_line(path: str, line: int, nearest: int) -> EaglerayError: ...
@error("bad-watch", "A picture can't be taken after {minutes} minutes.",
       "Use more than 0, and at most {most}. 0 takes none.")
def bad_watch(minutes: float, most: float) -> EaglerayError: ...
@error("bad-profile", "Can't profile with these options: {why}.")
def bad_profile(why: str, next_step: str) -> EaglerayError: ...
# fmt: on


def missing_program(program: str, instead: str) -> EaglerayError:
    """Ends with 127, as in a shell."""
    return EaglerayError(
        "program-not-found",
        t("{program}: command not found.", program=printable(program, 300)),
        t("Use `{instead}`.", instead=printable(instead, 300))
        if instead
        else t("Check its name and your PATH."),
    )


def not_executable(program: str, instead: str) -> EaglerayError:
    """Ends with 126, as in a shell."""
    return EaglerayError(
        "not-executable",
        t("{program} is not executable.", program=printable(program, 300)),
        t("Use `{instead}`.", instead=printable(instead, 300))
        if instead
        else t("Check its name and its permissions."),
    )


def needs_consent(command: str) -> EaglerayError:
    return EaglerayError(
        "needs-consent",
        t("Nothing was started on SLURM: {command}", command=_redacted(command, 2000)),
        t("Confirm the command first."),
    )


def stop_failed(error: BaseException) -> EaglerayError:
    why = f"{type(error).__name__}: {printable(str(error), 200)}"
    return EaglerayError(
        "stop-failed",
        t("Can't stop the program ({why}).", why=why),
        t("Stop the run again. `keeper.log` in its folder has the details."),
        why,
    )


# By what sbatch prints (slurm_errno.c, and the messages of job submission).
_REJECTED = (
    ("invalid partition", later("SLURM has no such partition, or rejects you there."), later("Correct `--partition` of the script.")),
    ("invalid account", later("SLURM rejected the account or the partition."), later("Correct `--account` and `--partition` of the script.")),
    ("invalid qos|qos .*limit", later("SLURM rejected the quality of service."), later("Correct `--qos` of the script.")),
    ("time limit|time specification", later("SLURM rejected the time limit."), later("Correct `--time` of the script.")),
    ("memory specification", later("No node has the memory that the script requests."), later("Correct `--mem` of the script.")),
    ("invalid generic resource|gres", later("No node has the devices that the script requests."), later("Correct `--gpus` or `--gres` of the script.")),
    ("node count|more processors|node configuration", later("No nodes match what the script requests."), later("Request fewer nodes or processors.")),
    ("violates accounting|limit", later("The script requests more than SLURM allows you."), later("Request less, or ask your administrators.")),
    ("unrecognized option|invalid option|#SBATCH", later("SLURM doesn't know an option of the script."), later("Correct its lines with #SBATCH.")),
    ("unable to open file|no such file", later("SLURM can't read the script."), later("Check its name and the folder of the run.")),
    ("does not start with|not a valid script|batch script", later("SLURM can't run this file as a script."), later("Begin it with a line such as `#!/bin/bash`.")),
    ("unable to contact|socket timed out|connection refused|resolve_ctls|fetch_config", later("SLURM's controller did not answer."), later("Try again later.")),
)  # fmt: skip


def not_submitted(output: str) -> EaglerayError:
    message, step = next(
        (
            (message, step)
            for pattern, message, step in _REJECTED
            if re.search(pattern, output, re.IGNORECASE)
        ),
        (
            later("SLURM rejected the script."),
            later("Correct the script, or try the same `sbatch` in a terminal."),
        ),
    )
    return EaglerayError("not-submitted", translated(message), translated(step), output=output)


def output_not_read(file: str, ssh: str, output: str) -> EaglerayError:
    return EaglerayError(
        "output-not-read",
        t(
            "Can't read {file} on {ssh}.",
            file=printable(file, 300),
            ssh=printable(ssh) or t("this machine"),
        ),
        retries=True,
        output=output,
    )


def not_started_there(ssh: str, why: str) -> EaglerayError:
    return EaglerayError(
        "not-started-there",
        t(
            "The program on {ssh}: {reason}.",
            ssh=printable(ssh) or t("this machine"),
            reason=_redacted(why),
        ),
        t("Try the command in a terminal of that host."),
    )


def narrow_export(command: str) -> EaglerayError:
    return EaglerayError(
        "narrow-export",
        t(
            "“{command}” exports only some variables, so its workers can't pause.",
            command=_redacted(command, 300),
        ),
        t("Add EAGLERAY_RUN and PYTHONPATH to its `--export`, or use `--export=ALL`."),
    )


# --- notes of a run that is over --------------------------------------------------


def nothing_loaded(files: list[str], *, is_selected: bool) -> str:
    """No process that may pause was seen to run any of these files, one of which may be the program itself.

    What a tool reads and executes itself isn't seen, unless `remote/injected/process_identity.py` knows the tool.
    """
    named = ", ".join(printable(file, 120) for file in files[:3])
    more = f" and {len(files) - 3} more" if len(files) > 3 else ""
    note = t(
        "No process that may pause was seen to import {named}{more}."
        " Files that a tool reads and runs itself may not stop.",
        named=named,
        more=more,
    )
    if not is_selected:
        return note
    return f"{note} " + t("Only the selected workers and ranks may pause.")


def ended_before_stopping() -> str:
    return t("It ended before a process paused.")


def missing_cluster() -> str:
    return t("No worker could pause: no dashboard of the program's Ray has answered.")


def lost_cluster() -> str:
    return t(
        "The program has another Ray cluster now, whose dashboard doesn't answer. No worker pauses there."
    )


def several_clusters(cluster: str) -> str:
    return t(
        "The program uses several Ray clusters. Workers pause only in {cluster}.", cluster=cluster
    )


def program_lost() -> str:
    return t("Its exit code is not known: the process that waits for it is gone.")


def log_not_written(reason: str) -> str:
    return t("Its log can't be written, but it keeps running: {reason}.", reason=printable(reason))


def job_orphaned(kind: str, job: str) -> str:
    return t(
        "Its supervisor has ended, but {kind} {job} may still be running. Show its output to supervise it again.",
        kind=kind,
        job=printable(job, 80),
    )


def program_orphaned(pid: int) -> str:
    return t("Its supervisor has ended, but its program (PID {pid}) keeps running.", pid=pid)


def program_elsewhere(host: str) -> str:
    return t(
        "Its supervisor doesn't respond. Its program may still be running on {host}.",
        host=printable(host, 80),
    )


def outcome_unknown(why: str) -> str:
    return t("Status unknown: {why}", why=_redacted(why))


def rest_not_read(why: str) -> str:
    return t("The rest of its output could not be read: {why}", why=_redacted(why))


def _redacted(text: str, limit: int = 200) -> str:
    """A command, or a program's message about one."""
    return printable(redact_text(text), limit)


def remote_folder_failed(folder: str, why: str = "", output: str = "") -> EaglerayError:
    """`why` is the error of the system there."""
    where = printable(folder, 300)
    message = (
        t("Can't read the reports in {folder}: {why}.", folder=where, why=printable(why, 300))
        if why
        else t("Can't read the reports in {folder}.", folder=where)
    )
    next_step = t("The other reports are downloaded. Try again for these.")
    return EaglerayError("far-folder-failed", message, next_step, output=output)


def nsight_refused(node: str, is_missing: bool) -> str:
    """The note of a run that failed because its framework, or the program itself, had Ray start nsys.

    The message of nsys is in the output of the run.
    """
    where = t(" on node {node}", node=printable(node, 60)) if node else ""
    happened = (
        t("Ray found no nsys{where}.", where=where)
        if is_missing
        else t("Ray couldn't start a worker with nsys{where}.", where=where)
    )
    step = t("Remove `nsight` from the program's runtime_env. Profile on Ray doesn't need it.")
    return f"{happened} {step}"
