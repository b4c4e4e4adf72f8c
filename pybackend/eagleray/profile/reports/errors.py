"""Errors of reports: files that are missing, damaged, or of an nsys that this machine does not have."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t


def no_report(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "no-report",
        t("Can't read {path}: {why}.", path=printable(path), why=printable(why)),
        t("Select a .nsys-rep file, or its .sqlite export."),
    )


def empty_report(path: str) -> EaglerayError:
    return EaglerayError(
        "empty-report",
        t("{path} is empty.", path=printable(path)),
        t("nsys may still be writing it. Otherwise, record again."),
    )


def incomplete_report(path: str) -> EaglerayError:
    return EaglerayError(
        "incomplete-report",
        t("{path} is incomplete: its end is missing.", path=printable(path)),
        t("nsys may still be writing it. Otherwise, copy it again."),
    )


def not_a_report(path: str) -> EaglerayError:
    return EaglerayError(
        "not-a-report",
        t("{path} is not an export of nsys.", path=printable(path)),
        t("Select the .sqlite that `nsys export --type sqlite` made of a report."),
    )


def other_file(path: str) -> EaglerayError:
    return EaglerayError(
        "not-a-report",
        t("{path} is not an nsys report.", path=printable(path)),
        t("Select a .nsys-rep file, or its .sqlite export."),
    )


def damaged_report(path: str, detail: str) -> EaglerayError:
    return EaglerayError(
        "damaged-report",
        t(
            "{path} is damaged or incomplete.",
            path=printable(path),
        ),
        t("Copy it again, or export it again with `nsys export --type sqlite`."),
        detail,
    )


def nsys_missing(path: str, version: str = "") -> EaglerayError:
    name = printable(path)
    needed = (
        t(
            "Only nsys {version} or newer can read {path}.",
            version=printable(version, 40),
            path=name,
        )
        if version
        else t("Only nsys can read {path}.", path=name)
    )
    return EaglerayError(
        "nsys-missing",
        f"{t('This machine has no nsys.')} {needed}",
        t("Set eagleray.profiling.nsys, or open what `nsys export --type sqlite` makes of it."),
    )


def nsys_unusable(named: str, path: str) -> EaglerayError:
    return EaglerayError(
        "nsys-unusable",
        t(
            "Can't read {path}, because {named} is not a program.",
            named=printable(named),
            path=printable(path),
        ),
        t("Correct eagleray.profiling.nsys, or open what `nsys export --type sqlite` makes of it."),
    )


def nsys_older(path: str, version: str, here: str, output: str) -> EaglerayError:
    return EaglerayError(
        "nsys-older",
        t(
            "{path} was made by nsys {version}; this machine's is {here}, which is too old.",
            path=printable(path),
            version=printable(version, 40),
            here=printable(here, 40),
        ),
        t(
            "Install it and set eagleray.profiling.nsys, or open what its `nsys export --type sqlite` makes."
        ),
        output=output,
    )


def reading_slow(path: str, seconds: float) -> EaglerayError:
    return EaglerayError(
        "reading-slow",
        t(
            "Reading {path} took longer than {seconds} s.",
            path=printable(path),
            seconds=f"{seconds:g}",
        ),
        t("Record a shorter time, or open it in Nsight Systems."),
    )


def sqlite_without_json(version: str) -> EaglerayError:
    return EaglerayError(
        "sqlite-without-json",
        t(
            "SQLite {version} of Eagleray's Python has no JSON functions, which reports need.",
            version=version,
        ),
        t("Select another Python for Eagleray, one with SQLite 3.38 or newer."),
    )
