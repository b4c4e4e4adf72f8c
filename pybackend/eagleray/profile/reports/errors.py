"""Errors of reports: files that are missing, damaged, or of an nsys that this machine does not have."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
from eagleray.common.l10n import t


# fmt: off
@error("no-report", "Can't read {path}: {why}.", "Select a .nsys-rep file, or its .sqlite export.")
def no_report(path: str, why: str) -> EaglerayError: ...
@error("empty-report", "{path} is empty.", "nsys may still be writing it. Otherwise, record again.")
def empty_report(path: str) -> EaglerayError: ...
@error("incomplete-report", "{path} is incomplete: its end is missing.",
       "nsys may still be writing it. Otherwise, copy it again.")
def incomplete_report(path: str) -> EaglerayError: ...
@error("not-a-report", "{path} is not an export of nsys.",
       "Select the .sqlite that `nsys export --type sqlite` made of a report.")
def not_a_report(path: str) -> EaglerayError: ...
@error("not-a-report", "{path} is not an nsys report.", "Select a .nsys-rep file, or its .sqlite export.")
def other_file(path: str) -> EaglerayError: ...
@error("damaged-report", "{path} is damaged or incomplete.",
       "Copy it again, or export it again with `nsys export --type sqlite`.")
def damaged_report(path: str, detail: str) -> EaglerayError: ...
@error("nsys-unusable", "Can't read {path}, because {named} is not a program.",
       "Correct eagleray.profiling.nsys, or open what `nsys export --type sqlite` makes of it.")
def nsys_unusable(named: str, path: str) -> EaglerayError: ...
@error("nsys-older", "{path} was made by nsys {version}; this machine's is {here}, which is too old.",
       "Install it and set eagleray.profiling.nsys, or open what its `nsys export --type sqlite` makes.")
def nsys_older(path: str, version: str, here: str, output: str) -> EaglerayError: ...
@error("reading-slow", "Reading {path} took longer than {seconds} s.",
       "Record a shorter time, or open it in Nsight Systems.")
def reading_slow(path: str, seconds: float) -> EaglerayError: ...
@error("sqlite-without-json", "SQLite {version} of Eagleray's Python has no JSON functions, which reports need.",
       "Select another Python for Eagleray, one with SQLite 3.38 or newer.")
def sqlite_without_json(version: str) -> EaglerayError: ...
# fmt: on


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
