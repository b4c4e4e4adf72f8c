"""Errors of profiling: recordings that cannot begin, and reports that cannot be collected."""

from __future__ import annotations

from collections.abc import Sequence

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t
from eagleray.remote.injected.nsys.installations import NO_NSYS
from eagleray.runs.model import WorkerProfile


# fmt: off
@error("not-profiled", "Run {run} is not a profiling run.", "Start it again with Profile on Ray.")
def not_profiled(run: str) -> EaglerayError: ...
@error("nobody-records", "No running worker of {run} is being profiled.",
       "Wait for a worker that matches the patterns of the run.")
def nobody_records(run: str) -> EaglerayError: ...
@error("nobody-records", "{run} has ended.", "Start it again with Profile on Ray.")
def run_is_over(run: str) -> EaglerayError: ...
@error("unsafe-reports-folder", "{folder} is not safe for reports: {why}.",
       "Rename or remove that folder, or select another report folder.")
def unsafe_reports_folder(folder: str, why: str) -> EaglerayError: ...
@error("report-left-out", "Skipped {name} on {place}, because its name isn't UTF-8.",
       "Rename it there, then download the reports again.")
def report_unsendable(name: str, place: str) -> EaglerayError: ...
@error("gathering-failed", "Ray can't list the reports on node {place}: {why}",
       "Rename files in `logs/eagleray` of Ray's session whose names aren't UTF-8.", retries=True)
def reports_unlistable(place: str, why: str) -> EaglerayError: ...
@error("report-unreachable", "Can't download {name} from {place}: {why}.",
       "The other reports are downloaded. Try again for this one.")
def report_unreachable(name: str, place: str, why: str) -> EaglerayError: ...
@error("being-gathered", "Another process is downloading the reports of run {run}.", "Wait until it is done.")
def gathered_already(run: str) -> EaglerayError: ...
@error("not-gathered", "The reports were not downloaded: {why}",
       "Download them again. Eagleray continues where it stopped.")
def not_gathered(why: str) -> EaglerayError: ...
@error("report-left-out", "Skipped {name} ({size} MB): {why}.", "Free some space, then download the reports again.")
def report_left_out(name: str, size: str, why: str) -> EaglerayError: ...
# fmt: on


def no_room(folder: str, why: str) -> EaglerayError:
    message = t(
        "Can't write the reports to {folder}: {why}.",
        folder=printable(folder, 300),
        why=printable(why),
    )
    next_step = t("Free some space, then download the reports again.")
    return EaglerayError("no-room", message, next_step, why)


def bad_report(name: str, why: str) -> EaglerayError:
    message = t(
        "{name} was damaged during the download: {why}.",
        name=printable(name, 200),
        why=printable(why),
    )
    return EaglerayError("bad-report", message, t("Download the reports again."), why)


def without_nsys(run: str, workers: Sequence[WorkerProfile]) -> EaglerayError:
    """No worker of the run can record; the next step is the nodes' own where nsys was found but failed."""
    message = t("The workers of {run} run without nsys.", run=printable(run, 80))
    failures = [worker.problem for worker in workers if NO_NSYS not in worker.problem]
    if failures:
        return EaglerayError("nobody-records", message, printable(failures[0], 300))
    return EaglerayError(
        "nobody-records",
        message,
        t("Install Nsight Systems there, or enter its path in the options."),
    )


def gathering_failed(error: BaseException, place: str = "") -> EaglerayError:
    where = f" from {printable(place, 300)}" if place else ""
    why = f"{type(error).__name__}: {printable(str(error), 200)}"
    return EaglerayError(
        "gathering-failed",
        t("Can't download the reports{where} ({why}).", where=where, why=why),
        t("`keeper.log` in the folder of the run has the details."),
        why,
        retries=True,
    )


def database_left_out(report: str, why: str) -> EaglerayError:
    return EaglerayError(
        "database-left-out",
        t(
            "{report} was downloaded without its database: {value}.",
            report=printable(report, 200),
            value=printable(why.rstrip("."), 300),
        ),
        t("Open it with an nsys as new as the node's."),
    )
