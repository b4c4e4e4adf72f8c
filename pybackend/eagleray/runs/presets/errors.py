"""Errors of presets: answers in the form, and presets that can't be used."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable
from eagleray.common.l10n import t
from eagleray.remote.injected.nsys.installations import SEARCHED

BAD_ANSWER = "bad-answer"


def bad_answer(answer: str, why: str) -> EaglerayError:
    return EaglerayError(
        BAD_ANSWER,
        t(
            "“{answer}” is not valid for a short test run: {why}.",
            answer=printable(answer, 80),
            why=printable(why),
        ),
        t("Enter another value. An empty one changes nothing."),
        detail=answer,
    )


def unknown_preset(name: str) -> EaglerayError:
    return EaglerayError(
        "unknown-preset",
        t("There is no preset “{name}”.", name=printable(name, 80)),
        t("Select another one. Each workspace has its own presets."),
    )


def bad_preset(why: str) -> EaglerayError:
    return EaglerayError(
        "bad-preset",
        t("This is not a preset: {why}.", why=printable(why, 300)),
        t("Copy a preset as JSON to see the format."),
    )


def presets_not_stored(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "presets-not-kept",
        t(
            "Can't save your presets in {path}: {why}.",
            path=printable(path, 300),
            why=printable(why),
        ),
        t("Check the folder, or set EAGLERAY_HOME to another one."),
    )


def not_composed(why: str, next_step: str) -> EaglerayError:
    return EaglerayError(
        "not-composed",
        t("The configuration can't be composed: {why}", why=printable(why, 600)),
        next_step,
    )


def untrusted_workspace() -> EaglerayError:
    return EaglerayError(
        "untrusted-workspace",
        t("Checking a configuration runs your program's imports, which needs a trusted workspace."),
        t("Trust the workspace, restart the background service, and check again."),
    )


def unmatched_workers(pattern: str, framework: str) -> EaglerayError:
    return EaglerayError(
        "unmatched-workers",
        t(
            "“{pattern}” matches no class of your {framework}.",
            pattern=printable(pattern, 80),
            framework=printable(framework, 80),
        ),
        t("Ignore this if it names an actor or your own class."),
    )


def no_configured_nsys(path: str) -> EaglerayError:
    """`path` is in the settings of this machine."""
    return EaglerayError(
        "no-nsys",
        t("{nsys} was not found on this machine.", nsys=printable(path, 300)),
        t("Correct eagleray.profiling.nsys in the settings, or enter a path."),
    )


def no_nsys_here(named: str) -> EaglerayError:
    """`named` is the nsys that the user has entered, "" for none."""
    if named:
        return EaglerayError(
            "no-nsys",
            t("{nsys} was not found on this machine.", nsys=printable(named, 300)),
            t("Enter the path of nsys, or nothing to search for it."),
        )
    install = t("Install Nsight Systems, or enter its path.")
    searched = t("Searched: {places}.", places=SEARCHED)
    return EaglerayError(
        "no-nsys", t("No nsys was found on this machine."), f"{install} {searched}"
    )
