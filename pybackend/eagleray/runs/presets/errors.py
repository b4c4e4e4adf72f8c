"""Errors of presets: answers in the form, and presets that can't be used."""

from __future__ import annotations

from eagleray.common.errors import EaglerayError, error, printable
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


# fmt: off
@error("unknown-preset", "The preset “{name}” doesn't exist.", "Select another one. Each workspace has its own presets.")
def unknown_preset(name: str) -> EaglerayError: ...
@error("bad-preset", "This is not a preset: {why}.", "Copy a preset as JSON to see the format.")
def bad_preset(why: str) -> EaglerayError: ...
@error("presets-not-kept", "Can't save your presets in {path}: {why}.",
       "Check the folder, or set EAGLERAY_HOME to another one.")
def presets_not_stored(path: str, why: str) -> EaglerayError: ...
@error("untrusted-workspace", "Checking a configuration runs your program's imports, which needs a trusted workspace.",
       "Trust the workspace, restart the background service, and check again.")
def untrusted_workspace() -> EaglerayError: ...
@error("unmatched-workers", "“{pattern}” matches no class of your {framework}.",
       "Ignore this if it names an actor or your own class.")
def unmatched_workers(pattern: str, framework: str) -> EaglerayError: ...
@error("no-nsys", "{nsys} was not found on this machine.",
       "Correct eagleray.profiling.nsys in the settings, or enter a path.")
def no_configured_nsys(nsys: str) -> EaglerayError:
    """`path` is in the settings of this machine."""
# fmt: on


def not_composed(why: str, next_step: str) -> EaglerayError:
    return EaglerayError(
        "not-composed",
        t("The configuration can't be composed: {why}", why=printable(why, 600)),
        next_step,
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
