"""Errors of reports: files that are missing, damaged, or of an nsys that this machine does not have."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable


def no_report(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-report",
        f"{printable(path)} cannot be read: {printable(why)}.",
        "Name a .nsys-rep file, or the .sqlite that nsys made of one.",
    )


def empty_report(path: str) -> EaglerayError:
    return EaglerayError(
        "empty-report",
        f"{printable(path)} has 0 bytes.",
        "nsys may still be writing it; when nothing comes, record once more.",
    )


def not_a_report(path: str) -> EaglerayError:
    return EaglerayError(
        "not-a-report",
        f"{printable(path)} is a database, but none that nsys has made.",
        "Name the .sqlite that `nsys export --type sqlite` made of a report.",
    )


def other_file(path: str) -> EaglerayError:
    return EaglerayError(
        "not-a-report",
        f"{printable(path)} is not an nsys report.",
        "Name a .nsys-rep file, or the .sqlite that nsys made of one.",
    )


def damaged_report(path: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "damaged-report",
        f"{printable(path)} is damaged or not whole: {printable(detail)}.",
        "Copy it once more, or export it anew with `nsys export --type sqlite`.",
        detail,
    )


def nsys_missing(path: str, version: str = "") -> EaglerayError:
    which = f"version {printable(version, 40)} of it or a newer one" if version else "it"
    return EaglerayError(
        "nsys-missing",
        f"nsys is not on this machine, and only {which} can read {printable(path)}.",
        "Run `nsys export --type sqlite` on it where nsys is and open the .sqlite, or set"
        " eagleray.profiling.nsys to your nsys.",
    )


def nsys_unusable(named: str, path: str) -> EaglerayError:
    return EaglerayError(
        "nsys-unusable",
        f"{printable(named)}, which is named as the nsys that reads reports, is no program: {printable(path)}"
        " is not read.",
        "Correct or clear the setting eagleray.profiling.nsys, or run"
        " `nsys export --type sqlite` on the report where nsys is and open the .sqlite.",
    )


def nsys_older(path: str, version: str, here: str, output: str) -> EaglerayError:
    return EaglerayError(
        "nsys-older",
        f"{printable(path)} was recorded by nsys {printable(version, 40)}, which the one here,"
        f" {printable(here, 40)}, cannot read.",
        "Install that version or a newer one and set eagleray.profiling.nsys to it, or run `nsys export --type sqlite` on the report where it was"
        " recorded and open the .sqlite.",
        output,
    )


def reading_slow(path: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "reading-slow",
        f"{printable(path)} was not read within {seconds:g} s.",
        "Record a shorter time or fewer steps, or look at it in Nsight Systems.",
    )


def sqlite_without_json(version: str) -> EaglerayError:
    return EaglerayError(
        "sqlite-without-json",
        f"The SQLite {version} of Eagleray's Python lacks its JSON functions, without which no report can be read.",
        "Select another Python for Eagleray, one with SQLite 3.38 or newer.",
    )
