"""Errors of presets: answers in the form, and presets that can't be used."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, printable

BAD_ANSWER = "bad-answer"


def bad_answer(answer: str, why: str) -> EaglerayError:
    return EaglerayError(
        BAD_ANSWER,
        f"“{printable(answer, 80)}” cannot be used for a debug run: {printable(why)}.",
        "Write another value; an empty one leaves the program as it is.",
        detail=answer,
    )


def unknown_preset(name: str) -> EaglerayError:
    return EaglerayError(
        "unknown-preset",
        f"There is no preset “{printable(name, 80)}” here.",
        "“none” starts the program as it is; your own presets are kept for each workspace.",
    )


def bad_preset(why: str) -> EaglerayError:
    return EaglerayError(
        "bad-preset",
        f"This is no preset: {printable(why, 300)}.",
        "Copy a preset as JSON to see the format.",
    )


def presets_not_stored(path: str, why: str) -> EaglerayError:
    return EaglerayError(
        "presets-not-kept",
        f"Your presets cannot be kept in {printable(path, 300)}: {printable(why)}.",
        "Check the folder, or set EAGLERAY_HOME to another one.",
    )


def not_composed(why: str, next_step: str) -> EaglerayError:
    return EaglerayError(
        "not-composed",
        f"The configuration can't be composed: {printable(why, 600)}",
        next_step,
    )


def untrusted_workspace() -> EaglerayError:
    return EaglerayError(
        "untrusted-workspace",
        "Checking a configuration runs the program's imports, and this workspace wasn't trusted when Eagleray started.",
        "Trust the workspace, restart Eagleray's background service, and check again.",
    )


def unmatched_workers(pattern: str, framework: str) -> EaglerayError:
    return EaglerayError(
        "unmatched-workers",
        f"“{printable(pattern, 80)}” matches no class of your {printable(framework, 80)}.",
        "Check the pattern, unless it is the name of an actor or of a class of your own.",
    )


def no_nsys_here() -> EaglerayError:
    return EaglerayError(
        "no-nsys",
        "No nsys was found on this machine.",
        "Install Nsight Systems, or enter its path.",
    )
