"""One command line tried: proposed, executed with stub programs, composed."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.presets_trial.arrival import (
    EXACT,
    MISSING,
    NOT_EXECUTED,
    NOT_REACHED,
    Arrival,
    arrival,
)
from tests.presets_trial.commands import CommandLine
from tests.presets_trial.composing import NOT_TRIED, Composed, compose_call
from tests.presets_trial.proposing import Proposed, proposed
from tests.presets_trial.sandbox import Call, Copy, Execution, Sandbox

# What bash prints for a variable that has to be set.
_REQUIRED = re.compile(
    r"line \d+: ([A-Za-z_]\w*): (?:unbound variable|.*\b(?:set|must|required|null)\b)"
)
_MOST_VARIABLES = 6


@dataclass
class Result:
    """A row of the trial; `reasons` say what is wrong, one text per fault, `note` why something was not tried."""

    checkout: str
    command: str
    source: str
    framework: str = ""
    cause: str = ""
    outcomes: dict[str, int] = field(default_factory=dict)
    words: int = 0
    arrival: str = ""
    composed: str = ""
    wide_rows: int = 0
    note: str = ""
    reasons: list[str] = field(default_factory=list)


def tried(line: CommandLine, checkout: Path, sandbox: Sandbox | None) -> Result:
    """`sandbox` None: scripts are not executed."""
    made = proposed(line, checkout)
    result = Result(
        checkout.name,
        line.shown,
        line.source,
        made.framework,
        made.cause,
        made.outcomes,
        len(made.words),
        wide_rows=made.wide_rows,
    )
    if made.failure:
        result.cause = "traceback"
        result.reasons.append(f"traceback: {made.failure.strip().splitlines()[-1]}\n{made.failure}")
    if made.words:
        _arrive(result, made, line, checkout, sandbox)
    return result


def _arrive(
    result: Result, made: Proposed, line: CommandLine, checkout: Path, sandbox: Sandbox | None
) -> None:
    found = _arrival(made, line, checkout, sandbox)
    result.arrival = found.verdict
    if found.verdict == NOT_REACHED:
        result.note = found.reason
    elif found.verdict not in (EXACT, NOT_EXECUTED):
        result.reasons.append(f"words {found.verdict}: {found.reason}")
    if found.verdict in (EXACT, MISSING) and found.others:
        what = f"{len(found.others)} more calls of {made.target} get none of the words"
        result.reasons.append(f"some calls without words: {what}")
    composed = (
        compose_call(made.framework, found.call, made.words, checkout) if found.call else None
    )
    composed = composed or Composed(NOT_TRIED)
    result.composed = composed.verdict
    if composed.reason:
        result.reasons.append(f"composed {composed.verdict}: {composed.reason}")


def _arrival(made: Proposed, line: CommandLine, checkout: Path, sandbox: Sandbox | None) -> Arrival:
    """A command without script starts its program as it stands, so nothing has to be executed."""
    plan = made.plan
    if not is_script(line):
        call = Call(plan.command[0], plan.command[1:], plan.cwd, plan.env)
        return arrival(
            Execution((Call(line.words[0], line.words[1:], plan.cwd, {}),), 0, False, ""),
            Execution((call,), 0, False, ""),
            made.words,
            made.target,
            made.removed,
        )
    if sandbox is None:
        return Arrival(NOT_EXECUTED)
    before, needed = _executed(sandbox, line, checkout)
    after = sandbox.run(checkout, plan.command, {**needed, **plan.env}, _copy(made, checkout))
    variables = len(plan.env) - len(line.env)
    return arrival(before, after, made.words, made.target, made.removed, variables)


def _executed(
    sandbox: Sandbox, line: CommandLine, checkout: Path
) -> tuple[Execution, dict[str, str]]:
    """The original command, with values for the variables that its script requires."""
    needed: dict[str, str] = {}
    while True:
        found = sandbox.run(checkout, line.words, {**needed, **line.env})
        missing = _REQUIRED.search(found.error) if found.code else None
        if not missing or missing[1] in needed or len(needed) == _MOST_VARIABLES:
            return found, needed
        needed[missing[1]] = f"/data/{missing[1].lower()}"


def is_script(line: CommandLine) -> bool:
    return line.words[0] in ("bash", "sh", "sbatch")


def _copy(made: Proposed, checkout: Path) -> Copy | None:
    if not made.plan.copy_text:
        return None
    return Copy(checkout / made.plan.copy_of, made.plan.copy_text)
