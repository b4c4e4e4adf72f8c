"""Errors of profiling: recordings that cannot begin, and reports that cannot be collected."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def not_profiled(run: str) -> EaglerayError:
    return EaglerayError(
        "not-profiled",
        f"Run {printable(run, 40)} was not started to be profiled.",
        "Start it again with Profile on Ray.",
    )


def nobody_records(run: str) -> EaglerayError:
    return EaglerayError(
        "nobody-records",
        f"No live worker of run {printable(run, 40)} stands under nsys.",
        "A recording needs a running worker that matches the patterns of the run.",
    )


def no_room(folder: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-room",
        f"The reports cannot be written to {printable(folder, 300)}: {printable(why)}.",
        "Free some space, then download the reports again.",
        why,
    )


def unsafe_reports_folder(folder: str, why: str) -> EaglerayError:
    return EaglerayError(
        "unsafe-reports-folder",
        f"Eagleray doesn't write reports to {printable(folder, 300)}: {printable(why)}.",
        "Rename or remove that folder, or choose another one for the reports.",
    )


def report_left_out(name: str, size: int, why: str) -> EaglerayError:
    return EaglerayError(
        "report-left-out",
        f"{printable(name, 200)} is left out: it says that it has {size / 1e6:.1f} MB, and {printable(why)}.",
        "The others are downloaded. Free some space, then download the reports again.",
    )


def bad_report(name: str, why: str) -> EaglerayError:
    return EaglerayError(
        "bad-report",
        f"{printable(name, 200)} did not come as it is there: {printable(why)}.",
        "Download the reports again.",
        why,
    )


def report_unsendable(name: str, place: str) -> EaglerayError:
    return EaglerayError(
        "report-left-out",
        f"{printable(name, 200)} on {printable(place, 300)} is left out: its name isn't UTF-8, and Ray can't send it.",
        "Rename it there, then download the reports again.",
    )


def reports_unlistable(place: str, why: str) -> EaglerayError:
    return EaglerayError(
        "gathering-failed",
        f"Ray can't list the reports on node {printable(place, 100)}: {printable(why, 200)}",
        "Probably the name of a file in `logs/eagleray` of Ray's session there isn't UTF-8: rename it.",
        retries=True,
    )


def gathering_failed(error: BaseException, place: str = "") -> EaglerayError:
    where = f" from {printable(place, 300)}" if place else ""
    why = f"{type(error).__name__}: {printable(str(error), 200)}"
    return EaglerayError(
        "gathering-failed",
        f"Eagleray couldn't gather the reports{where} because of an unexpected error ({why}).",
        "`keeper.log` in the folder of the run has the details.",
        why,
        retries=True,
    )


def database_left_out(report: str, why: str) -> EaglerayError:
    return EaglerayError(
        "database-left-out",
        f"{printable(report, 200)} is here without its database: {printable(why.rstrip('.'), 300)}.",
        "Open it with an nsys that is as new as that of the node.",
    )


def report_unreachable(name: str, place: str, why: str) -> EaglerayError:
    return EaglerayError(
        "report-unreachable",
        f"{printable(name, 200)} cannot be had from {printable(place, 300)}: {printable(why)}.",
        "The other reports are downloaded. Try again for this one.",
    )


def gathered_already(run: str) -> EaglerayError:
    return EaglerayError(
        "being-gathered",
        f"Somebody else is gathering the reports of run {printable(run, 40)}.",
        "Wait until that is done.",
    )


def not_gathered(why: str) -> EaglerayError:
    return EaglerayError(
        "not-gathered",
        f"The reports were not gathered: {printable(why, 400)}",
        "Download the reports again; Eagleray continues where it stopped.",
    )
